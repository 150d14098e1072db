"""Invites: making them, using them up, and what whoever was sent one may know (G-05, H-12)."""

from __future__ import annotations

from dataclasses import dataclass

from engine import accounts, clock, gigs, pages
from engine.db import db
from engine.errors import Refused, not_found
from engine.ids import new_token
from engine.models.gig import Gig, Invite
from engine.operations import Caller, permit


@dataclass(frozen=True)
class Invitation:
    """An invite that is good, the gig it is to, and who asks."""

    invite: Invite
    gig: Gig
    owner_name: str

    @property
    def uses_left(self) -> int | None:
        """None for an invite without a limit."""
        most = self.invite.max_uses
        return None if most is None else most - self.invite.used


def find(token: str) -> Invite | None:
    """The invite of a token, by its key; None for one that is unknown or revoked."""
    with db.reading():
        return Invite.get_or_none(Invite.token == token, Invite.revoked_at.is_null())


def read(invite: Invite) -> Invitation:
    """What the invite is to; 410 once it is used up."""
    if invite.max_uses is not None and invite.used >= invite.max_uses:
        raise Refused("gone", "This invite has been used up. Ask who sent it for another.")
    with db.reading():
        gig = Gig.get(Gig.id == invite.gig_id)
        return Invitation(invite, gig, accounts.get(gig.owner_id).display_name)


def add(caller: Caller, gig_id: str, max_uses: int | None, email: str | None, label: str) -> Invite:
    """A new invite, for so many uses or without limit; with an email for that account alone."""
    address = None if email is None else accounts.clean_email(email)

    def write() -> Invite:
        gig = gigs.get(gig_id)
        permit("invite.manage", caller, gig)
        return make(gig.id, max_uses, address, label)

    return db.write(write)


def make(gig_id: str, max_uses: int | None, email: str | None, label: str) -> Invite:
    """The row of one; only inside `db.write`."""
    return Invite.create(
        token=new_token(),
        gig_id=gig_id,
        label=label,
        email=email,
        max_uses=max_uses,
        used=0,
        revoked_at=None,
        created_at=clock.now(),
    )


def listed(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Invite]:
    """The gig's invites that are not revoked, oldest first."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("invite.manage", caller, gig)
        query = Invite.select().where(Invite.gig_id == gig.id, Invite.revoked_at.is_null())
        return pages.page(query, (Invite.created_at, Invite.token), limit, after)


def revoke(caller: Caller, gig_id: str, token: str) -> None:
    """Nobody joins with it any more. Who has, stays."""

    def write() -> None:
        gig = gigs.get(gig_id)
        permit("invite.manage", caller, gig)
        changed = (
            Invite.update(revoked_at=clock.now())
            .where(Invite.gig_id == gig.id, Invite.token == token, Invite.revoked_at.is_null())
            .execute()
        )
        if not changed:
            raise not_found("invite")

    db.write(write)


def use(gig: Gig, token: str | None, email: str) -> Invite | None:
    """Count one use of the invite in one statement: of N joins on the last use one wins (G-05).

    None where none is needed. Only inside `db.write`; `email` is the account's.
    """
    if token is None:
        if gig.join_policy == "open":
            return None
        raise Refused("invite_required", "This gig is by invite. Send the token as invite.")
    used = (
        Invite.update(used=Invite.used + 1)
        .where(
            Invite.token == token,
            Invite.gig_id == gig.id,
            Invite.revoked_at.is_null(),
            Invite.max_uses.is_null() | (Invite.used < Invite.max_uses),
            Invite.email.is_null() | (Invite.email == email),
        )
        .execute()
    )
    invite = Invite.get_or_none(Invite.token == token, Invite.gig_id == gig.id)
    if used:
        return invite
    if invite is None or invite.revoked_at is not None:
        told = "This invite does not exist. Ask the owner for another."
        if "invite=" in token:
            told = "Send as invite only what follows invite= in the link."
        raise Refused("invite_unknown", told)
    if invite.email is not None and invite.email != email:
        raise Refused("invite_other_email", "This invite names another account.")
    raise Refused("invite_used_up", "This invite has been used up. Ask the owner for another.")
