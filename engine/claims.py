"""The statements that hand out work. Taking is one statement, so that it is exclusive (Q-05).

A waiting task has a row in the narrow `queue_entry` table; whoever deletes that row has the task.
The claim writes the task's state here, by the move `("queued", "claim")` of its state table, since
choosing, taking and marking are one step.
"""

from __future__ import annotations

import peewee

from engine import clock, rows, topics
from engine.db import db
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import QueueEntry, Task
from engine.plans import Selection
from engine.states import target

# The 64-bit key of a place in the queue: the priority above, the order of arrival below.
# Past 2**29 tasks the arrival grows into the priority's bits: older tasks still come first.
ARRIVAL_BITS = 29
ORDERS = {"fifo": "ASC"}

# The primary key (gig_id, sort_key, task_number) gives the order; the exclusion is looked up by
# its own primary key. SKIP LOCKED passes over what another poll is taking at this moment. The very
# statement that takes looks at the gig: what it takes was queued before a cancellation, which then
# finds it taken.
_POSTGRES = """
WITH picked AS (
    SELECT entry.sort_key, entry.task_number
    FROM queue_entry AS entry
    WHERE entry.gig_id = ?
      AND EXISTS (SELECT 1 FROM gig WHERE gig.id = ? AND gig.status = 'active')
      AND NOT EXISTS (
        SELECT 1 FROM exclusion
        WHERE exclusion.mailbox_id = ? AND exclusion.task_number = entry.task_number)
    ORDER BY entry.sort_key {direction}, entry.task_number {direction}
    LIMIT ?
    FOR UPDATE OF entry SKIP LOCKED
), taken AS (
    DELETE FROM queue_entry AS entry USING picked
    WHERE entry.gig_id = ? AND entry.sort_key = picked.sort_key
      AND entry.task_number = picked.task_number
    RETURNING entry.task_number, entry.sort_key
)
UPDATE task
SET status = ?, mailbox_id = ?, claimed_at = ?,
    held_price_units = CASE WHEN price_tbd THEN NULL ELSE coalesce(price_units, ?) END
FROM taken
WHERE task.number = taken.task_number
RETURNING {columns}
"""

# SQLite's one writer already stands alone here, so choosing and taking may be two statements.
_SQLITE_PICK = """
SELECT sort_key, task_number FROM queue_entry AS entry
WHERE gig_id = ?
  AND NOT EXISTS (
    SELECT 1 FROM exclusion
    WHERE exclusion.mailbox_id = ? AND exclusion.task_number = entry.task_number)
ORDER BY sort_key {direction}, task_number {direction}
LIMIT ?
"""
_SQLITE_TAKE = "DELETE FROM queue_entry WHERE task_number IN ({marks})"
_SQLITE_MARK = """
UPDATE task SET status = ?, mailbox_id = ?, claimed_at = ?,
    held_price_units = CASE WHEN price_tbd THEN NULL ELSE coalesce(price_units, ?) END
WHERE number IN ({marks}) RETURNING {columns}
"""


def sort_key(priority: int, number: int) -> int:
    return (priority << ARRIVAL_BITS) + number


def enqueue(task: Task) -> None:
    """Put a task into its place; only inside `db.write`."""
    topics.tell(topics.queue(task.gig_id))
    key = sort_key(task.priority, task.number)
    rows.insert(QueueEntry, {"gig_id": task.gig_id, "sort_key": key, "task_number": task.number})


def is_empty(gig_id: str) -> bool:
    """Does nothing wait on this gig's shelf, for anybody?"""
    return not db.rows("SELECT 1 FROM queue_entry WHERE gig_id = ? LIMIT 1", (gig_id,))


def take(gig: Gig, mailbox: Mailbox, selection: Selection, count: int) -> list[Task]:
    """Hand up to `count` tasks to the mailbox, in order; only inside `db.write`."""
    if selection.shelf == "none":
        return []
    direction = ORDERS[selection.order]
    taken = (
        _take_postgres(gig, mailbox, direction, count)
        if db.is_postgres
        else _take_sqlite(gig, mailbox, direction, count)
    )
    # RETURNING has no order of its own.
    taken.sort(
        key=lambda task: (sort_key(task.priority, task.number), task.number),
        reverse=direction == "DESC",
    )
    return taken


def take_one(gig: Gig, mailbox: Mailbox, task: Task) -> Task | None:
    """Take one named task if it still waits; None when somebody was quicker."""
    gone = QueueEntry.delete().where(
        QueueEntry.gig_id == gig.id,
        QueueEntry.task_number == task.number,
        peewee.fn.EXISTS(Gig.select(Gig.id).where(Gig.id == gig.id, Gig.status == "active")),
    )
    if not gone.execute():
        return None
    price = None if task.price_tbd else task.price_units
    if price is None and not task.price_tbd:
        price = gig.price_units
    Task.update(
        status=target("task", "claim"),
        mailbox_id=mailbox.id,
        claimed_at=clock.now(),
        held_price_units=price,
    ).where(Task.number == task.number).execute()
    return Task.get(Task.number == task.number)


def _take_postgres(gig: Gig, mailbox: Mailbox, direction: str, count: int) -> list[Task]:
    statement = _POSTGRES.format(direction=direction, columns=rows.columns(Task, "task"))
    marked = (target("task", "claim"), mailbox.id, clock.now(), gig.price_units)
    found = db.rows(statement, (gig.id, gig.id, mailbox.id, count, gig.id, *marked))
    return [rows.load(Task, row) for row in found]


def _take_sqlite(gig: Gig, mailbox: Mailbox, direction: str, count: int) -> list[Task]:
    picked = db.rows(_SQLITE_PICK.format(direction=direction), (gig.id, mailbox.id, count))
    numbers = [row[1] for row in picked]
    if not numbers:
        return []
    marks = ", ".join("?" for _ in numbers)
    db.rows(_SQLITE_TAKE.format(marks=marks), numbers)
    statement = _SQLITE_MARK.format(marks=marks, columns=rows.columns(Task))
    marked = (target("task", "claim"), mailbox.id, clock.now(), gig.price_units)
    return [rows.load(Task, row) for row in db.rows(statement, (*marked, *numbers))]
