"""Every operation by name, and who may do it unless the gig's mode says otherwise.

`permit` is the one place that answers who may do what: roles and the mode's refusals. What the
state of a row forbids is for `move()` to say.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.modes import ask, facts
from engine.roles import ACTIVE as ACTIVE
from engine.roles import ANYONE as ANYONE
from engine.roles import BUYER as BUYER
from engine.roles import MEMBER as MEMBER
from engine.roles import OWNER as OWNER

_MEMBER = """
SELECT max(CASE WHEN status = 'active' THEN 1 ELSE 0 END) FROM mailbox
WHERE gig_id = ? AND account_id = ?
"""
_BUYER = "SELECT 1 FROM task WHERE client_id = ? AND gig_id = ? LIMIT 1"

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
    "inbound.clear": frozenset({OWNER}),
    "proof.clear": frozenset({OWNER}),
    "task.read": frozenset({OWNER, ACTIVE}),
    "task.priority": frozenset({OWNER}),
    "task.price": frozenset({OWNER}),
    # Many at once. Where the mode refuses `task.price`, each of them is left out.
    "task.prices": frozenset({OWNER}),
    "task.tags": frozenset({OWNER}),
    "task.availability": frozenset({OWNER}),
    "task.private_details": frozenset({OWNER}),
    "task.assign": frozenset({OWNER}),
    "task.extend": frozenset({OWNER}),
    "task.recycle": frozenset({OWNER}),
    "task.delete": frozenset({OWNER}),
    "task.heartbeat": frozenset({MEMBER}),
    "task.accept": frozenset({MEMBER}),
    "task.reject": frozenset({MEMBER}),
    # Verbs of the mode's own; each says who may.
    "task.act": frozenset({ANYONE}),
    "task.alias": frozenset({OWNER, ACTIVE}),
    "task.bulk": frozenset({OWNER}),
    # Through the gig's webhook, whose token stands for the owner.
    "task.send": frozenset({OWNER}),
    # The same by mail; where that is refused it is ignored, since nobody reads an answer (O-03).
    "task.send_by_mail": frozenset({OWNER}),
    "draft.list": frozenset({OWNER}),
    "draft.edit": frozenset({OWNER}),
    "draft.delete": frozenset({OWNER}),
    "draft.publish": frozenset({OWNER}),
    # The body of a draft, alone.
    "task.payload": frozenset({OWNER}),
    "order.withdraw": frozenset({OWNER}),
    "deposit.list": frozenset({OWNER}),
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
    if ask(gig.distribution).info.orders and db.rows(_BUYER, (caller.account_id, gig.id)):
        found.add(BUYER)
    return frozenset(found)


def require_served(operation: str, gig: Gig) -> None:
    """Refuse what the gig's mode does not do, whoever asks; 409 with the mode's name."""
    closed = ask(gig.distribution).refuses(facts(gig)).get(operation)
    if closed is not None:
        raise Refused(gig.distribution, closed)


def require_served_in(gig_id: str, operation: str) -> None:
    """The same, by the gig's id; nothing for one that is not there."""
    with db.reading():
        gig = Gig.get_or_none(Gig.id == gig_id)
        if gig is not None:
            require_served(operation, gig)


def require_confirmed(operation: str, gig: Gig, confirmed: bool) -> None:
    """409 `requires_confirmation` where the gig's mode wants to be told twice."""
    why = ask(gig.distribution).info.confirms.get(operation)
    if why is not None and not confirmed:
        raise Refused("requires_confirmation", why)


def permit(
    operation: str, caller: Caller, gig: Gig, *, member: bool | None = None
) -> frozenset[str]:
    """Refuse, or answer the caller's roles in this gig; `member` where that is known."""
    require_served(operation, gig)
    allowed = ask(gig.distribution).authorities().get(operation, DEFAULT[operation])
    has = roles(caller, gig, member=member)
    require(has, allowed)
    return has


def require(has: frozenset[str], allowed: frozenset[str]) -> None:
    """Refuse whoever has, of the roles in a gig, none that is allowed."""
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


def table() -> str:
    """Every operation and who may do it, a line each: what `python -m engine.operations` shows."""
    width = max(map(len, DEFAULT))
    return "\n".join(f"{name:{width}}  {', '.join(sorted(DEFAULT[name]))}" for name in DEFAULT)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
