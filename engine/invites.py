"""What somebody who was sent an invite's link may know before he joins (G-05, H-12)."""

from __future__ import annotations

from dataclasses import dataclass

from engine import accounts
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig, Invite


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
