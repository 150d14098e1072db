"""Deposits that a reorg took back and that the chain then refused are made anew (Y-03, Y-07).

A task was funded for good, as far as anybody could know, and somebody may have done it. He is paid
from another deposit of the same wallet, at the fee of the day.
"""

from __future__ import annotations

import structlog

from engine import clock, commands, escrows, gigs, task_escrow
from engine.db import db
from engine.errors import Refused
from engine.models.escrow import Escrow
from engine.models.task import Task

# Tasks that were handed out, or may be.
GOING_ON = ("queued", "claimed", "submitted", "approved")
# A wallet that is short stays so for a while.
RETRY_MS = 10 * 60 * clock.SECOND

log = structlog.get_logger()


def sweep(limit: int = 100) -> int:
    """Record that such tasks are funded again; rung by the scheduler. Answers how many."""
    with db.reading():
        lost = (
            Task.select(Task.id, Task.gig_id)
            .join(Escrow, on=(Task.deposit_id == Escrow.id))
            .where(
                Escrow.status.in_(("planned", "abandoned")),
                Task.escrowed_at.is_null(),
                Task.status.in_(GOING_ON),
            )
        )
        found = [(row.id, row.gig_id) for row in lost.limit(limit)]
    return sum(db.write(lambda one=row: _again(*one)) for row in found)  # type: ignore[misc]


def _again(task_id: str, gig_id: str) -> int:
    gig = gigs.locked(gig_id)
    if not gig.task_escrow:
        # An order: see `engine/order_repair.py`.
        return 0
    (task,) = db.lock(Task.select().where(Task.id == task_id))
    if task.status not in GOING_ON or not task_escrow.lacks_deposit(task):
        return 0
    last = escrows.newest(task_id)
    if last is None or (last.status == "planned" and escrows.may_be_mined(last)):
        return 0
    before = commands.peek(task.command_id)
    if before.status not in commands.FINISHED:
        return 0
    if before.status == "failed" and clock.now() - (before.finished_at or 0) < RETRY_MS:
        return 0
    try:
        task_escrow.begin(gig, task, last.wallet_id)
    except Refused as refusal:
        log.warning("escrow.not_repaired", task=task_id, reason=refusal.code)
        return 0
    return 1
