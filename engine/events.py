"""The append-only log, and the deliveries that follow from an event.

A position (`seq`) must only grow for a reader, although on PostgreSQL transactions commit out of
order. There a position is the writing transaction's number and a count within it, and readers see
only what is older than the oldest transaction still open: all of that is there, and nothing can be
added to it any more. SQLite has one writer, so counting does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import audiences, clock, rows, topics
from engine.db import Transaction, db
from engine.ids import new_id
from engine.models.event import Event
from engine.models.meta import Meta

# Events that one transaction may write: two to the power of this.
COUNT_BITS = 16
BASE_KEY = "event_base"

_BASE = f"coalesce((SELECT value::bigint FROM meta WHERE key = '{BASE_KEY}'), 0)"
# The position of a transaction's first event, as a value in another statement of PostgreSQL.
FIRST = f"{_BASE} + (pg_current_xact_id()::text::bigint << {COUNT_BITS})"
_FIRST_POSTGRES = f"SELECT {FIRST}"
_FIRST_SQLITE = "SELECT coalesce(max(seq), 0) + 1 FROM event"
# Positions are kept in the log, by what waits in a queue, and by those who have looked through it.
_HIGHEST = """
SELECT greatest(
    (SELECT coalesce(max(seq), 0) FROM event),
    (SELECT coalesce(max(enqueued), 0) FROM queue_entry),
    (SELECT coalesce(max(cursor_as_of), 0) FROM mailbox))
"""
# Everything before this position is there for the statement that reads it, and stays all there is.
SETTLED = f"{_BASE} + (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << {COUNT_BITS})"
_SETTLED = f"SELECT {SETTLED}"


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
    """Write an event of each subject, and their deliveries; only inside `db.write`.

    `data` holds the webhook's fields by the names of W-08 where the event has a webhook;
    `unlogged` are those that are too long for the log, which only the webhook carries.
    """
    transaction = db.transaction
    if transaction is None:
        raise RuntimeError("an event belongs to the transaction of what it tells")
    made = [
        {
            "seq": _next(transaction),
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
    rows.insert(Event, *made)
    for values in made:
        audiences.follow_from(Event(**values), unlogged or {})


def read_position(first: int) -> None:
    """Another statement of this transaction has read `FIRST`; it counts if it was the first."""
    if db.transaction is not None and db.transaction.event_base is None:
        db.transaction.event_base = first


def position() -> int:
    """Where the first event of this transaction is, or would be; only inside `db.write`."""
    transaction = db.transaction
    if transaction is None:
        raise RuntimeError("a position belongs to a transaction")
    return _first(transaction)


def settled() -> int:
    """All that is before this position is there for everybody to see, and nothing can be added to
    it any more; only inside `db.write`."""
    return int(db.scalar(_SETTLED)) if db.is_postgres else position()


def _first(transaction: Transaction) -> int:
    if transaction.event_base is None:
        first = _FIRST_POSTGRES if db.is_postgres else _FIRST_SQLITE
        transaction.event_base = int(db.scalar(first))
    return transaction.event_base


def _next(transaction: Transaction) -> int:
    first = _first(transaction)
    if db.is_postgres and transaction.events >= 1 << COUNT_BITS:
        raise RuntimeError("too many events in one transaction; write in chunks")
    transaction.events += 1
    return first + transaction.events - 1


def after(gig_id: str, position: int, limit: int, mailbox_ids: list[str] | None) -> list[Event]:
    """The gig's events after a position, oldest first.

    With `mailbox_ids` only what concerns these mailboxes, which is what a member may see (H-15).
    """
    with db.reading():
        query = Event.select().where(Event.gig_id == gig_id, Event.seq > position)
        if db.is_postgres:
            query = query.where(Event.seq < int(db.scalar(_SETTLED)))
        if mailbox_ids is not None:
            query = query.where(Event.mailbox_id.in_(mailbox_ids))
        return list(query.order_by(Event.seq).limit(limit))


def has_unsettled(gig_id: str, position: int) -> bool:
    """Is there anything after a position that readers do not see yet?"""
    if not db.is_postgres:
        return False
    with db.reading():
        query = Event.select().where(Event.gig_id == gig_id, Event.seq > position)
        return bool(query.where(Event.seq >= int(db.scalar(_SETTLED))).exists())


def keep_growing() -> None:
    """After a restore into another PostgreSQL server its transaction numbers start low again.

    Raises the base so that new positions come after all that exist. Runs with the migrations.
    """
    if not db.is_postgres:
        return

    def write() -> None:
        highest = int(db.scalar(_HIGHEST))
        behind = highest - int(db.scalar(_FIRST_POSTGRES)) + 1
        if behind > 0:
            Meta.add(BASE_KEY, behind)

    db.write(write)
