"""What is noted of a deposit that is attempted for an order, whatever comes of it."""

from __future__ import annotations

from engine import clock, commands, rows
from engine.models.escrow import Escrow
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.rules import order_money


def attempt(task: Task, escrow: Escrow, minimum_units: int) -> None:
    """Note with its order, and in its buyer's ledger, that this deposit is attempted.

    `minimum_units` is the shop's price. May be called again; only inside `db.write`.
    """
    split = order_money.split(escrow.amount_units, escrow.fee_bps)
    sets = {
        "deposit_id": escrow.id,
        "escrow_units": escrow.amount_units,
        "escrow_fee_bps": escrow.fee_bps,
        "price_units": split.net_units,
        "funded_minimum_units": minimum_units,
    }
    Task.update(**sets).where(Task.id == task.id).execute()
    for name, value in sets.items():
        setattr(task, name, value)
    note(escrow, str(task.client_id), minimum_units)


def note(escrow: Escrow, client_id: str, minimum_units: int) -> None:
    """The same in the buyer's ledger alone: the order has another deposit by now."""
    bought = {
        "client_id": client_id,
        "gig_id": escrow.gig_id,
        "task_id": escrow.task_id,
        "deposit_id": escrow.id,
        "minimum_units": minimum_units,
        "created_at": clock.now(),
    }
    # Tried again, it is at the price of now: the tip is told from here too.
    again = "ON CONFLICT (deposit_id) DO UPDATE SET minimum_units = excluded.minimum_units"
    rows.insert(Purchase, bought, tail=again)


def minimum_units(escrow: Escrow) -> int:
    """The shop's price when the deposit was planned, as its command has it."""
    planned = commands.peek(escrow.command_id).arguments
    return int(planned.get("minimum_units", escrow.amount_units))
