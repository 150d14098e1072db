"""What a gig's token may spend: a most for each task, and a most for each day in UTC (G-04).

The day's sum is one counter that is raised by one statement, so many at once never pass the limit
together. Its first use of a day begins with what was sent on that day before there was a limit.
Drafts, and what the owner sends by himself, are no spending of the token's.

A task keeps how much of a day's sum is for it, and exactly that is given back. Where each worker is
pushed a copy, that is for as many copies as there are workers when it is sent, and for one at
least. Each copy uses its price of it when it is made; for what goes beyond, the day on which it is
made must have room. What no copy has used is given back in the end.
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
# More copies than a gig has workers.
MANY = 1 << 62

OVER_MAX_PRICE = "over_max_price"
OVER_DAILY_SPEND = "over_daily_spend"

_ADD = "UPDATE counter SET count = count + ? WHERE key = ? AND count <= ? RETURNING count"
_PRICE = """
    (CASE WHEN price_tbd THEN ? ELSE coalesce(price_units, ?) END)
    * (CASE
        WHEN status = 'forwarded' THEN (
            SELECT count(*) FROM task AS copy WHERE copy.template_number = task.number)
        WHEN assignee_id IS NULL THEN ? ELSE 1 END)
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
_WORKERS = "SELECT count(DISTINCT account_id) FROM mailbox WHERE gig_id = ? AND status = 'active'"
_COPIES = "SELECT count(*) FROM task WHERE template_number = ? AND status <> 'discarded'"
_HOLD = "SELECT 1 FROM counter WHERE key = ? FOR UPDATE"
# Locks the row as well.
_USED = "UPDATE counter SET count = count WHERE key = ? RETURNING count"


@dataclass(frozen=True)
class Counted:
    """The day that a price was counted on, and how much; or the reason why it is too much.

    None of them where there is nothing to count.
    """

    day: int | None = None
    units: int | None = None
    reason: str | None = None


def price_of(gig: Gig, price_units: int | None, price_tbd: bool) -> int:
    """What a task counts for; one to be decided settles at the gig's price (R-02)."""
    if price_tbd or price_units is None:
        return int(gig.price_units)
    return int(price_units)


def copies_of(gig: Gig, assigned: bool = False) -> int:
    """How often a task may be paid: once for each copy.

    As many as the gig's maximum says; or one for each of its active workers, and one at least,
    where none polls for his copy.
    """
    selection = ask(gig.distribution).select(gigs.facts(gig))
    if assigned or selection.how != "copy":
        return 1
    if selection.shelf == "none":
        return max(1, int(db.scalar(_WORKERS, (gig.id,))))
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
    return Counted(day=day, units=units)


def _begin(gig: Gig, day: int) -> None:
    price, copies = gig.price_units, copies_of(gig)
    until = (day + 2) * DAY_MS
    statement = _BEGIN.format(sum=_SUM_POSTGRES if db.is_postgres else _SUM_SQLITE)
    key = _key(gig.id, day)
    db.rows(statement, (key, price, price, copies, until, gig.id, day * DAY_MS))


def uncount(gig: Gig, counted: Counted) -> None:
    """What was counted just now was not sent after all; only inside `db.write`."""
    if counted.day is not None:
        _lower(gig.id, counted.day, counted.units or 0)


