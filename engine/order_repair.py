"""Orders whose deposit a reorg took back and the chain then refused (Y-03, O-05).

The order was sent for good, as far as anybody could know, and its vendor may have done it. Where
the buyer's hot wallet has paid, the same deposit is made anew: what he paid had come back to him.
Where that cannot be, because the wallet was emptied, the rate has moved or another wallet had
signed, the order is undone, and both sides are told.
"""

from __future__ import annotations

from engine import commands, escrows, order_payments, order_terms, order_unsending
from engine.db import db
from engine.models.escrow import Escrow
from engine.models.task import Task
from engine.order_unsending import IN_HAND


def sweep(limit: int = 100) -> int:
    """Have such orders funded again, or undo them; rung by the scheduler. Answers how many."""
    with db.reading():
        lost = (
            Task.select(Task.id, Task.gig_id)
            .join(Escrow, on=(Task.deposit_id == Escrow.id))
            .where(
                Escrow.status.in_(("planned", "abandoned")),
                Task.escrowed_at.is_null(),
                Task.client_id.is_null(False),
                Task.status.in_(IN_HAND),
            )
        )
        found = [(row.gig_id, row.id) for row in lost.limit(limit)]
    return sum(db.write(lambda one=row: _look(*one)) for row in found)  # type: ignore[misc]


def _look(gig_id: str, task_id: str) -> int:
    gig, task, _ = order_terms.hold(gig_id, task_id, alone=True)
    last = escrows.newest(task.id)
    lost = last is not None and last.id == task.deposit_id and task.escrowed_at is None
    if last is None or not lost or task.status not in IN_HAND:
        return 0
    if last.status == "planned" and escrows.may_be_mined(last):
        return 0
    if commands.peek(str(task.command_id)).status not in commands.FINISHED:
        return 0
    if last.status == "planned":
        escrows.abandon(last)
    if last.wallet_id is None:
        order_unsending.lose(gig, task)
    else:
        order_payments.begin_again(task, last)
    return 1
