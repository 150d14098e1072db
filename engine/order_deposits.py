"""What becomes of an order when the chain says what became of its deposit (O-02, Y-07).

It is handed to its vendor in the transaction that books the deposit. Where that cannot be, it is a
draft again whose deposit is open: sending it again hands it over, undoing it gives the money back.
"""

from __future__ import annotations

from typing import Any

from engine import (
    clock,
    commands,
    escrow_refunds,
    escrows,
    gigs,
    order_attempts,
    order_handing,
    order_restoring,
    order_returns,
)
from engine.db import db
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import takes_orders
from engine.moves import move
from engine.rules import money, order_money

KIND = "order.sent"


def sold(task: Task, escrow: Escrow) -> dict[str, Any]:
    """What whoever sends an order is told of its money; the vendor's part is `price`."""
    minimum = task.funded_minimum_units or 0
    split = order_money.split(escrow.amount_units, escrow.fee_bps)
    return {
        "deposit_id": escrow.id,
        "tx_hash": escrow.tx_hash,
        "funded_total": money.to_dollars(escrow.amount_units),
        "funded_minimum": money.to_dollars(minimum),
        "tip": money.to_dollars(escrow.amount_units - minimum),
        "price": money.to_dollars(split.net_units),
        "fee_bps": escrow.fee_bps,
    }


@escrows.listen
def _changed(escrow: Escrow, what: str) -> None:
    """In the transaction that books it."""
    gig = gigs.locked(escrow.gig_id)
    if not takes_orders(gig):
        return
    active = order_handing.hold_vendor(gig)
    if what == "opened_late":
        (task,) = Task.select().where(Task.id == escrow.task_id)
        order_attempts.note(escrow, str(task.client_id), order_attempts.minimum_units(escrow))
        return
    (task,) = db.lock(Task.select().where(Task.id == escrow.task_id))
    if what == "settled" and order_restoring.paid_after_all(task, escrow):
        return
    if order_returns.ended(escrow, what):
        return
    (task,) = db.lock(Task.select().where(Task.id == escrow.task_id))
    if what in ("open", "reopened"):
        _opened(gig, task, escrow, active)
    elif what == "unopened" and task.deposit_id == escrow.id:
        Task.update(escrowed_at=None).where(Task.id == task.id).execute()


def _opened(gig: Gig, task: Task, escrow: Escrow, active: bool) -> None:
    if task.status == "cancelled" or order_restoring.is_paid_for(task, escrow):
        escrow_refunds.request(escrow, "chain")
        return
    if task.deposit_id != escrow.id:
        # Its depositor has sent it himself, without us.
        order_attempts.attempt(task, escrow, order_attempts.minimum_units(escrow))
    if task.status == "withdrawn":
        move(task, "redraft", order_withdrawn_at=None, order_withdrawn_by=None)
    if task.status == "unfunded":
        deliver_or_keep(gig, task, escrow, active)
    else:
        Task.update(escrowed_at=clock.now()).where(Task.id == task.id).execute()


def deliver_or_keep(gig: Gig, task: Task, escrow: Escrow, active: bool) -> None:
    """Hand a locked, funded order to its vendor, and keep what is answered; in `db.write`.

    A draft again, funded, where the vendor's mailbox is not `active`.
    """
    now = clock.now()
    if not active:
        move(task, "unpublish", escrowed_at=now, order_withdrawn_at=None, order_withdrawn_by=None)
        return
    sent = order_handing.hand_over(gig, task, "fund", str(task.client_id), escrowed_at=now)
    told = {**sent, **sold(task, escrow)}
    arguments = {"task_id": task.id, "deposit_id": escrow.id}
    commands.record_done(_sent_id(escrow), KIND, gig.id, arguments, told)


def _sent_id(escrow: Escrow) -> str:
    return f"{commands.id_of_task(escrow.task_id)}-{escrow.attempt}"


def sent_since(task_id: str, at: int) -> dict[str, Any] | None:
    """What was answered when the order was handed over since then, for the first time; or None."""
    with db.reading():
        attempts = Escrow.select().where(Escrow.task_id == task_id).order_by(Escrow.attempt)
        for escrow in attempts:
            sent: Command | None = commands.find(_sent_id(escrow))
            if sent is not None and sent.created_at >= at:
                return dict(sent.result)
    return None
