"""Events of one thing stand in the log in the order in which they came about.

On PostgreSQL a position is the number of the writing transaction (`positions.py`), which that gets
with its first lock. One that has its number, and then waits for what another does to the thing,
would tell of its own part as if it had come first.
"""

from __future__ import annotations

import peewee

from engine import positions
from engine.db import db

_LAST = "SELECT max(seq) FROM event WHERE subject_id = ?"


class _Overtaken(peewee.OperationalError):
    """Like a failure to serialise: `db.write` runs the transaction again, with a new number."""

    sqlstate = "40001"


def follow(subject_id: str) -> None:
    """What is told of a subject from here on comes after all that is told of it; in `db.write`.

    Call it once the subject is locked, and before its event is written.
    """
    transaction = db.transaction
    if transaction is None:
        raise RuntimeError("an order belongs to a transaction")
    if not db.is_postgres:
        return
    last = db.scalar(_LAST, (subject_id,))
    if last is not None and last >= positions.position() + transaction.events:
        raise _Overtaken(f"{subject_id} was told of at {last} in the meantime")
