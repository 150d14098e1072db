"""May an order be undone, by what is there of it and its deposit; and what is answered (O-09)."""

from __future__ import annotations

from typing import Any

from engine import drafts, escrows, order_standing
from engine.errors import Refused
from engine.escrow_events import KEPT
from engine.models.escrow import Escrow
from engine.models.proof import LIVE, PAYABLE, Proof
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.rules import money, times


def deposit_of(task: Task) -> Escrow | None:
    """The deposit that pays for a locked order; 409 `ledger_missing` where the books lack it."""
    if task.deposit_id is None:
        if task.order_free or task.status in ("draft", "unfunded"):
            return None
        raise _missing(task)
    escrow = Escrow.get_or_none(Escrow.id == task.deposit_id, Escrow.task_id == task.id)
    bought = Purchase.select().where(Purchase.deposit_id == task.deposit_id)
    if escrow is None or not bought.exists():
        raise _missing(task)
    return escrow


def _missing(task: Task) -> Refused:
    return Refused(
        "ledger_missing",
        "The books do not know the deposit of this order, so nothing was sent. Its operator has to "
        "look at it: muster audit.",
        message_id=task.id,
        deposit_id=task.deposit_id,
    )


def done(task: Task, escrow: Escrow | None) -> dict[str, Any] | None:
    """The answer where there is nothing left to give back; 409 `in_progress` while it is not known
    yet. The deposit of an order that is not sent is given up here if nothing was ever sent for it.
    """
    order_standing.require_steady(task)
    if task.status not in drafts.UNSENT:
        return None
    if escrow is None and task.status == "withdrawn":
        return answer(task, None)
    if escrow is None:
        raise Refused(
            "not_funded",
            "Nothing was ever deposited for this order, so there is nothing to undo. Its buyer may "
            "delete the draft.",
            message_id=task.id,
        )
    if escrow.status in ("refunded", "reclaimed"):
        return answer(task, escrow)
    if escrow.status == "planned":
        sent = escrows.transaction_of(escrow)
        if sent is not None and sent.status not in ("reverted", "replaced"):
            raise in_progress(task)
        # What somebody has signed elsewhere, and sends after all, goes back by itself.
        escrows.abandon(escrow)
    if escrow.status == "abandoned":
        return {**answer(task, escrow), "amount": money.to_dollars(0), "reason": "never_funded"}
    return None


def in_progress(task: Task) -> Refused:
    return Refused(
        "in_progress",
        "The deposit of this order is on its way in or back just now. Try again in a moment.",
        message_id=task.id,
        retry_after=1,
    )


def require_undoable(task: Task, escrow: Escrow | None) -> None:
    """Refuse once the delivery is approved, by whomever, or its deposit is not there to go back.

    A delivery that is disputed is neither approved nor paid.
    """
    payable = Proof.get_or_none(Proof.task_id == task.id, LIVE, Proof.status.in_(PAYABLE))
    settled = escrow is not None and escrow.status == "settled"
    if settled or (payable is not None and payable.paid_out_at is not None):
        raise Refused(
            "already_settled",
            "The vendor has been paid for this order, so it cannot be undone any more.",
            message_id=task.id,
        )
    if payable is not None:
        raise Refused(
            "already_approved",
            "This delivery was approved, which closes the undo for both sides. "
            + ("It was free, so that is its end." if escrow is None else "The payout comes next."),
            message_id=task.id,
            proof_id=payable.id,
        )
    if escrow is None or escrow.status == "open":
        return
    # A reorg has taken the deposit back: it will come again, or the order be undone.
    if escrow.status == "refunding" or task.escrowed_at is None:
        raise in_progress(task)
    raise mismatch(task, escrow)


def mismatch(task: Task, escrow: Escrow) -> Refused:
    return Refused(
        "state_mismatch",
        f"This order is {task.status}, and its deposit {escrow.status}: they do not go together, "
        "so nothing was sent. Its operator has to look at it: muster audit.",
        message_id=task.id,
        deposit_id=escrow.id,
        status_now=escrow.status,
    )


def answer(task: Task, escrow: Escrow | None) -> dict[str, Any]:
    """What whoever undoes an order is told once that has ended."""
    told = {
        "success": True,
        "state": "withdrawn",
        "gig_id": task.gig_id,
        "task_id": task.id,
        "withdrawn_by": task.order_withdrawn_by,
        "withdrawn_at": times.iso_ms_or_none(task.order_withdrawn_at),
    }
    if escrow is None:
        return {**told, "free": True, "amount": money.to_dollars(0)}
    return {
        **told,
        "deposit_id": escrow.id,
        "tx_hash": escrow.tx_hash,
        "amount": money.to_dollars(escrow.amount_units),
        "claimable": escrow.failure == KEPT,
    }
