"""Finding the tasks of a gig that something is to be done with."""

from __future__ import annotations

from collections.abc import Sequence

from engine import entries
from engine.db import db
from engine.errors import not_found
from engine.models.gig import Gig
from engine.models.task import Task


def locked(gig: Gig, task_id: str) -> Task:
    """The task, and its entry in the queue, held by this transaction; only inside `db.write`."""
    found = all_locked(gig, [task_id])
    if not found:
        raise not_found("task")
    return found[0]


def all_locked(gig: Gig, task_ids: Sequence[str]) -> list[Task]:
    """Those of these tasks that the gig has, held likewise, in the order of their numbers."""
    if not task_ids:
        return []
    marks = ", ".join("?" for _ in task_ids)
    numbers = f"SELECT number FROM task WHERE id IN ({marks}) AND gig_id = ?"
    found = db.rows(numbers, (*task_ids, gig.id))
    held = hold(*(row[0] for row in found))
    if len(held) < len(found):
        # A draft that was published between the two looks has another number since.
        held = hold(*(row[0] for row in db.rows(numbers, (*task_ids, gig.id))))
    return held


def hold(*numbers: int) -> list[Task]:
    """Lock tasks by their numbers, which they come back in the order of; entries first."""
    if not numbers:
        return []
    entered = entries.hold(*numbers)
    found: list[Task] = db.lock(
        Task.select().where(Task.number.in_(sorted(numbers))).order_by(Task.number)
    )
    if db.is_postgres:
        # One that was put into the queue between the two looks: its entry is not held yet.
        late = [task.number for task in found if task.status == "queued"]
        entries.hold(*(number for number in late if number not in entered), wait=False)
    return found
