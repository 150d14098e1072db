"""What a gig's token may spend: a most for each task, and a most for each day in UTC (G-04).

The day's sum is one counter that is raised by one statement, so many at once never pass the limit
together. Its first use of a day begins with what was sent on that day before there was a limit.
Drafts, and what the owner sends by himself, are no spending of the token's.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import clock, gigs
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask

DAY_MS = 86_400 * clock.SECOND
# In place of the day, on what its owner decided by himself.
BY_OWNER = -1

OVER_MAX_PRICE = "over_max_price"
OVER_DAILY_SPEND = "over_daily_spend"

_ADD = "UPDATE counter SET count = count + ? WHERE key = ? AND count <= ? RETURNING count"
_PRICE = """
    (CASE WHEN price_tbd THEN ? ELSE coalesce(price_units, ?) END)
    * (CASE WHEN assignee_id IS NULL THEN ? ELSE 1 END)
"""
# The sum may be more than a whole number of 64 bits holds.
_SUM_POSTGRES = f"least(coalesce(sum({_PRICE}::numeric), 0), 9e18)::bigint"
_SUM_SQLITE = f"CAST(min(total({_PRICE}), 9e18) AS INTEGER)"
_BEGIN = """
INSERT INTO counter (key, count, until)
SELECT ?, {sum}, ? FROM task
WHERE gig_id = ? AND created_at >= ? AND template_number IS NULL
    AND coalesce(counted_on, 0) >= 0 AND status NOT IN ('unfunded', 'cancelled', 'dropped')
ON CONFLICT (key) DO NOTHING
"""
_WORKERS = "SELECT count(*) FROM mailbox WHERE gig_id = ? AND status = 'active'"


@dataclass(frozen=True)
class Counted:
    """The day that a price was counted on, or the reason why it is too much; else neither."""

    day: int | None = None
    reason: str | None = None


def price_of(gig: Gig, price_units: int | None, price_tbd: bool) -> int:
    """What a task counts for; one to be decided settles at the gig's price (R-02)."""
    if price_tbd or price_units is None:
        return int(gig.price_units)
    return int(price_units)


def copies_of(gig: Gig, assigned: bool = False) -> int:
    """How often a task may be paid: once for each copy.

    As many as the gig's maximum says; or one for each of its active workers, where none polls for
    his copy.
    """
    selection = ask(gig.distribution).select(gigs.facts(gig))
    if assigned or selection.how != "copy":
        return 1
    if selection.shelf == "none":
        return int(db.scalar(_WORKERS, (gig.id,)))
    return int(gig.max_claims_per_task or 1)


def count(gig: Gig, price_units: int, copies: int = 1) -> Counted:
    """Count a task that is about to be sent, unless it is too much; only inside `db.write`."""
    most = gig.webhook_max_price_units
    if most is not None and price_units > most:
        return Counted(reason=OVER_MAX_PRICE)
    limit = gig.webhook_daily_spend_units
    units = price_units * copies
    if limit is None or units == 0:
        return Counted()
    if units > limit:
        return Counted(reason=OVER_DAILY_SPEND)
    day = clock.now() // DAY_MS
    added = (units, _key(gig.id, day), limit - units)
    if not db.rows(_ADD, added):
        _begin(gig, day)
        if not db.rows(_ADD, added):
            return Counted(reason=OVER_DAILY_SPEND)
    return Counted(day=day)


def _begin(gig: Gig, day: int) -> None:
    price, copies = gig.price_units, copies_of(gig)
    until = (day + 2) * DAY_MS
    statement = _BEGIN.format(sum=_SUM_POSTGRES if db.is_postgres else _SUM_SQLITE)
    key = _key(gig.id, day)
    db.rows(statement, (key, price, price, copies, until, gig.id, day * DAY_MS))


def uncount(gig: Gig, counted: Counted, price_units: int, copies: int = 1) -> None:
    """What was counted just now was not sent after all; only inside `db.write`."""
    if counted.day is not None:
        _lower(gig, counted.day, price_units * copies)


def reprice(gig: Gig, task: Task, units: int) -> bool:
    """Count what a locked task costs more from now on, or give back what it costs less.

    False, and nothing counted, where that is more than may be spent. Only inside `db.write`.
    """
    if task.counted_on == BY_OWNER:
        return True
    more = units - price_of(gig, task.price_units, task.price_tbd)
    most = gig.webhook_max_price_units
    if more <= 0:
        if task.counted_on is not None:
            _lower(gig, task.counted_on, -more)
        return True
    if most is not None and units > most:
        return False
    counted = count(gig, more)
    if counted.day is not None and task.counted_on is None:
        Task.update(counted_on=counted.day).where(Task.number == task.number).execute()
        task.counted_on = counted.day
    return counted.reason is None


def take_back(gig: Gig, task: Task) -> None:
    """A task that was counted came to nothing, so its price is there again; in `db.write`."""
    counted = Task.select(Task.counted_on).where(Task.id == task.id).scalar()
    uncounted = Task.update(counted_on=None).where(Task.id == task.id, Task.counted_on >= 0)
    if uncounted.execute():
        price_units = price_of(gig, task.price_units, task.price_tbd)
        _lower(gig, counted, price_units * copies_of(gig, task.assignee_id is not None))


def _lower(gig: Gig, day: int, units: int) -> None:
    db.rows("UPDATE counter SET count = count - ? WHERE key = ?", (units, _key(gig.id, day)))


def _key(gig_id: str, day: int) -> str:
    return f"spend:{gig_id}:{day}"
