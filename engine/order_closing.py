"""Closing the work on an order that is being undone (O-09); all of it only inside `db.write`."""

from __future__ import annotations

from typing import Any

from engine import clock, holding, parties
from engine.db import db
from engine.models.proof import Proof
from engine.models.rollup import UNPAID, Rollup
from engine.models.task import Task
from engine.moves import move, take_all

# Who undoes an order, beside its two sides.
RECONCILER, OPERATOR = "reconciler", "operator"
# Why nobody is paid by a rollup whose order was undone.
LEFT = "The order's deposit has left the contract, so nothing can be paid from it."
RULED = "The operator had the order's deposit given back, since it could not be paid out."


def close(task: Task, by: str, reason: str | None = None) -> None:
    """Move a locked order to `undoing`: nobody does it, decides on it or is paid for it any more.

    That is no verdict on the vendor, unless it was he who gave it up.
    """
    if by != parties.VENDOR:
        holding.excuse(task)
    holding.drop_draft(task)
    final = {"returned": True, "returned_at": clock.now()}
    of_task = Proof.task_id == task.id
    take_all(Proof, "undo", of_task, rejection_tag="other", timeout_at=None, **final)
    Proof.update(**final).where(of_task, Proof.status == "rejected", ~Proof.returned).execute()
    if task.deposit_id is not None:
        # What is approved neither side undoes: its money has left without us, or the chain refused
        # to pay it, and the operator has ruled.
        carrying = Rollup.select().where(Rollup.deposit_id == task.deposit_id, UNPAID)
        for rollup in db.lock(carrying):
            _void(rollup, LEFT if by == RECONCILER else RULED)
    told = {"order_withdrawn_by": by, "order_withdrawn_reason": reason}
    # Its two sides go on reading when the vendor had it.
    nobody = {**holding.NOBODY, "claimed_at": task.claimed_at}
    move(task, "undo", assignee_id=None, **nobody, **told)


def void_returned(deposit_id: str) -> None:
    """Nothing is owed any more for deliveries of an undone order that this deposit had paid for.

    A reorg took that payout back, and the order has another deposit by now, for what comes.
    """
    returned = Proof.select(Proof.rollup_id).where(Proof.returned, Proof.rollup_id.is_null(False))
    carrying = Rollup.select().where(
        Rollup.deposit_id == deposit_id, UNPAID, Rollup.id.in_(returned)
    )
    for rollup in db.lock(carrying):
        _void(rollup, LEFT)


def _void(rollup: Rollup, why: str) -> None:
    """It pays nothing any more; what was signed for it can only be refused by the contract."""
    if rollup.status == "sent":
        move(rollup, "fail")
    if rollup.status == "failed":
        move(rollup, "retry", chain_transaction_id=None)
    nothing: dict[str, Any] = {"gross_units": 0, "fee_units": 0, "failure": why, "retry_at": None}
    move(rollup, "settle", **nothing)
