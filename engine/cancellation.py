"""Cancelling a gig for good (G-08): nothing new, work in hand goes on, the rest goes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import peewee

from engine import (
    commands,
    entries,
    escrows,
    events,
    gigs,
    install,
    ledger,
    pot_refunds,
    reconcile,
    task_escrow,
    turns,
)
from engine.db import db
from engine.models.command import UNFINISHED, Command
from engine.models.escrow import LIVE, Escrow
from engine.models.gig import Gig
from engine.models.proof import UNSETTLED, Proof
from engine.models.task import Task
from engine.moves import move
from engine.operations import Caller, permit
from engine.rules import money

KIND = "gig.cancel"
LOOK_AGAIN_SECONDS = 1.0
# Tasks that one transaction cancels.
CHUNK = 500
# Without a chain nothing is left to wait for, so this many are done at once; the sweep does more.
CHUNKS_AT_ONCE = 20
# Tasks that nobody holds and nobody has handed in.
IDLE = ("draft", "unfunded", "queued", "unassigned")
# Tasks whose work may still have to be paid, though no verdict says so.
IN_HAND = ("claimed", "submitted")


_LEFT_OVER = """
SELECT gig.id FROM gig WHERE gig.status IN ('cancelled') AND (
    EXISTS (SELECT 1 FROM queue_entry WHERE queue_entry.shelf = gig.id)
    OR EXISTS (SELECT 1 FROM task WHERE task.gig_id = gig.id AND task.status IN ('unfunded'))
    OR EXISTS (SELECT 1 FROM task WHERE task.gig_id = gig.id AND task.status IN ('draft'))
    OR EXISTS (SELECT 1 FROM task WHERE task.gig_id = gig.id
        AND task.status IN ('queued', 'unassigned')
        AND (task.availability IN ('reserved', 'view_only') OR task.status IN ('unassigned')))
) LIMIT 50
"""


@dataclass(frozen=True)
class Cancelled:
    """What became of the request: the answer's members, or the command that is still at it."""

    answer: dict[str, Any] | None = None
    command: Command | None = None


