"""Putting in the deposit of an order that its buyer sends: the command "order.publish" (O-02).

The order is `unfunded` from the transaction that records the command on. The deposit's terms are a
row before anything is signed; once the chain says that it is open, the order is handed over in that
very transaction (`order_deposits.py`). What comes to nothing leaves the order as it was, and the
refusal says so.
"""

from __future__ import annotations

from engine import (
    commands,
    escrow_events,
    escrow_funding,
    escrow_relay,
    escrows,
    install,
    order_attempts,
    order_deposits,
    order_payments,
    order_terms,
    order_unsending,
    wallets,
)
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.errors import Refused
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.rollup import UNPAID, Rollup
from engine.models.task import Task
from engine.models.wallet import Wallet
from engine.order_terms import Payer

LOOK_AGAIN_SECONDS = 1.0
# What the parts below call it, and what a buyer is told.
_NAMES = {"chain_unavailable": "chain_unreadable"}


@commands.handler(order_payments.KIND)
def step(command: Command) -> commands.Outcome:
    """One step towards an order that is paid and handed over."""
    task_id = command.arguments["task_id"]
    told = order_deposits.sent_since(task_id, command.created_at)
    if told is not None:
        return commands.Done(told)
    with db.reading():
        task = Task.get(Task.id == task_id)
    again = order_unsending.is_again(command)
    if not order_unsending.is_mine(command, task):
        if again and command.error is None:
            return commands.Done({})
        raise _ended(command, task)
    try:
        _advance(command, task)
    except Refused as met:
        if met.code == "database_unavailable":
            raise
        if (
            met.code == "fee_moved"
            and not again
            and db.write(lambda: order_unsending.drop(command, task_id))
        ):
            # The buyer named an amount, and the fee comes out of that: at the rate of now.
            return commands.Wait(0)
        met.details |= {"draft_kept": not again, "message_id": task_id}
        known = _NAMES.get(met.code, met.code)
        refusal = Refused(known, met.message, errors=met.errors, **met.details)
        if db.write(lambda: order_unsending.give_up(command, refusal)):
            raise refusal from met
    return commands.Wait(LOOK_AGAIN_SECONDS)


def _ended(command: Command, task: Task) -> Refused:
    """Why the order is not being sent any more, though it was not handed over."""
    if command.error is not None:
        # Whoever gave it up died before he could say so.
        return Refused.from_dict(command.error)
    return undelivered(task)


def undelivered(task: Task) -> Refused:
    """Its deposit is open, and its vendor cannot be given it."""
    return Refused(
        "ledger_write_failed",
        "Your money is safe on chain, but the order could not be handed to its vendor. Publish it "
        "again to finish, which costs nothing more, or withdraw it to have the deposit back.",
        funded=True,
        draft_kept=True,
        message_id=task.id,
        deposit_id=task.deposit_id,
    )


def _advance(command: Command, task: Task) -> None:
    """Do what is next. Nothing is where the chain has yet to say what came of it."""
    escrow = _planned(command, task) or _plan(command, task)
    if escrow.status == "open":
        _hand_over(command, escrow)
        return
    if escrow.status != "planned":
        raise Refused(
            "deposit_failed",
            "The terms that were signed have run out or come to nothing. Ask for another quote.",
        )
    sent = escrows.transaction_of(escrow)
    if sent is None or sent.status in ("reverted", "replaced"):
        if _is_on_chain(escrow):
            return
        if sent is None and order_terms.is_mere_quote(escrow):
            raise Refused(
                "deposit_failed",
                "The deposit that was sent for this quote is not on chain any more. Send it again.",
            )
        if sent is None:
            escrow = _prepare(command, escrow)
    escrow_funding.advance(escrow.id)


def _planned(command: Command, task: Task) -> Escrow | None:
    """The deposit that was there from the start, or that an earlier step has planned."""
    named = command.arguments.get("deposit_id")
    if named is not None:
        return escrows.get(named)
    last = escrows.newest(task.id)
    mine = last is not None and last.command_id == command.id and last.status not in escrows.OVER
    return last if mine else None


