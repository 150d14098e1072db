"""Positions that only grow for a reader, although on PostgreSQL transactions commit out of order.

There a position is the writing transaction's number and a count within it, and readers see only
what is older than the oldest transaction still open: all of that is there, and nothing can be added
to it any more. SQLite has one writer, so counting does.
"""

from __future__ import annotations

from engine.db import Transaction, db
from engine.models.meta import Meta

# What one transaction may write with a position of its own: two to the power of this.
COUNT_BITS = 16
BASE_KEY = "event_base"

_BASE = f"coalesce((SELECT value::bigint FROM meta WHERE key = '{BASE_KEY}'), 0)"
# The position of a transaction's first event, as a value in another statement of PostgreSQL.
FIRST = f"{_BASE} + (pg_current_xact_id()::text::bigint << {COUNT_BITS})"
_FIRST_POSTGRES = f"SELECT {FIRST}"
_FIRST_SQLITE = "SELECT coalesce(max(seq), 0) + 1 FROM event"
# Positions are kept in the log, by what waits in a queue, by those who have looked through it, and
# in what accounts are told.
_HIGHEST = """
SELECT greatest(
    (SELECT coalesce(max(seq), 0) FROM event),
    (SELECT coalesce(max(enqueued), 0) FROM queue_entry),
    (SELECT coalesce(max(cursor_as_of), 0) FROM mailbox),
    (SELECT coalesce(max(number), 0) FROM notification))
"""
# Everything before this position is there for the statement that reads it, and stays all there is.
SETTLED = f"{_BASE} + (pg_snapshot_xmin(pg_current_snapshot())::text::bigint << {COUNT_BITS})"
_SETTLED = f"SELECT {SETTLED}"


def new() -> int:
    """A position of its own for what is written now; only inside `db.write`."""
    transaction = _transaction()
    first = _first(transaction)
    if db.is_postgres and transaction.events >= 1 << COUNT_BITS:
        raise RuntimeError("too many events in one transaction; write in chunks")
    transaction.events += 1
    return first + transaction.events - 1


def read_position(first: int) -> None:
    """Another statement of this transaction has read `FIRST`; it counts if it was the first."""
    if db.transaction is not None and db.transaction.event_base is None:
        db.transaction.event_base = first


def position() -> int:
    """Where the first event of this transaction is, or would be; only inside `db.write`."""
    return _first(_transaction())


def settled() -> int:
    """All that is before this position is there for everybody to see, and nothing can be added to
    it any more; on SQLite only inside `db.write`."""
    return int(db.scalar(_SETTLED)) if db.is_postgres else position()


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


def _transaction() -> Transaction:
    if db.transaction is None:
        raise RuntimeError("a position belongs to the transaction of what has it")
    return db.transaction


def _first(transaction: Transaction) -> int:
    if transaction.event_base is None:
        first = _FIRST_POSTGRES if db.is_postgres else _FIRST_SQLITE
        transaction.event_base = int(db.scalar(first))
    return transaction.event_base
