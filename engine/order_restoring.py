"""Orders that were undone since their deposit had left, and whose deposit paid after all (Y-05).

A reorg may bring that about: on one chain the deposit went back first, on another the signed payout
was mined before. The vendor has his money then and nobody else, so the order is again what it was:
approved, and paid. All of it only inside `db.write`, with the order locked.
"""

from __future__ import annotations

from engine import escrow_refunds, escrows, order_attempts
from engine.models.escrow import Escrow
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from engine.moves import move

# Orders of which nobody has made anything else since.
UNDONE = ("undoing", "withdrawn")


def paid_after_all(task: Task, escrow: Escrow) -> bool:
    """The deposit has paid the vendor: make its order the approved one that it was.

    False where none of our payouts took it, or where the order was sent again meanwhile, with a
    deposit that is still there: what was paid then stays with the delivery that it paid for.
    """
    rollup = Rollup.get_or_none(Rollup.deposit_id == escrow.id, Rollup.status == "paid")
    if rollup is None:
        return False
    if task.status == "approved":
        _pay_from(task, escrow)
        return True
    if task.status not in UNDONE or not _is_free(task, escrow):
        return False
    if task.deposit_id != escrow.id:
        order_attempts.attempt(task, escrow, order_attempts.minimum_units(escrow))
    (proof,) = Proof.select().where(Proof.rollup_id == rollup.id)
    move(proof, "approve", returned=False, returned_at=None, rejection_tag=None)
    undone = ("order_withdrawn_at", "order_withdrawn_by", "order_withdrawn_reason")
    place = {"mailbox_id": proof.mailbox_id, "assignee_id": proof.mailbox_id}
    price = {"held_price_units": proof.locked_price_units}
    move(task, "restore", escrowed_at=escrow.opened_at, **place, **price, **dict.fromkeys(undone))
    return True


def _is_free(task: Task, escrow: Escrow) -> bool:
    """Is this the order's deposit, or has the one that it was sent with since come to nothing?"""
    if task.deposit_id in (None, escrow.id):
        return True
    return bool(escrows.get(str(task.deposit_id)).status in escrows.OVER)


def _pay_from(task: Task, escrow: Escrow) -> None:
    """An earlier deposit has paid for an order that has another by now: that one goes back."""
    if task.deposit_id == escrow.id:
        return
    other = escrows.get(str(task.deposit_id))
    order_attempts.attempt(task, escrow, order_attempts.minimum_units(escrow))
    Task.update(escrowed_at=escrow.opened_at).where(Task.id == task.id).execute()
    escrow_refunds.request(other, "chain")


def is_paid_for(task: Task, escrow: Escrow) -> bool:
    """Has another deposit paid for the order that this one has just opened for?"""
    if task.deposit_id in (None, escrow.id):
        return False
    return bool(escrows.get(str(task.deposit_id)).status == "settled")
