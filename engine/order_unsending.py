"""An order whose deposit came to nothing is what it was before; all of it only in `db.write`.

Terms are abandoned only if they can never be mined. Should they open all the same, they go back.
"""

from __future__ import annotations

from engine import clock, escrows, events, order_attempts, order_terms, order_undoing
from engine.db import db
from engine.errors import Refused
from engine.escrow_funding import CANCELLED
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.moves import move, take
from engine.order_undoing import RECONCILER

# Orders that the vendor has, or whose delivery he is to be paid for.
IN_HAND = ("claimed", "submitted", "approved", "rejected")
LOST = "The chain itself took the deposit back, and it could not be made again."

# The order's columns that say what was paid for it.
_NOTHING = {
    "price_units": None,
    "escrow_units": None,
    "escrow_fee_bps": None,
    "funded_minimum_units": None,
}


def is_mine(command: Command, task: Task) -> bool:
    """Is this command the one that funds the order, which has no deposit yet, or none any more?"""
    if task.command_id != command.id:
        return False
    if is_again(command):
        return task.status in IN_HAND and task.escrowed_at is None
    return bool(task.status == "unfunded")


def is_again(command: Command) -> bool:
    """Does it fund an order anew that was sent long ago?"""
    return bool(command.arguments.get("again"))


def drop(command: Command, task_id: str) -> bool:
    """Abandon the terms of a hot wallet that nothing can come of, so that others are made."""
    db.lock(Task.select(Task.number).where(Task.id == task_id))
    last = escrows.newest(task_id)
    mine = last is not None and last.command_id == command.id and last.wallet_id is not None
    return bool(last is not None and mine and _let_go(last))


def _let_go(last: Escrow) -> bool:
    """Abandon planned terms if they can never be mined."""
    if last.status != "planned":
        return False
    if escrows.give_up_unsigned(last.id):
        return True
    if escrows.may_be_mined(last):
        return False
    escrows.abandon(last)
    return True


def give_up(command: Command, refusal: Refused) -> bool:
    """Leave the order as it was before it was sent; False while its deposit is on its way.

    The refusal is kept with the command, for whoever goes on when this one dies.
    """
    again = is_again(command)
    gig, task, _ = order_terms.hold(str(command.gig_id), command.arguments["task_id"], alone=again)
    if not is_mine(command, task):
        return False
    last = escrows.newest(task.id)
    sent = None if last is None or last.status != "planned" else escrows.transaction_of(last)
    if sent is not None and sent.status in ("sent", "succeeded"):
        return False
    if again:
        if last is not None and last.status == "planned" and not _let_go(last):
            return False
        lose(gig, task)
    elif last is not None and last.status == "open":
        move(task, "unpublish")
        refusal.details["funded"] = refusal.code != "state_mismatch"
    else:
        if last is not None and not _let_go(last) and refusal.code == CANCELLED:
            # Nobody can send what was signed, and another signature for the same id is no better.
            take(Escrow, last.id, "abandon", ended_at=clock.now())
        _undo(task)
    Command.update(error=refusal.as_dict()).where(Command.id == command.id).execute()
    events.append(
        "task.not_funded",
        events.Subject("task", task.id),
        actor="chain",
        gig_id=task.gig_id,
        data={"reason": refusal.code, "error": refusal.message},
    )
    return True


def _undo(task: Task) -> None:
    """A draft again; or what it was, an undone order, with what was paid for that."""
    if task.order_withdrawn_at is None:
        move(task, "unpublish", **_NOTHING)
        return
    move(task, "unsend", **_NOTHING)
    bought = Purchase.select().where(Purchase.task_id == task.id)
    for purchase in bought.order_by(Purchase.number.desc()):
        before = Escrow.get_or_none(Escrow.id == purchase.deposit_id)
        if before is not None and before.status in ("refunded", "reclaimed"):
            order_attempts.attempt(task, before, purchase.minimum_units)
            return


def lose(gig: Gig, task: Task) -> None:
    """Undo a locked order of a locked gig that nobody can be paid for any more (O-05)."""
    order_undoing.undo(gig, task, RECONCILER, "chain", LOST)