def _plan(command: Command, task: Task) -> Escrow:
    rate_bps = order_terms.fee_bps()
    given = command.arguments
    with db.reading():
        wallet = Wallet.get(Wallet.id == given["wallet_id"])
        quoted = escrows.newest(task.id)
    offered = quoted is not None and order_terms.is_mere_quote(quoted)
    if quoted is not None and offered and order_terms.state_on_chain(quoted) == "open":
        # Its depositor has sent it himself, which will be booked.
        if quoted.amount_units != given["amount_units"]:
            raise order_terms.unreconciled()
        return quoted
    if rate_bps != given.get("rate_bps", rate_bps):
        raise Refused("fee_moved", "The platform's fee has changed since.", fee_bps=rate_bps)
    payer = Payer(wallet.evm_address, given["amount_units"], wallet.id)
    # Before anything is noted: what nobody could pay was never attempted.
    _require_balances(payer.address, payer.amount_units, bool(given.get("sponsored")))

    def write() -> Escrow:
        alone = order_unsending.is_again(command)
        gig, locked, _ = order_terms.hold(task.gig_id, task.id, alone=alone)
        if not order_unsending.is_mine(command, locked):
            raise Refused("in_progress", "Another request sends this order by now.")
        escrow = order_terms.plan(command, gig, locked, payer, rate_bps)
        given_up_id = locked.deposit_id
        order_attempts.attempt(locked, escrow, given["minimum_units"])
        if order_unsending.is_again(command):
            # What the deposit before was to pay, this one pays.
            unpaid = (Rollup.deposit_id == given_up_id, UNPAID)
            Rollup.update(deposit_id=escrow.id).where(*unpaid).execute()
        return escrow

    return db.write(write)


def _is_on_chain(escrow: Escrow) -> bool:
    """Is the deposit open, though we have not sent it? Then it is booked, if it was not before.

    Of one that has ended there the id is used up: 409 `deposit_id_squatted`.
    """
    state = order_terms.state_on_chain(escrow)
    if state == "none":
        return False
    if state == "open":
        db.write(lambda: escrow_events.catch_open(escrow))
        return True
    if not db.write(lambda: escrow_events.catch_ended(escrow)):
        return True
    raise Refused(
        "deposit_id_squatted",
        "The id of this deposit is used up on chain, and a fresh one is prepared. Nothing was "
        "sent: publish again.",
    )


def _prepare(command: Command, escrow: Escrow) -> Escrow:
    """See that the wallet can pay, and have it sign where the operator sends the deposit."""
    sponsored = bool(command.arguments.get("sponsored"))
    relayed = escrow.wallet_id is None or sponsored
    _require_balances(escrow.depositor, escrow.amount_units, relayed)
    if sponsored and escrow.authorization is None:
        try:
            escrow_relay.sign(escrow, escrow_funding.key_of(escrow))
        except ChainUnavailable as error:
            raise order_terms.unreadable() from error
    return escrows.get(escrow.id)


def _require_balances(address: str, units: int, relayed: bool) -> None:
    """402 where the wallet is short of it, or of gas, which somebody else pays if it is relayed."""
    try:
        gas = 0 if relayed else escrow_funding.GAS_NEEDED
        wallets.require_balances(install.treasury(), address, units, gas)
    except ChainUnavailable as error:
        raise Refused(
            "balance_unreadable",
            "The wallet's balance cannot be read from the chain just now. Nothing was sent; "
            "publish again shortly.",
        ) from error


def _hand_over(command: Command, escrow: Escrow) -> None:
    """The deposit was open before. The chain is asked once more, and the order handed over."""
    if order_terms.state_on_chain(escrow) != "open":
        raise Refused(
            "state_mismatch",
            "The chain does not hold this order's deposit as our books say. Nothing was sent; the "
            "operator has to look at it.",
        )

    def write() -> None:
        gig, task, active = order_terms.hold(escrow.gig_id, escrow.task_id)
        if (
            order_unsending.is_mine(command, task)
            and Escrow.get(Escrow.id == escrow.id).status == "open"
        ):
            order_deposits.deliver_or_keep(gig, task, escrow, active)

    db.write(write)
