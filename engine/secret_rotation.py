"""Changing a webhook secret, by whom it belongs to (W-03)."""

from __future__ import annotations

from engine import clock, events, gigs, mailboxes, webhook_secrets
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.operations import Caller, permit

MOST_GRACE_SECONDS = 7 * 86_400
GRACE_SECONDS = 86_400


def of_gig(caller: Caller, gig_id: str, grace_seconds: int) -> str:
    """A new secret for the gig's webhooks; the old one signs beside it for the time of grace."""

    def write() -> str:
        gig = gigs.get(gig_id)
        permit("gig.rotate_secret", caller, gig)
        # Of two at once the second must see the first one's secret, to keep it.
        locked = gigs.locked(gig.id)
        changes = webhook_secrets.replacing(locked, clock.now(), grace_seconds)
        Gig.update(**changes).where(Gig.id == gig.id).execute()
        events.append(
            "gig.webhook_secret_rotated",
            events.Subject("gig", gig.id),
            actor=caller.account_id,
            gig_id=gig.id,
            data={"grace_seconds": grace_seconds},
        )
        return webhook_secrets.unseal(changes["webhook_secret"])

    return db.write(write)


def of_mailbox(caller: Caller, gig_id: str, mailbox_id: str, grace_seconds: int) -> str:
    """The same for a mailbox, by its worker alone."""

    def write() -> str:
        gig = gigs.get(gig_id)
        permit("mailbox.rotate_secret", caller, gig)
        mailbox = mailboxes.get(gig.id, mailbox_id)
        if mailbox.account_id != caller.account_id:
            raise Refused("not_permitted", "Only the worker of this mailbox may do that.")
        (locked,) = db.lock(Mailbox.select().where(Mailbox.id == mailbox.id))
        changes = webhook_secrets.replacing(locked, clock.now(), grace_seconds)
        Mailbox.update(**changes).where(Mailbox.id == mailbox.id).execute()
        events.append(
            "mailbox.webhook_secret_rotated",
            events.Subject("mailbox", mailbox.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            data={"grace_seconds": grace_seconds},
        )
        return webhook_secrets.unseal(changes["webhook_secret"])

    return db.write(write)
