"""The append-only log, and what follows from an event in its own transaction: deliveries,
notifications and reputation. How events are put in order: `engine/positions.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine import audiences, clock, freeing, notifications, positions, reputation, rows, topics
from engine.db import db
from engine.ids import new_id
from engine.models.event import Event
from engine.positions import FIRST, SETTLED, keep_growing, position, read_position, settled

__all__ = ["FIRST", "SETTLED", "keep_growing", "position", "read_position", "settled"]

# Types that something follows from; of the others, as of every claim, nothing is looked up.
_FOLLOWED = audiences.AUDIENCES.keys() | notifications.NEWS.keys() | reputation.TYPES


@dataclass(frozen=True)
class Subject:
    kind: str
    id: str


def append(
    kind: str,
    *subjects: Subject,
    actor: str,
    gig_id: str | None = None,
    mailbox_id: str | None = None,
    data: dict[str, Any] | None = None,
    unlogged: dict[str, Any] | None = None,
) -> None:
    """Write an event of each subject, and what follows from it; only inside `db.write`.

    `data` holds the webhook's fields by the names of W-08 where the event has a webhook;
    `unlogged` are those that are too long for the log, which only the webhook carries.
    """
    if db.transaction is None:
        raise RuntimeError("an event belongs to the transaction of what it tells")
    made = [
        {
            "seq": positions.new(),
            "id": new_id("EVT"),
            "type": kind,
            "at": clock.now(),
            "actor": actor,
            "gig_id": gig_id,
            "subject_kind": subject.kind,
            "subject_id": subject.id,
            "mailbox_id": mailbox_id,
            "data": data or {},
        }
        for subject in subjects
    ]
    if gig_id is not None and made:
        topics.tell(topics.gig_events(gig_id))
        freeing.after_event(kind, gig_id)
    rows.insert(Event, *made)
    if kind in _FOLLOWED:
        appended = [Event(**values) for values in made]
        for event in appended:
            audiences.follow_from(event, unlogged or {})
        notifications.follow_from(appended)
        reputation.follow_from(appended)


def after(
    gig_id: str,
    position: int,
    limit: int,
    mailbox_ids: list[str] | None,
    subjects: Iterable[Any] = (),
) -> list[Event]:
    """The gig's events after a position, oldest first.

    With `mailbox_ids` only what concerns these mailboxes, or is about one of `subjects`, queries of
    ids; which is what a member may see (H-15).
    """
    with db.reading():
        query = Event.select().where(Event.gig_id == gig_id, Event.seq > position)
        if db.is_postgres:
            query = query.where(Event.seq < settled())
        if mailbox_ids is not None:
            mine = Event.mailbox_id.in_(mailbox_ids)
            for ids in subjects:
                mine |= Event.subject_id.in_(ids)
            query = query.where(mine)
        return list(query.order_by(Event.seq).limit(limit))


def has_unsettled(gig_id: str, position: int) -> bool:
    """Is there anything after a position that readers do not see yet?"""
    if not db.is_postgres:
        return False
    with db.reading():
        query = Event.select().where(Event.gig_id == gig_id, Event.seq > position)
        return bool(query.where(Event.seq >= settled()).exists())
