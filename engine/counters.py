"""Limits that hold across processes: counters in windows, in the database (H-12)."""

from __future__ import annotations

from dataclasses import dataclass

from engine import clock
from engine.db import db
from engine.errors import Refused
from engine.models.access import Counter

# One statement, so that of many at once each gets a count of its own.
_HIT = """
INSERT INTO counter (key, count, until) VALUES (?, ?, ?)
ON CONFLICT (key) DO UPDATE SET
    count = CASE WHEN counter.until <= ? THEN excluded.count
        ELSE counter.count + excluded.count END,
    until = CASE WHEN counter.until <= ? THEN excluded.until ELSE counter.until END
RETURNING count, until
"""


@dataclass(frozen=True)
class Limit:
    """`most` times in `seconds`. `name` is what the RateLimit headers call it."""

    name: str
    most: int
    seconds: int


@dataclass(frozen=True)
class Used:
    """Where a limit stands after a hit; `reset_seconds` until the window ends."""

    limit: Limit
    count: int
    reset_seconds: int

    @property
    def remaining(self) -> int:
        return max(0, self.limit.most - self.count)


def hit(limit: Limit, subject: str, amount: int = 1) -> Used:
    """Count a use by a subject, of so many of the limit's units; `check` says whether it was too
    much."""

    def write() -> Used:
        now = clock.now()
        until = now + limit.seconds * clock.SECOND
        ((count, until),) = db.rows(_HIT, (_key(limit, subject), amount, until, now, now))
        return _used(limit, count, until, now)

    return db.write(write)


def standing(limit: Limit, subject: str) -> Used:
    """Where the limit stands for a subject; counts nothing."""
    now = clock.now()
    found = db.rows("SELECT count, until FROM counter WHERE key = ?", (_key(limit, subject),))
    count, until = found[0] if found and found[0][1] > now else (0, now)
    return _used(limit, count, until, now)


def _key(limit: Limit, subject: str) -> str:
    return f"{limit.name}:{subject}"


def _used(limit: Limit, count: int, until: int, now: int) -> Used:
    return Used(limit, count, max(1, (until - now + 999) // clock.SECOND))


def check(used: Used) -> None:
    """429 `rate_limited` once the window is used up."""
    if used.count > used.limit.most:
        raise Refused(
            "rate_limited",
            f"That is too much at once: at most {used.limit.most} in {used.limit.seconds} s. "
            f"Try again in {used.reset_seconds} s.",
            retry_after=used.reset_seconds,
            limit=used.limit.name,
        )


def forget_old() -> None:
    """Drop windows that are over; rung by the scheduler."""
    db.write(lambda: Counter.delete().where(Counter.until <= clock.now()).execute())
