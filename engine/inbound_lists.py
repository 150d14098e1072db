"""What is in a mailbox's hands (M-03)."""

from __future__ import annotations

from typing import Any

from engine import briefs, clock, gigs, pages
from engine.db import db
from engine.errors import not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.operations import Caller, permit
from engine.shelf import IN_HANDS

# By the index (mailbox_id, status), and by the shelf's key.
_COUNTS = """
SELECT status, count(*) FROM task
WHERE mailbox_id = ? AND status IN ('claimed', 'submitted')
  AND (status <> 'claimed' OR expires_at IS NULL OR expires_at > ?)
GROUP BY status
"""
_RESERVED = "SELECT count(*) FROM queue_entry WHERE shelf = ?"


def of(caller: Caller, mailbox_id: str) -> tuple[Gig, Mailbox]:
    """The caller's own mailbox and its gig; 404 for anybody else's."""
    with db.reading():
        mailbox = Mailbox.get_or_none(
            Mailbox.id == mailbox_id, Mailbox.account_id == caller.account_id
        )
        if mailbox is None:
            raise not_found("mailbox")
        gig = gigs.get(mailbox.gig_id)
        permit("mailbox.inbound", caller, gig)
        return gig, mailbox


def listed(mailbox: Mailbox, status: str | None, limit: int, before: pages.Position) -> list[Task]:
    """What the mailbox holds or has handed in for review, the newest first.

    A claim whose time has run out is not in its hands any more, whenever the sweep comes by.
    """
    with db.reading():
        states = IN_HANDS if status is None else (status,)
        query = Task.select().where(Task.mailbox_id == mailbox.id, Task.status.in_(states), _held())
        place = (Task.claimed_at, Task.number)
        found: list[Task] = pages.page(query, place, limit, before, newest_first=True)
        briefs.fill(found)
        return found


def _held() -> Any:
    in_time = Task.expires_at.is_null() | (Task.expires_at > clock.now())
    return (Task.status != "claimed") | in_time


def counts(caller: Caller, mailbox_id: str) -> dict[str, int]:
    """How many those are by state, and how many wait for this mailbox alone (T-06)."""
    with db.reading():
        _, mailbox = of(caller, mailbox_id)
        found = dict(db.rows(_COUNTS, (mailbox.id, clock.now())))
        return {
            **{state: int(found.get(state, 0)) for state in IN_HANDS},
            "reserved": int(db.scalar(_RESERVED, (mailbox.id,))),
        }
