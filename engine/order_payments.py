"""How an order is paid for, as its buyer says it: the command that `order_funding.py` carries out.

All of it only inside `db.write`, with the order locked and yet to be sent.
"""

from __future__ import annotations

from typing import Any

from engine import commands, escrow_relay, gigs, install, order_attempts, order_terms, signers
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.task import Task
from engine.models.wallet import Wallet
from engine.moves import move

KIND = "order.publish"


def begin(gig: Gig, task: Task, wallet: Wallet, amount_units: int) -> Command:
    """The order is funded from a held hot wallet of its buyer's, and sent.

    Where the install pays for gas, the operator sends the deposit, so many a day (O-10).
    """
    settings = install.current().settings
    return _record(
        task,
        wallet_id=wallet.id,
        amount_units=amount_units,
        minimum_units=gig.list_price_units,
        sponsored=bool(
            settings.SPONSOR_GAS
            and settings.OPERATOR_KEY
            and escrow_relay.has_gas(str(task.client_id))
        ),
    )


def begin_signed(task: Task, escrow: Escrow, signature: str) -> Command:
    """The order is funded by what its buyer has signed elsewhere for these planned terms.

    400 `below_list_price` where the shop has become dearer since they were quoted.
    """
    gig = gigs.get(task.gig_id)
    order_terms.require_amount(gig, escrow.amount_units)
    signers.settler()
    escrow_relay.require_gas(str(task.client_id))
    command = _record(task, deposit_id=escrow.id, minimum_units=gig.list_price_units)
    escrow_relay.keep(escrow, signature)
    # What was sent before, and came to nothing, may be sent again.
    sets = {"command_id": command.id, "chain_transaction_id": None}
    Escrow.update(**sets).where(Escrow.id == escrow.id).execute()
    order_attempts.attempt(task, escrow, command.arguments["minimum_units"])
    return command


def finish(task: Task, escrow: Escrow) -> Command:
    """The order's deposit is open; it only has to be handed over."""
    return _record(task, deposit_id=escrow.id, minimum_units=task.funded_minimum_units)


def _record(task: Task, **arguments: Any) -> Command:
    command = commands.record(
        KIND,
        {"task_id": task.id, **arguments},
        account_id=task.client_id,
        gig_id=task.gig_id,
    )
    move(task, "publish_unfunded", command_id=command.id)
    return command


def begin_again(task: Task, lost: Escrow) -> Command:
    """The deposit of an order that was sent is made anew, on the terms that it had."""
    arguments = {
        "task_id": task.id,
        "wallet_id": lost.wallet_id,
        "amount_units": lost.amount_units,
        "minimum_units": task.funded_minimum_units,
        "rate_bps": lost.fee_bps,
        "again": True,
    }
    command = commands.record(KIND, arguments, account_id=task.client_id, gig_id=task.gig_id)
    Task.update(command_id=command.id).where(Task.id == task.id).execute()
    return command
