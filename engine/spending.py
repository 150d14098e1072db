"""What a gig's token may spend: a most for each task, and a most for each day in UTC (G-04).

The day's sum is one counter that is raised by one statement, so many at once never pass the limit
together. Its first use of a day begins with what was sent on that day before there was a limit.
"""

from __future__ import annotations

from engine import clock
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.task import Task
from engine.rules import money

DAY_MS = 86_400 * clock.SECOND

_ADD = """
UPDATE counter SET count = count + ? WHERE key = ? AND count + ? <= ? RETURNING count
"""
_BEGIN = """
INSERT INTO counter (key, count, until)
SELECT ?, coalesce(sum(CASE WHEN price_tbd THEN ? ELSE coalesce(price_units, ?) END), 0), ?
FROM task
WHERE gig_id = ? AND created_at >= ? AND id <> ? AND status NOT IN ('unfunded', 'cancelled')
ON CONFLICT (key) DO NOTHING
"""


def price_of(gig: Gig, task: Task) -> int:
    """What a task counts for; one to be decided settles at the gig's price (R-02)."""
    if task.price_tbd or task.price_units is None:
        return int(gig.price_units)
    return int(task.price_units)


def count(gig: Gig, task: Task) -> None:
    """Count a task that is being sent, or 409 where it is too much; only inside `db.write`."""
    units = price_of(gig, task)
    most = gig.webhook_max_price_units
    if most is not None and units > most:
        raise Refused(
            "over_max_price",
            f"This gig's token may send tasks of at most ${money.to_dollars(most)} each, and this "
            f"one costs ${money.to_dollars(units)}. Ask its owner to raise webhook_max_price.",
            max_price=money.to_dollars(most),
        )
    limit = gig.webhook_daily_spend_units
    if limit is None or units == 0:
        return
    day = clock.now() // DAY_MS
    key = _key(gig.id, day)
    added = (units, key, units, limit)
    if not db.rows(_ADD, added):
        _begin(gig, task, day)
        if not db.rows(_ADD, added):
            raise _over(gig, key, limit)
    Task.update(counted_on=day).where(Task.id == task.id).execute()


def _begin(gig: Gig, task: Task, day: int) -> None:
    price = gig.price_units
    until = (day + 2) * DAY_MS
    db.rows(_BEGIN, (_key(gig.id, day), price, price, until, gig.id, day * DAY_MS, task.id))


def _over(gig: Gig, key: str, limit: int) -> Refused:
    left = max(0, limit - int(db.scalar("SELECT count FROM counter WHERE key = ?", (key,))))
    return Refused(
        "over_daily_spend",
        f"This gig's token may spend ${money.to_dollars(limit)} a day in UTC, and "
        f"${money.to_dollars(left)} of it is left. Try again tomorrow, or ask its owner to raise "
        "webhook_daily_spend.",
        daily_spend=money.to_dollars(limit),
        left_today=money.to_dollars(left),
    )


def take_back(gig: Gig, task: Task) -> None:
    """A task that was counted came to nothing, so its price is there again; in `db.write`."""
    counted = Task.select(Task.counted_on).where(Task.id == task.id).scalar()
    uncounted = Task.update(counted_on=None).where(
        Task.id == task.id, Task.counted_on.is_null(False)
    )
    if not uncounted.execute():
        return
    db.rows(
        "UPDATE counter SET count = count - ? WHERE key = ?",
        (price_of(gig, task), _key(gig.id, counted)),
    )


def _key(gig_id: str, day: int) -> str:
    return f"spend:{gig_id}:{day}"
