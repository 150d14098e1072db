"""The deposit of an order on its way back, and what the chain does to it without us (O-05, O-09).

An order that is being undone ends with its deposit, however that ends. Where the deposit has left
the contract although nobody here asked for it, the order is undone all the same; where a reorg
brings it back, it is given back again.
"""

from __future__ import annotations

from engine import (
    commands,
    drafts,
    escrow_refunds,
    escrows,
    gigs,
    order_closing,
    order_handing,
    order_undoable,
    order_undoing,
    tasks,
)
from engine.db import db
from engine.errors import Refused
from engine.models.command import UNFINISHED, Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.task import UNDOING, Task
from engine.moves import move
from engine.order_undoing import KIND, RECONCILER

LOOK_AGAIN_SECONDS = 1.0
LOOK_AT_ONCE_SECONDS = 0.1
# Orders that somebody may still do something with.
IN_HAND = ("draft", "unassigned", "claimed", "submitted", "approved", "rejected")
# States of an order whose own deposit goes back when it is there, or there again.
_GOES_BACK = {"open": ("undoing",), "reopened": ("undoing", *drafts.UNSENT)}


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step: send the refund, and be done when the chain has said what became of it."""
    with db.reading():
        task = Task.get(Task.id == command.arguments["task_id"])
        escrow = escrows.get(command.arguments["deposit_id"])
        waits = escrow.status == "planned" and escrows.may_be_mined(escrow)
    if task.status != "undoing" or task.deposit_id != escrow.id:
        if escrow.status == "settled":
            raise Refused(
                "already_settled",
                "The vendor had been paid for this order before it could be undone.",
                message_id=task.id,
            )
        return commands.Done(order_undoable.answer(task, escrow))
    if escrow.status == "refunding":
        return commands.Wait(escrow_refunds.advance(escrow))
    if waits:
        # A reorg took the deposit back; its transaction may bring it again.
        return commands.Wait(LOOK_AGAIN_SECONDS)
    db.write(lambda: _look(command))
    return commands.Wait(LOOK_AT_ONCE_SECONDS)


def _look(command: Command) -> None:
    """What a step found by the way, looked at again under the locks."""
    gig = gigs.locked(command.gig_id)
    order_handing.hold_vendor(gig)
    task = tasks.locked(gig, command.arguments["task_id"])
    escrow = Escrow.get(Escrow.id == command.arguments["deposit_id"])
    if task.status != "undoing" or task.deposit_id != escrow.id:
        return
    if escrow.status == "open":
        escrow_refunds.request(escrow, "chain", command)
    elif escrow.status != "refunding":
        if escrow.status == "planned":
            escrows.abandon(escrow)
        order_undoing.end(gig, task)


def ended(escrow: Escrow, what: str) -> bool:
    """What the chain says of an order's deposit, as `escrows.listen` tells it; in `db.write`.

    True where that has settled what becomes of the order: it is undone, being so, or has another
    deposit by now. False where its deposit is there, to be handed over or paid.
    """
    gig = gigs.locked(escrow.gig_id)
    order_handing.hold_vendor(gig)
    task = tasks.locked(gig, escrow.task_id)
    if task.deposit_id != escrow.id:
        return _is_another(escrow, what)
    if what in ("refunded", "reclaimed", "settled") and task.status == "undoing":
        if what != "refunded":
            Task.update(order_withdrawn_reason=what).where(Task.id == task.id).execute()
        order_undoing.end(gig, task)
    elif what in ("refunded", "reclaimed") and task.status in IN_HAND:
        _leave(gig, task, what)
    elif what == "reopened" and task.status == "unfunded":
        # It is being sent anew, on terms of its own.
        escrow_refunds.request(escrow, "chain")
        return True
    elif task.status in _GOES_BACK.get(what, ()):
        _again(gig, task, escrow)
    elif what == "open":
        return False
    return task.status in ("undoing", "withdrawn")


def _is_another(escrow: Escrow, what: str) -> bool:
    """A deposit that the order was sent with before goes back, whatever it has now."""
    if what == "reopened":
        order_closing.void_returned(escrow.id)
        escrow_refunds.request(escrow, "chain")
    return what != "open"


def _again(gig: Gig, task: Task, escrow: Escrow) -> None:
    if task.status != "undoing":
        by = task.order_withdrawn_by or RECONCILER
        move(task, "undo", order_withdrawn_by=by)
    before = commands.find(str(escrow.command_id))
    if before is None or before.kind != KIND or before.status in commands.FINISHED:
        order_undoing.go_back(gig, task, escrow, "chain")
    else:
        escrow_refunds.request(escrow, "chain", before)


def _leave(gig: Gig, task: Task, what: str) -> None:
    """Its money has left: nobody can be paid for it, whatever its verdict (O-05)."""
    order_closing.close(task, RECONCILER, what)
    order_undoing.end(gig, task)


def sweep(limit: int = 100) -> int:
    """Go on with orders whose undoing nothing works on any more; rung by the scheduler."""
    with db.reading():
        at_it = Command.select(Command.id).where(UNFINISHED, Command.kind == KIND)
        left = (
            Task.select(Task.id, Task.gig_id, Task.deposit_id)
            .join(Escrow, on=(Task.deposit_id == Escrow.id))
            .where(UNDOING, Escrow.command_id.not_in(at_it))
            .limit(limit)
        )
        found = [(row.id, row.gig_id, row.deposit_id) for row in left]

    def write(task_id: str, gig_id: str, deposit_id: str) -> int:
        gigs.locked(gig_id)
        escrow = Escrow.get(Escrow.id == deposit_id)
        before = commands.find(str(escrow.command_id))
        if before is not None and before.kind == KIND and before.status not in commands.FINISHED:
            return 0
        arguments = {"task_id": task_id, "deposit_id": deposit_id}
        command = commands.record(KIND, arguments, account_id=None, gig_id=gig_id)
        Escrow.update(command_id=command.id).where(Escrow.id == deposit_id).execute()
        return 1

    return sum(db.write(lambda one=row: write(*one)) for row in found)  # type: ignore[misc]
