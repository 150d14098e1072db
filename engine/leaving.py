"""Leaving a gig (M-03)."""

from __future__ import annotations

from engine import clock, departures, events, gigs, mailboxes, turns
from engine.db import db
from engine.errors import Refused
from engine.models.mailbox import Mailbox
from engine.moves import move
from engine.operations import Caller, permit


def leave(caller: Caller, gig_id: str, mailbox_id: str) -> None:
    """Leave a gig; again changes nothing.

    What the mailbox holds goes back, what is reserved for it stays reserved for whoever its owner
    sends, and what was handed in is reviewed and paid as ever. 409 `vendor_mailbox` for a shop's
    own.
    """

    def write() -> None:
        gig = gigs.held(gig_id)
        permit("mailbox.leave", caller, gig)
        turns.hold(gig.id)
        mailbox = mailboxes.get(gig.id, mailbox_id)
        if mailbox.account_id != caller.account_id:
            raise Refused("not_permitted", "Only the worker of this mailbox may leave with it.")
        mailboxes.require_movable(gig, mailbox)
        (mailbox,) = db.lock(Mailbox.select().where(Mailbox.id == mailbox.id))
        if mailbox.status == "inactive":
            return
        move(mailbox, "deactivate", left_at=clock.now())
        departures.give_back(mailbox, caller.account_id, excused=False)
        events.append(
            "mailbox.left",
            events.Subject("mailbox", mailbox.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            data={"mailbox_id": mailbox.id},
        )

    db.write(write)