def hold(gig: Gig) -> None:
    """Keep what the day may still cost to this transaction, before the gig's turns are held.

    Whoever sends a task counts it before it is given to anybody, so this order is everybody's.
    """
    if db.is_postgres and gig.webhook_daily_spend_units is not None:
        db.rows(_HOLD, (_key(gig.id, clock.now() // DAY_MS),))


def cover(gig: Gig, template: Task, copies: int) -> int:
    """Count so many copies of a locked template, which are made now; answers how many may be.

    What was counted for it before comes first, and then what is left of the day's limit. Only
    inside `db.write`.
    """
    day, spare_units = _counted(template)
    price_units = price_of(gig, template.price_units, template.price_tbd)
    if day is None or day == BY_OWNER or price_units == 0:
        return copies
    covered = min(copies, spare_units // price_units)
    if covered:
        left = spare_units - covered * price_units
        Task.update(counted_units=left).where(Task.number == template.number).execute()
    more = min(copies - covered, _room(gig, price_units))
    if more > 0 and gig.webhook_daily_spend_units is not None:
        _lower(gig.id, clock.now() // DAY_MS, -more * price_units)
    return covered + max(0, more)


def covers_one(gig: Gig, template: Task) -> bool:
    """May at least one copy be made now, by what `cover` goes by? Only inside `db.write`."""
    day, spare_units = _counted(template)
    price_units = price_of(gig, template.price_units, template.price_tbd)
    if day is None or day == BY_OWNER or price_units <= spare_units:
        return True
    return _room(gig, price_units) > 0


def _room(gig: Gig, price_units: int) -> int:
    """So many at this price are within what is left of the day's limit, which is held."""
    limit = gig.webhook_daily_spend_units
    if limit is None:
        return MANY
    day = clock.now() // DAY_MS
    used = db.rows(_USED, (_key(gig.id, day),))
    if not used:
        _begin(gig, day)
        used = db.rows(_USED, (_key(gig.id, day),))
    return int((limit - used[0][0]) // price_units)


def give_back_unused(template: Task) -> None:
    """No more copies are made of a locked template; only inside `db.write`."""
    day, spare_units = _counted(template)
    if day is not None and day != BY_OWNER and spare_units:
        _lower(template.gig_id, day, spare_units)
        Task.update(counted_units=0).where(Task.number == template.number).execute()


def _counted(task: Task) -> tuple[int | None, int]:
    row = Task.select(Task.counted_on, Task.counted_units).where(Task.number == task.number).get()
    return row.counted_on, int(row.counted_units or 0)


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
            _lower(gig.id, task.counted_on, -more)
            _keep(task, task.counted_on, more)
        return True
    if most is not None and units > most:
        return False
    counted = count(gig, more)
    if counted.day is not None:
        _keep(task, counted.day if task.counted_on is None else task.counted_on, more)
    return counted.reason is None


def _keep(task: Task, day: int, more_units: int) -> None:
    """Remember that so much more is counted for a task, or less."""
    units = None
    if task.counted_on is None or task.counted_units is not None:
        units = max(0, (task.counted_units or 0) + more_units)
    Task.update(counted_on=day, counted_units=units).where(Task.number == task.number).execute()
    task.counted_on, task.counted_units = day, units


def take_back(gig: Gig, task: Task) -> None:
    """A task that was counted came to nothing, so its price is there again; in `db.write`."""
    row = Task.select(Task.counted_on, Task.counted_units).where(Task.id == task.id).get()
    gone = Task.update(counted_on=None, counted_units=None)
    if gone.where(Task.id == task.id, Task.counted_on >= 0).execute():
        day, units = int(row.counted_on or 0), row.counted_units
        if units is None:
            # It was sent before tasks kept this.
            price_units = price_of(gig, task.price_units, task.price_tbd)
            units = price_units * copies_of(gig, task.assignee_id is not None)
        _lower(gig.id, day, int(units))


def give_back_deleted(gig: Gig, task: Task) -> None:
    """Its owner deletes a locked task that nobody holds, so it costs no more than its copies do.

    Copies that are pushed have used their part when they were made. Only inside `db.write`, after
    `hold`.
    """
    day = task.counted_on
    if day is None or day == BY_OWNER:
        return
    price_units = price_of(gig, task.price_units, task.price_tbd)
    units = task.counted_units
    if units is None:
        units = price_units * copies_of(gig, task.assignee_id is not None)
    if ask(gig.distribution).select(gigs.facts(gig)).shelf != "none":
        units -= price_units * int(db.scalar(_COPIES, (task.number,)))
    Task.update(counted_on=None, counted_units=None).where(Task.number == task.number).execute()
    _lower(gig.id, day, max(0, int(units)))


def _lower(gig_id: str, day: int, units: int) -> None:
    db.rows("UPDATE counter SET count = count - ? WHERE key = ?", (units, _key(gig_id, day)))


def _key(gig_id: str, day: int) -> str:
    return f"spend:{gig_id}:{day}"
