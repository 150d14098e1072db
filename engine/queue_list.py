"""What waits on a gig's shelf, for its owner and its members to read. Reading claims nothing."""

from __future__ import annotations

from dataclasses import dataclass

from engine import gigs, mailboxes, pages, shelf
from engine.claim_requests import EVERYTHING
from engine.db import db
from engine.facets import Wanted
from engine.models.gig import Gig
from engine.models.task import Task
from engine.operations import OWNER, Caller, permit

# By the primary key (shelf, sort_key, task_number).
_ALL = """
SELECT entry.sort_key, entry.task_number FROM queue_entry AS entry
WHERE entry.shelf = ? AND (entry.sort_key, entry.task_number) > (?, ?)
ORDER BY entry.sort_key, entry.task_number LIMIT ?
"""
# Each class's next entries, by the index (shelf, facet_id, sort_key, task_number).
_OF_CLASS = """
    SELECT {columns} FROM queue_entry AS entry
    WHERE entry.shelf = ? AND entry.facet_id = class.id
      AND (entry.sort_key, entry.task_number) > (?, ?)
    ORDER BY entry.sort_key, entry.task_number LIMIT ?"""
_POSTGRES = f"""
WITH class AS MATERIALIZED ({{classes}})
SELECT near.sort_key, near.task_number FROM class
CROSS JOIN LATERAL ({_OF_CLASS.format(columns="entry.sort_key, entry.task_number")}) AS near
ORDER BY near.sort_key, near.task_number LIMIT ?
"""
_SQLITE = f"""
WITH class AS MATERIALIZED ({{classes}})
SELECT near.sort_key, near.task_number FROM class
CROSS JOIN queue_entry AS near ON near.task_number IN (
    {_OF_CLASS.format(columns="entry.task_number")})
ORDER BY near.sort_key, near.task_number LIMIT ?
"""
_BEFORE_ALL = (-(2**63), -1)
_DECLINED = """
SELECT task_number, count(*) FROM exclusion
WHERE reason = 'declined' AND task_number IN ({marks}) GROUP BY task_number
"""


@dataclass(frozen=True)
class Queued:
    """A waiting task, its place in the queue, and who reads it, with which mailboxes of his.

    `declined_count`: how many workers have passed on it; None for all but the gig's owner.
    """

    gig: Gig
    task: Task
    sort_key: int
    declined_count: int | None
    owner: bool
    mailbox_ids: frozenset[str]


def page(
    caller: Caller,
    gig_id: str,
    limit: int,
    after: pages.Position,
    wanted: Wanted = EVERYTHING,
) -> list[Queued]:
    """Waiting tasks that are offered to all, in the queue's order; those that a filter lets pass.

    What is kept back or reserved is not among them; and what is given to whom the mode will is its
    owner's to see until it is (`shelf.lists_waiting`).
    """
    with db.reading():
        gig = gigs.get(gig_id)
        owner = OWNER in permit("queue.read", caller, gig)
        if not owner and not shelf.lists_waiting(gig):
            return []
        own = frozenset(mailboxes.ids_of(caller, gig))
        found = _entries(gig, limit, after or _BEFORE_ALL, wanted)
        numbers = [number for _, number in found]
        tasks = {task.number: task for task in Task.select().where(Task.number.in_(numbers))}
        declined = _declined_counts(numbers) if owner else {}
        return [
            Queued(
                gig,
                tasks[number],
                sort_key,
                declined.get(number, 0) if owner else None,
                owner,
                own,
            )
            for sort_key, number in found
            # One that was deleted between the two looks.
            if number in tasks
        ]


def _entries(gig: Gig, limit: int, after: tuple[int, ...], wanted: Wanted) -> list[tuple[int, int]]:
    if not wanted.filters:
        return [tuple(row) for row in db.rows(_ALL, (gig.id, *after, limit))]
    classes, params = wanted.classes(gig)
    sql = (_POSTGRES if db.is_postgres else _SQLITE).format(classes=classes)
    found = db.rows(sql, (*params, gig.id, *after, limit, limit))
    return [tuple(row) for row in found]


def _declined_counts(numbers: list[int]) -> dict[int, int]:
    if not numbers:
        return {}
    marks = ", ".join("?" for _ in numbers)
    return {number: int(count) for number, count in db.rows(_DECLINED.format(marks=marks), numbers)}
