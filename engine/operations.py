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
ANYONE = "anyone"

_MEMBER = "SELECT 1 FROM mailbox WHERE gig_id = ? AND account_id = ? LIMIT 1"

DEFAULT: dict[str, frozenset[str]] = {
    "gig.read": frozenset({OWNER, MEMBER}),
    "gig.update": frozenset({OWNER}),
    "gig.deposit": frozenset({OWNER}),
    "gig.settle": frozenset({OWNER}),
    "gig.cancel": frozenset({OWNER}),
    "gig.events": frozenset({OWNER, MEMBER}),
    "gig.rotate_token": frozenset({OWNER}),
    "gig.rotate_secret": frozenset({OWNER}),
    "invite.manage": frozenset({OWNER}),
    "mailbox.list": frozenset({OWNER}),
    "mailbox.join": frozenset({ANYONE}),
    "mailbox.admit": frozenset({OWNER}),
    "mailbox.change": frozenset({MEMBER}),
    "mailbox.rotate_secret": frozenset({MEMBER}),
    "queue.read": frozenset({OWNER, MEMBER}),
    "queue.poll": frozenset({MEMBER}),
    "queue.decline": frozenset({MEMBER}),
    "task.read": frozenset({OWNER, MEMBER}),
    "proof.submit": frozenset({MEMBER}),
    "proof.read": frozenset({OWNER, MEMBER}),
    "proof.review": frozenset({OWNER}),
    "rollup.read": frozenset({OWNER, MEMBER}),
}


@dataclass(frozen=True)
class Caller:
    """Who asks: an account and the scopes of the key that it used."""

    account_id: str
    scopes: tuple[str, ...] = ("all",)


def roles(caller: Caller, gig: Gig) -> frozenset[str]:
    """What the caller is to this gig."""
    found = {ANYONE}
    if gig.owner_id == caller.account_id:
        found.add(OWNER)
    if db.rows(_MEMBER, (gig.id, caller.account_id)):
        found.add(MEMBER)
    return frozenset(found)


def permit(operation: str, caller: Caller, gig: Gig) -> frozenset[str]:
    """Refuse, or answer the caller's roles in this gig."""
    mode = ask(gig.distribution)
    closed = mode.refuses().get(operation)
    if closed is not None:
        raise Refused(gig.distribution, closed)
    allowed = mode.authorities().get(operation, DEFAULT[operation])
    has = roles(caller, gig)
    if not has & allowed:
        if MEMBER in allowed and OWNER not in has:
            raise Refused("not_joined", "You have no mailbox in this gig. Join it first.")
        who = " or ".join(sorted(allowed))
        raise Refused("not_permitted", f"Only the {who} of this gig may do that.")
    return has
