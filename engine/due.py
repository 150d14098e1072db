"""Tasks that were to wait until a time, and whose time has come (T-04, F08)."""

from __future__ import annotations

from engine import clock, entries, events, gigs, tasks
from engine.db import db
from engine.models.task import WAITING, QueueEntry, Task

# Tasks that one transaction offers.
CHUNK = 200


def waits_until(task: Task) -> int | None:
    """When a waiting task's time comes (ms), until which it is nobody's to act on; else None."""
    not_before = task.not_before
    if task.status != "queued" or not_before is None or not_before <= clock.now():
        return None
    return int(not_before)


def enqueue() -> int:
    """Offer what is due to whom it is for; answers how many tasks that was. Rung by the sweep.

    Safe from many processes at once: each task is locked, and is due no more once it was offered.
    """
    done = 0
    while offered := db.write(_offer_some):
        done += offered
    return done


def _offer_some() -> int:
    now = clock.now()
    due = Task.select(Task.number).where(
        WAITING, Task.not_before.is_null(False), Task.not_before <= now
    )
    numbers = [row.number for row in due.order_by(Task.not_before, Task.number).limit(CHUNK)]
    # As it stands once it is locked: another process may have been quicker, or its owner.
    found = [
        task
        for task in tasks.hold(*numbers)
        if task.status == "queued" and task.not_before is not None and task.not_before <= now
    ]
    if not found:
        return 0
    mine = [task.number for task in found]
    query = QueueEntry.select(QueueEntry.task_number).where(QueueEntry.task_number.in_(mine))
    offered = {entry.task_number for entry in query}
    Task.update(not_before=None).where(Task.number.in_(mine)).execute()
    for task in found:
        task.not_before = None
        gig = gigs.get(task.gig_id)
        if task.number not in offered:
            entries.enqueue(gig, task)
        events.append(
            "task.due",
            events.Subject("task", task.id),
            actor="clock",
            gig_id=gig.id,
            data={"message_id": task.id},
        )
    return len(found)
