"""Filling a gig's pot from a hot wallet (G-06): approve once, deposit, wait until it is final."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import commands, gigs, install, wallets
from engine.chain import sender
from engine.chain.client import Call
from engine.chain.errors import CallReverted, ChainUnavailable
from engine.chain.treasury import Treasury
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.wallet import Wallet
from engine.operations import Caller, permit
from engine.rules import money
from engine.settlement import unavailable

KIND = "gig.deposit"
# The allowance is given once and for good: the contract takes only what its caller deposits.
ALLOWANCE_UNITS = 2**256 - 1
# Gas of an approval and a deposit, with room: what a wallet must be able to pay before we begin.
GAS_NEEDED = 250_000
LOOK_AGAIN_SECONDS = 1.0


def request(caller: Caller, gig_id: str, wallet_id: str, amount_units: int) -> Command:
    """Record a deposit into a gig's pot from a hot wallet of the caller's."""
    if amount_units <= 0:
        raise invalid("amount", "give more than 0")
    if amount_units != money.floor_to_cent(amount_units):
        raise invalid("amount", "give whole cents", code="fractional_cents")
    wallet = wallets.get(caller, wallet_id)
    if not wallet.is_hot_wallet:
        raise invalid("wallet_alias_id", "this needs a hot wallet, whose key is kept here")

    def write() -> Command:
        gig = gigs.get(gig_id)
        permit("gig.deposit", caller, gig)
        gigs.require_open(gig)
        install.treasury()
        return commands.record(
            KIND,
            {"wallet_id": wallet.id, "amount_units": amount_units},
            account_id=caller.account_id,
            gig_id=gig.id,
        )

    return db.write(write)


@dataclass(frozen=True)
class _Deposit:
    treasury: Treasury
    key: sender.Key
    command: Command

    @property
    def units(self) -> int:
        return int(self.command.arguments["amount_units"])


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step towards a final deposit; each finds by its intent what was sent before."""
    treasury = install.treasury()
    sent = sender.find(f"deposit:{command.id}")
    if sent is not None:
        return _outcome(command, sent)
    with db.reading():
        wallet = Wallet.get(Wallet.id == command.arguments["wallet_id"])
    private_key = install.current().keyring.decrypt(wallet.encrypted_key or "")
    deposit = _Deposit(treasury, sender.Key(wallet.evm_address, private_key), command)
    approval = sender.find(f"approve:{command.id}")
    try:
        return _send(deposit, approval)
    except ChainUnavailable as error:
        if approval is not None:
            raise
        raise unavailable() from error


def _send(deposit: _Deposit, approval: ChainTransaction | None) -> commands.Outcome:
    treasury, address = deposit.treasury, deposit.key.address
    if treasury.allowance_units(address) < deposit.units:
        if approval is not None:
            return commands.Wait(LOOK_AGAIN_SECONDS)
        _require_balances(deposit)
        _transact(deposit, f"approve:{deposit.command.id}", treasury.approve(ALLOWANCE_UNITS))
        return commands.Wait(LOOK_AGAIN_SECONDS)
    _require_balances(deposit)
    gig_id = str(deposit.command.gig_id)
    call = treasury.deposit(gig_id, deposit.units)
    return _outcome(deposit.command, _transact(deposit, f"deposit:{deposit.command.id}", call))


def _transact(deposit: _Deposit, intent: str, call: Call) -> ChainTransaction:
    try:
        return sender.send(deposit.treasury.chain, deposit.key, intent, call, lambda _: None)
    except CallReverted as error:
        raise Refused("deposit_failed", f"The chain refuses the deposit: {error.reason}") from error


def _require_balances(deposit: _Deposit) -> None:
    """402 with what is short, before anything is sent."""
    chain, address = deposit.treasury.chain, deposit.key.address
    max_fee_wei, _ = chain.fees()
    short = []
    if deposit.treasury.usdc_units(address) < deposit.units:
        short.append("usdc")
    if chain.eth_balance_wei(address) < GAS_NEEDED * max_fee_wei:
        short.append("gas")
    if short:
        raise Refused(
            "insufficient_funds",
            f"The wallet {address} is short of {' and '.join(short)}. Fund it and deposit again; "
            "nothing was sent.",
            short=short,
        )


def _outcome(command: Command, sent: ChainTransaction) -> commands.Outcome:
    if sent.status == "sent":
        return commands.Wait(LOOK_AGAIN_SECONDS)
    if sent.status == "reverted":
        raise Refused(
            "deposit_failed",
            "The deposit was mined but the contract refused it, so no money moved. "
            "Check the wallet's balance and deposit again.",
        )
    available, _ = gigs.funds(gigs.get(str(command.gig_id)))
    result: dict[str, Any] = {
        "tx_hash": sender.hash_of(sent),
        "available_funds": money.to_dollars(available),
    }
    return commands.Done(result)
