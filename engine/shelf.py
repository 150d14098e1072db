"""Reading tasks: one with its body, and what waits on a gig's shelf."""

from __future__ import annotations

from dataclasses import dataclass

from engine import gigs, pages
from engine.db import db
from engine.errors import not_found
from engine.models.gig import Gig
from engine.models.task import QueueEntry, Task
from engine.operations import OWNER, Caller, permit


def read(caller: Caller, gig_id: str, task_id: str) -> tuple[Gig, Task, bool]:
    """One task with its whole body; the third member says whether the caller owns the gig."""
    with db.reading():
        gig = gigs.get(gig_id)
        has = permit("task.read", caller, gig)
        task = Task.get_or_none(Task.id == task_id, Task.gig_id == gig.id)
        if task is None:
            raise not_found("task")
        return gig, task, OWNER in has


@dataclass(frozen=True)
class Queued:
    """A waiting task, its place in the queue, and how many have declined it."""

    gig: Gig
    task: Task
    sort_key: int
    declined_count: int
    for_owner: bool


def queued(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Queued]:
    """Waiting tasks in the queue's order."""
    with db.reading():
        gig = gigs.get(gig_id)
        owner = OWNER in permit("queue.read", caller, gig)
        query = QueueEntry.select().where(QueueEntry.gig_id == gig.id)
        entries = pages.page(query, (QueueEntry.sort_key, QueueEntry.task_number), limit, after)
        numbers = [entry.task_number for entry in entries]
        found = {task.number: task for task in Task.select().where(Task.number.in_(numbers))}
        declined = _declined_counts(numbers)
        return [
            Queued(
                gig,
                found[entry.task_number],
                entry.sort_key,
                declined.get(entry.task_number, 0),
                owner,
            )
            for entry in entries
        ]


def _declined_counts(numbers: list[int]) -> dict[int, int]:
    marks = ", ".join("?" for _ in numbers)
    if not numbers:
        return {}
    counted = db.rows(
        "SELECT task_number, count(*) FROM exclusion "
        f"WHERE reason = 'declined' AND task_number IN ({marks}) GROUP BY task_number",
        numbers,
    )
    return {number: int(count) for number, count in counted}
