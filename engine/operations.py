"""Every operation by name, and who may do it unless the gig's mode says otherwise.

`permit` is the one place that answers who may do what: roles and the mode's refusals. What the
state of a row forbids is for `move()` to say.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.modes import ask

OWNER = "owner"
MEMBER = "member"
# A member whose mailbox is active: neither waiting for approval, nor closed, nor left.
ACTIVE = "active member"
ANYONE = "anyone"

_MEMBER = """
SELECT max(CASE WHEN status = 'active' THEN 1 ELSE 0 END) FROM mailbox
WHERE gig_id = ? AND account_id = ?
"""

DEFAULT: dict[str, frozenset[str]] = {
    "gig.read": frozenset({OWNER, MEMBER}),
    "gig.update": frozenset({OWNER}),
    "gig.deposit": frozenset({OWNER}),
    "gig.settle": frozenset({OWNER}),
    "gig.cancel": frozenset({OWNER}),
    "gig.close": frozenset({OWNER}),
    "gig.dashboard": frozenset({OWNER}),
    "gig.export": frozenset({OWNER}),
    "gig.events": frozenset({OWNER, MEMBER}),
    "gig.rotate_token": frozenset({OWNER}),
    "gig.rotate_secret": frozenset({OWNER}),
    "invite.manage": frozenset({OWNER}),
    "mailbox.list": frozenset({OWNER}),
    "mailbox.join": frozenset({ANYONE}),
    "mailbox.admit": frozenset({OWNER}),
    "mailbox.change": frozenset({MEMBER}),
    "mailbox.inbound": frozenset({MEMBER}),
    "mailbox.leave": frozenset({MEMBER}),
    "mailbox.rotate_secret": frozenset({MEMBER}),
    "queue.read": frozenset({OWNER, ACTIVE}),
    "queue.poll": frozenset({MEMBER}),
    "queue.decline": frozenset({MEMBER}),
    "queue.claim": frozenset({ANYONE}),
    "queue.reserved": frozenset({OWNER, ACTIVE}),
    "queue.violation": frozenset({MEMBER}),
    "queue.clear": frozenset({OWNER}),
    "task.read": frozenset({OWNER, ACTIVE}),
    "task.priority": frozenset({OWNER}),
    "task.price": frozenset({OWNER}),
    "task.tags": frozenset({OWNER}),
    "task.availability": frozenset({OWNER}),
    "task.private_details": frozenset({OWNER}),
    "task.assign": frozenset({OWNER}),
    "task.extend": frozenset({OWNER}),
    "task.recycle": frozenset({OWNER}),
    "task.delete": frozenset({OWNER}),
    "task.heartbeat": frozenset({MEMBER}),
    "task.alias": frozenset({OWNER, ACTIVE}),
    "task.bulk": frozenset({OWNER}),
    # Through the gig's webhook, whose token stands for the owner.
    "task.send": frozenset({OWNER}),
    "draft.manage": frozenset({OWNER}),
    "proof.submit": frozenset({MEMBER}),
    "proof.draft": frozenset({MEMBER}),
    "proof.withdraw": frozenset({MEMBER}),
    "proof.read": frozenset({OWNER, MEMBER}),
    "proof.review": frozenset({OWNER}),
    "proof.report": frozenset({OWNER}),
    "proof.tags": frozenset({OWNER, MEMBER}),
    "proof.alias": frozenset({OWNER, MEMBER}),
    "comment.read": frozenset({OWNER, ACTIVE}),
    "comment.write": frozenset({OWNER, ACTIVE}),
    "comment.policy": frozenset({OWNER}),
    "mailbox.share": frozenset({MEMBER}),
    "rollup.read": frozenset({OWNER, MEMBER}),
}


@dataclass(frozen=True)
class Caller:
    """Who asks: an account and the scopes of the key that it used."""

    account_id: str
    scopes: tuple[str, ...] = ("all",)


def roles(caller: Caller, gig: Gig, *, member: bool | None = None) -> frozenset[str]:
    """What the caller is to this gig; `member` where that has been read already."""
    found = {ANYONE}
    if gig.owner_id == caller.account_id:
        found.add(OWNER)
    if member is None:
        active = db.scalar(_MEMBER, (gig.id, caller.account_id))
        found |= {MEMBER} if active is not None else set()
        found |= {ACTIVE} if active else set()
    elif member:
        found.add(MEMBER)
    return frozenset(found)


def permit(
    operation: str, caller: Caller, gig: Gig, *, member: bool | None = None
) -> frozenset[str]:
    """Refuse, or answer the caller's roles in this gig; `member` where that is known."""
    mode = ask(gig.distribution)
    closed = mode.refuses().get(operation)
    if closed is not None:
        raise Refused(gig.distribution, closed)
    allowed = mode.authorities().get(operation, DEFAULT[operation])
    has = roles(caller, gig, member=member)
    if not has & allowed:
        if ACTIVE in allowed and MEMBER in has:
            raise Refused(
                "mailbox_inactive",
                "Your mailbox in this gig is not active, so its tasks are not shown to you.",
            )
        if {MEMBER, ACTIVE} & allowed and OWNER not in has:
            raise Refused("not_joined", "You have no mailbox in this gig. Join it first.")
        who = " or ".join(sorted(allowed))
        raise Refused("not_permitted", f"Only the {who} of this gig may do that.")
    return has