def request(caller: Caller, gig_id: str) -> Cancelled:
    """Cancel a gig; again gives back what has become free since, however often."""

    def write() -> Cancelled:
        gig = gigs.get(gig_id)
        permit("gig.cancel", caller, gig)
        gig = gigs.locked(gig.id)
        if gig.status != "cancelled":
            move(gig, "cancel", revision=Gig.revision + 1)
            events.append(
                "gig.cancelled",
                events.Subject("gig", gig.id),
                actor=caller.account_id,
                gig_id=gig.id,
            )
        if install.current().treasury is None:
            for _ in range(CHUNKS_AT_ONCE):
                if not _close_tasks(gig.id):
                    break
            return Cancelled(answer={"refund_ids": [], "kept_funds": 0})
        under_way = Command.get_or_none(UNFINISHED, Command.kind == KIND, Command.gig_id == gig.id)
        if under_way is None:
            under_way = commands.record(KIND, {}, account_id=caller.account_id, gig_id=gig.id)
        return Cancelled(command=under_way)

    return db.write(write)


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step: close what waits, decide once what goes back, send it, and wait for the chain."""
    gig_id = str(command.gig_id)
    while db.write(lambda: _close_tasks(gig_id)):
        pass
    if command.result is None:
        decided = _decide_at_cursor(command)
        if decided is None:
            return commands.Wait(0.2)
        command.result = decided
    refunds = pot_refunds.of_command(command.id)
    pot_refunds.send(refunds)
    refunds = pot_refunds.of_command(command.id)
    if any(refund.status in ("pending", "sent") for refund in refunds):
        return commands.Wait(LOOK_AGAIN_SECONDS)
    with db.reading():
        if _deposits_under_way(gig_id):
            return commands.Wait(LOOK_AGAIN_SECONDS)
        kept = ledger.free_units(gig_id) + ledger.owed_units(gig_id) + _deposited_units(gig_id)
    return commands.Done(
        {
            "refund_ids": [refund.id for refund in refunds],
            "kept_funds": money.to_dollars(kept),
        }
    )


def _close_tasks(gig_id: str) -> int:
    """Cancel some of what nobody holds, and give its deposits back; how many were looked at?"""
    gigs.locked(gig_id)
    idle = Task.status.in_(IDLE)
    waiting = Task.select(Task.number).where(Task.gig_id == gig_id, idle)
    numbers = [task.number for task in waiting.order_by(Task.number).limit(CHUNK)]
    # The entries before the tasks, as a claim takes them; what it has taken is idle no more.
    entries.hold(*numbers)
    found = db.lock(Task.select().where(Task.number.in_(numbers), idle).order_by(Task.number))
    task_escrow.close(found, "owner")
    return len(numbers)


def _deposits_under_way(gig_id: str) -> bool:
    """Is a deposit that no work needs any more on its way into the contract, or back?

    One that the chain would not give back at the last try is not waited for: it may stay so, and is
    tried again by itself.
    """
    live = LIVE & (Escrow.gig_id == gig_id)
    going_in = Escrow.select(Escrow).join(Task, on=(Task.id == Escrow.task_id))
    going_in = going_in.where(live, Escrow.status == "planned", Task.status == "cancelled")
    going_back = Escrow.select(Escrow.id).join(Command, on=(Command.id == Escrow.command_id))
    going_back = going_back.where(
        live, Escrow.status == "refunding", Escrow.failure.is_null(), UNFINISHED
    )
    return bool(going_back.exists()) or any(escrows.may_be_mined(one) for one in going_in)


def _deposited_units(gig_id: str) -> int:
    """What named deposits hold: for work in hand, or since the chain does not give it back yet."""
    held = Escrow.status.in_(("open", "refunding"))
    query = Escrow.select(*_parts(Escrow.amount_units))
    return _total(query.where(LIVE, Escrow.gig_id == gig_id, held))


def _parts(units: Any) -> tuple[Any, Any]:
    """A sum as whole dollars and what is over: many rows may come to more than 64 bits hold."""
    dollars = units / money.UNITS_PER_DOLLAR
    return peewee.fn.SUM(dollars), peewee.fn.SUM(units - dollars * money.UNITS_PER_DOLLAR)


def _total(query: Any) -> int:
    """What a query of `_parts` comes to, over all its rows."""
    found = list(query.tuples())
    dollars = sum(int(row[0] or 0) for row in found)
    return dollars * money.UNITS_PER_DOLLAR + sum(int(row[1] or 0) for row in found)


def _decide_at_cursor(command: Command) -> dict[str, Any] | None:
    """Decide on what the chain held when the books were last brought up to date.

    None when they have moved on in between, so that another look is needed.
    """
    treasury, at = install.treasury(), reconcile.cursor()
    gig_id = str(command.gig_id)
    fee_bps = treasury.fee_bps()
    funded = pot_refunds.standing_units(gig_id, at) if at >= 0 else {}
    return db.write(lambda: _decide(command, at, fee_bps, funded))


def _decide(
    command: Command, at: int, fee_bps: int, funded: dict[str, int]
) -> dict[str, Any] | None:
    # The lock that settlements take: of both, one at a time says what is free.
    gig = gigs.locked(command.gig_id)
    now: Command = db.lock(Command.select().where(Command.id == command.id))[0]
    if now.result is not None:
        result: dict[str, Any] = now.result
        return result
    if reconcile.cursor() != at:
        return None
    pot_refunds.adopt(command, gig.id)
    free = ledger.free_units(gig.id)
    spare = free - kept_aside_units(gig, fee_bps)
    parts = pot_refunds.shares(spare, pot_refunds.less_promised(gig.id, funded))
    for funder, units in parts.items():
        pot_refunds.make(command, gig.id, funder, units)
    decided: dict[str, Any] = {}
    Command.update(result=decided).where(Command.id == command.id).execute()
    return decided


def kept_aside_units(gig: Gig, fee_bps: int) -> int:
    """What no rollup carries yet and the pot may still have to pay, fee included.

    Approved work, what is disputed, what is rejected and not yet for good, and at its price what is
    held or handed in. A price to be decided counts as the gig's; what is asked for instead does
    not, since nobody has agreed to it. Tasks with a deposit of their own need nothing.
    """
    locked = peewee.fn.COALESCE(Proof.locked_price_units, gig.price_units)
    proven = (
        Proof.select(*_parts(locked))
        .join(Task, on=(Task.id == Proof.task_id))
        .where(Proof.gig_id == gig.id, UNSETTLED, Task.deposit_id.is_null())
    )
    price = peewee.fn.COALESCE(Task.held_price_units, Task.price_units, gig.price_units)
    in_hand = Task.select(*_parts(price)).where(
        Task.gig_id == gig.id, Task.status.in_(IN_HAND), Task.deposit_id.is_null()
    )
    # One statement, so that what the review timer approves meanwhile is in either part.
    gross = _total(proven + in_hand)
    # The fee of the whole is never less than the fees of the payouts that it will be.
    return gross + money.fee_on_top(gross, fee_bps)


def hold(gig_id: str, *, alone: bool = False) -> Gig:
    """A gig that a task may come back into, kept as it is for `catch`; before all other locks.

    `alone` as in `gigs.held`; a cancelled gig is held alone anyway.
    """
    gig = gigs.get(gig_id)
    # What comes back to a cancelled gig is closed, and its deposit returned, under this very lock.
    over = gig.status == "cancelled"
    gig = gigs.locked(gig_id) if over else gigs.held(gig_id, alone=alone)
    turns.hold(gig_id)
    return gig


def catch(gig: Gig, task: Task, actor: str) -> None:
    """A task that has just come back into a cancelled gig's queue is over; in `db.write`."""
    if gig.status == "cancelled" and task.status in IDLE:
        task_escrow.close([task], actor)


def sweep() -> int:
    """Close what came into a cancelled gig while it was being cancelled; rung by the scheduler."""
    with db.reading():
        found = db.rows(_LEFT_OVER)
    return sum(db.write(lambda one=gig_id: _close_tasks(one)) for (gig_id,) in found)  # type: ignore[misc]
