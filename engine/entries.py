"""Entries in the queue: where a waiting task is put, and how it is taken out again.

A task is offered to those who may take it by a row of the narrow table `queue_entry`. The row's
`shelf` is the gig, or the one mailbox that it is reserved for; a task that nobody is offered has
none. Whoever locks both takes the entry first and the task second, so that no two wait for each
other; a mailbox comes before either.

An entry is never changed but by being put there anew, at a later position (`enqueued`): so workers
who have looked past its place find it; see `engine/claims.py`.
"""

from __future__ import annotations

import random

from engine import clock, events, facets, rows, topics
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import QueueEntry, Task
from engine.rules.queue_order import sort_key

DRAW_BITS = 62

_HOLD = """
SELECT entry.task_number FROM queue_entry AS entry
WHERE entry.task_number IN ({marks}) ORDER BY entry.task_number
"""


def shelf_of(task: Task) -> str | None:
    """Where the task would wait now, or None: nobody is offered it (T-04, T-06)."""
    if task.not_before is not None and task.not_before > clock.now():
        return None
    if task.availability == "reserved":
        return task.reserved_for
    return task.gig_id if task.availability == "open" else None


def enqueue(gig: Gig, task: Task) -> bool:
    """Offer a queued task to whom it is for; only inside `db.write`. Is anybody offered it?"""
    shelf = shelf_of(task)
    if shelf is None:
        return False
    topics.tell(topics.queue(task.gig_id))
    facet_id = facets.id_of(gig, task)
    rows.insert(
        QueueEntry,
        {
            "shelf": shelf,
            "sort_key": key_of(gig, task),
            "task_number": task.number,
            "enqueued": events.position(),
            "draw": random.getrandbits(DRAW_BITS),
            "facet_id": facet_id,
            "price_units": None if task.price_tbd else task.price_units,
        },
    )
    return True


def key_of(gig: Gig, task: Task) -> int:
    return sort_key(
        gig.queue_order, gig.queue_aging_seconds, task.priority, task.number, task.created_at
    )


def withdraw(task: Task) -> bool:
    """Take the task's entry away, if it has one; only inside `db.write`."""
    return bool(QueueEntry.delete().where(QueueEntry.task_number == task.number).execute())


def put_again(gig: Gig, task: Task) -> None:
    """After a change of what its entry says: a new one in its place; only inside `db.write`."""
    withdraw(task)
    enqueue(gig, task)


def hold(*numbers: int, wait: bool = True) -> set[int]:
    """Lock the entries of these tasks until the transaction ends; answers which there are.

    On PostgreSQL this waits for a claim that is taking one of them, which is then gone. Whoever has
    the tasks already must not wait: he runs again from the start instead (`db.write` does).
    """
    if not numbers:
        return set()
    marks = ", ".join("?" for _ in numbers)
    lock = " FOR UPDATE" if wait else " FOR UPDATE NOWAIT"
    statement = _HOLD.format(marks=marks) + (lock if db.is_postgres else "")
    return {row[0] for row in db.rows(statement, sorted(numbers))}
