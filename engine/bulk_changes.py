"""Changes of many waiting tasks in one call: reordering, pricing, tagging, and deleting all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from engine import clock, gigs, pages, spending, task_escrow, tasks
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.task import Task
from engine.operations import Caller, permit
from engine.task_changes import CLAIMED, NOT_IN_QUEUE, Changed, Kind

MOST_UPDATES = 100
# Tasks that one transaction deletes; and one call, which may be one transaction with its key.
CHUNK, MOST_DELETED = 500, 50_000
SKIPS = ("not_found", CLAIMED, NOT_IN_QUEUE)


@dataclass(frozen=True)
class Applied:
    """What a batch came to, by task id: what was changed, and why a task was left out."""

    changed: dict[str, Changed]
    skipped: dict[str, str]


def apply(kind: Kind, caller: Caller, gig_id: str, updates: Mapping[str, Any]) -> Applied:
    """Make one kind of change to up to 100 tasks, by id, in one transaction (P-01).

    They are locked in the order of their numbers, as everywhere. A task that cannot be changed is
    left out with the reason, which is the mode's name for what the mode never does; one of another
    gig is `not_found`.
    """

    def write() -> Applied:
        # One batch at a time: each makes classes of tags and prices as it comes to them, and two
        # would wait for each other's.
        gig = gigs.held(gig_id, alone=True)
        (kind.permit_many or kind.permit)(caller, gig)
        found = tasks.all_locked(gig, list(updates))
        changed: dict[str, Changed] = {}
        skipped = dict.fromkeys(updates, "not_found")
        for task in found:
            try:
                changed[task.id] = kind.make(caller, gig, task, updates[task.id])
                del skipped[task.id]
            except Refused as refusal:
                if refusal.code not in (*SKIPS, gig.distribution):
                    raise
                skipped[task.id] = refusal.code
        return Applied(changed, skipped)

    return db.write(write)


def delete_queued(caller: Caller, gig_id: str) -> tuple[int, bool]:
    """Delete all that waits in the queue, also what is reserved; answers (how many, is that all).

    What is published for reading only, what came back to the owner and what is in hand all stay.
    Deposits go back. What is sent meanwhile may stay, too.
    """
    gig = gigs.get(gig_id)
    permit("queue.clear", caller, gig)
    return _delete_queued(caller, gig)


def delete_inbound(caller: Caller, gig_id: str) -> tuple[int, bool]:
    """Delete all that came in and waits, which is what waits in the queue."""
    gig = gigs.get(gig_id)
    permit("inbound.clear", caller, gig)
    return _delete_queued(caller, gig)


def _delete_queued(caller: Caller, gig: Gig) -> tuple[int, bool]:
    until, after, deleted = clock.now(), None, 0
    while deleted < MOST_DELETED:
        chunk = _waiting(gig, until, after)
        if not chunk:
            return deleted, True
        deleted += db.write(partial(_delete, caller, gig, [task.number for task in chunk]))
        after = (chunk[-1].created_at, chunk[-1].id)
    return deleted, not _waiting(gig, until, after)


def _waiting(gig: Gig, until: int, after: pages.Position) -> list[Task]:
    """The next tasks to delete; all pages together are one walk along the gig's own index."""
    with db.reading():
        query = Task.select(Task.number, Task.created_at, Task.id).where(
            Task.gig_id == gig.id,
            Task.created_at <= until,
            Task.status == "queued",
            Task.availability != "view_only",
        )
        return pages.page(query, (Task.created_at, Task.id), CHUNK, after)


def _delete(caller: Caller, gig: Gig, numbers: list[int]) -> int:
    if gig.task_escrow:
        # Deposits that go back need it, and it comes before the tasks.
        gigs.locked(gig.id)
    spending.hold(gig)
    still = [
        task
        for task in tasks.hold(*numbers)
        if task.status == "queued" and task.availability != "view_only"
    ]
    for task in still:
        spending.give_back_deleted(gig, task)
    return len(task_escrow.close(still, caller.account_id))
