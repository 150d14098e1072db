"""Deleting one task, which nobody has in hand and nobody has proven (A-02); never a proof."""

from __future__ import annotations

from typing import NoReturn

from engine import gigs, spending, task_escrow, tasks
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.task import Task
from engine.operations import Caller, permit

_GONE = ("cancelled", "discarded")


def delete(caller: Caller, gig_id: str, task_id: str) -> None:
    """Delete a task; its deposit goes back, and the day may spend its price again (G-04).

    404 the second time, 409 for one that is in hand.
    """

    def write() -> None:
        gig = gigs.get(gig_id)
        permit("task.delete", caller, gig)
        if gig.task_escrow:
            # A deposit that goes back needs it, and it comes before the task.
            gigs.locked(gig.id)
        spending.hold(gig)
        task = tasks.locked(gig, task_id)
        _require_idle(task)
        spending.give_back_deleted(gig, task)
        task_escrow.close([task], caller.account_id)

    db.write(write)


def delete_proofs(caller: Caller, gig_id: str) -> NoReturn:
    """409 `proofs_are_kept` for its owner: proofs are what payouts are settled against."""
    with db.reading():
        permit("proof.clear", caller, gigs.get(gig_id))
    raise Refused(
        "proofs_are_kept",
        "Proofs are the record that payouts are settled against, so they are kept. Review those "
        "that wait; a worker deletes drafts of his own.",
    )


def _require_idle(task: Task) -> None:
    if task.status in _GONE:
        raise not_found("task")
    if task.status == "claimed":
        raise Refused(
            "already_claimed",
            "A worker holds this task. Take it from him with /recycle first, then delete it.",
        )
    if task.status == "forwarded":
        raise Refused(
            "template",
            "Each worker has a copy of this task by now. Take them back one by one with /recycle.",
        )
    if task.status == "completed":
        raise Refused("already_completed", "The work on this task is done, so it stays.")
    if task.status in ("submitted", "approved", "rejected"):
        raise Refused(
            "already_proven",
            "A proof of this task was handed in, so it stays. Review the proof instead.",
        )
