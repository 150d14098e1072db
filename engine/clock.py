"""The one clock: the database's, so that every process agrees (H-10).

Times are whole milliseconds since 1970 in UTC. A development install may move the clock forward
(Z-06); how far is a row, so it holds for every process and survives a restart.
"""

from __future__ import annotations

import time

from engine.db import db
from engine.errors import invalid
from engine.models.meta import Meta

OFFSET_KEY = "clock_offset_ms"
SECOND = 1000
DAY_SECONDS = 86_400
MAX_ADVANCE_SECONDS = 3650 * DAY_SECONDS
# However often it is moved: every time must stay one that can be written down.
MAX_AHEAD_SECONDS = 10 * MAX_ADVANCE_SECONDS

_POSTGRES = """
SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint
     + coalesce((SELECT value::bigint FROM meta WHERE key = 'clock_offset_ms'), 0)
"""
# SQLite lives on one machine, so that machine's clock is the database's.
_SQLITE = """
SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'clock_offset_ms'), 0)
"""

# The time as a value in another statement of PostgreSQL, whose answer `read` is then told.
VALUE = f"({_POSTGRES.strip()})"


def read(at: int) -> None:
    """Another statement of this transaction has read the clock; it counts if it was the first."""
    if db.transaction is not None and db.transaction.now is None:
        db.transaction.now = at


def now() -> int:
    """Milliseconds. Within one transaction it is always the same."""
    transaction = db.transaction
    if transaction is not None and transaction.now is not None:
        return transaction.now
    if db.is_postgres:
        at = int(db.scalar(_POSTGRES))
    else:
        at = time.time_ns() // 1_000_000 + int(db.scalar(_SQLITE))
    if transaction is not None:
        transaction.now = at
    return at


def advance(seconds: int) -> int:
    """Move the clock forward for every process; answers the new time in milliseconds."""
    if not 0 <= seconds <= MAX_ADVANCE_SECONDS:
        raise invalid(
            "seconds",
            f"give a whole number from 0 to {MAX_ADVANCE_SECONDS}; the clock only moves forward",
        )

    def write() -> None:
        ahead = int(Meta.read(OFFSET_KEY) or 0) // SECOND
        if ahead + seconds > MAX_AHEAD_SECONDS:
            raise invalid(
                "seconds", f"the clock is {ahead} s ahead, of {MAX_AHEAD_SECONDS} at most"
            )
        Meta.add(OFFSET_KEY, seconds * SECOND)

    db.write(write)
    return now()


def machines() -> float:
    """Seconds since 1970 by this machine's own clock: for what is measured by that, and not by
    ours, such as when a file was written, or until when another server takes a signature."""
    return time.time()
