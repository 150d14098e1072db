"""Undoing an order, by either side, until its delivery is approved (O-09).

That is decided in one transaction, under the lock that a settlement of the shop takes: the order is
`undoing`, nothing of it can be approved or paid any more, and its deposit is on its way back. It
has ended when the chain says so: `order_returns.py`. An order that was free ends there and then.
"""

from __future__ import annotations

from engine import (
    clock,
    commands,
    escrow_refunds,
    escrows,
    gigs,
    modes,
    order_closing,
    order_handing,
    order_news,
    order_pace,
    order_standing,
    order_undoable,
    parties,
    tasks,
)
from engine.arrivals import Taken
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.modes import takes_orders
from engine.moves import move
from engine.operations import Caller, permit
from engine.order_closing import OPERATOR as OPERATOR
from engine.order_closing import RECONCILER as RECONCILER

KIND = "order.withdraw"


def request(caller: Caller, gig_id: str, task_id: str) -> Taken:
    """Undo an order of the caller's, or of his shop: the answer, or the command that is at it.

    Again answers the same. Also a draft whose publishing has put a deposit in and no more.
    """
    order_pace.require(caller, gig_id, task_id)

    def write() -> Taken:
        gig = gigs.get(gig_id)
        permit("order.withdraw", caller, gig)
        if not takes_orders(gig):
            tasks.locked(gig, task_id)
            raise not_an_order()
        gig = gigs.locked(gig.id)
        order_handing.hold_vendor(gig)
        task = tasks.locked(gig, task_id)
        by = _side(caller, gig, task)
        escrow = order_undoable.deposit_of(task)
        done = order_undoable.done(task, escrow)
        if done is not None:
            return Taken(done)
        order_undoable.require_undoable(task, escrow)
        order_closing.close(task, by)
        command = go_back(gig, task, escrow, caller.account_id, caller.account_id)
        return (
            Taken(order_undoable.answer(task, escrow))
            if command is None
            else Taken(command=command)
        )

    return db.write(write)


def not_an_order() -> Refused:
    """For a gig whose owner sends the work."""
    return Refused(
        modes.no_orders(),
        "This gig takes no orders, so there is no order's own deposit to undo.",
    )


def _side(caller: Caller, gig: Gig, task: Task) -> str:
    private = task.status in order_standing.PRIVATE
    known = parties.is_party(gig, task, caller.account_id)
    if task.status == "cancelled" or (private and not known):
        raise not_found("task")
    return parties.require_party(caller, gig, task)


def undo(gig: Gig, task: Task, by: str, actor: str, reason: str | None = None) -> None:
    """Undo an order whose gig, vendor's mailbox and row are locked; only inside `db.write`.

    `by` is `participant`, `vendor`, `reconciler` or `operator`; `reason` why, where none of its
    sides asked.
    """
    escrow = order_undoable.deposit_of(task)
    order_closing.close(task, by, reason)
    go_back(gig, task, escrow, actor)


def go_back(
    gig: Gig, task: Task, escrow: Escrow | None, actor: str, account_id: str | None = None
) -> Command | None:
    """Give back the deposit of an order that is `undoing`: the command, of this account.

    None where nothing is there to go back, so that it has ended.
    """
    if escrow is None or escrow.status in escrows.OVER:
        end(gig, task)
        return None
    arguments = {"task_id": task.id, "deposit_id": escrow.id}
    command = commands.record(KIND, arguments, account_id=account_id, gig_id=task.gig_id)
    if escrow_refunds.request(escrow, actor, command) is None:
        raise order_undoable.mismatch(task, escrow)
    return command


def end(gig: Gig, task: Task) -> None:
    """The money of a locked order that is being undone is where it ends; in `db.write`.

    Its sides are told once, though a reorg may bring it here again.
    """
    before, now = task.order_withdrawn_at, clock.now()
    move(task, "end_undo", escrowed_at=None, order_withdrawn_at=before or now)
    free = (Purchase.task_id == task.id, Purchase.deposit_id.is_null())
    Purchase.update(withdrawn_at=now).where(*free, Purchase.withdrawn_at.is_null()).execute()
    if before is None:
        by = str(task.order_withdrawn_by)
        order_news.withdrawn(gig, task, by, _actor(gig, task, by))


def _actor(gig: Gig, task: Task, by: str) -> str:
    accounts = {parties.PARTICIPANT: task.client_id, parties.VENDOR: gig.owner_id}
    return str(accounts.get(by, by))
