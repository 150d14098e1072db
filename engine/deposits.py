"""Filling a gig's pot from a hot wallet (G-06): approve once, deposit, wait until it is final."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import commands, gigs, install, wallets
from engine.chain import sender
from engine.chain.client import Call
from engine.chain.errors import CallReverted, ChainUnavailable, OutOfGas
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
DEPOSIT, APPROVAL = "deposit", "approve"
# How often what other transactions have replaced is sent again.
MOST_SENT = 3


def request(caller: Caller, gig_id: str, wallet_id: str, amount_units: int) -> Command:
    """Record a deposit into a gig's pot from a hot wallet of the caller's."""
    with db.reading():
        permit("gig.deposit", caller, gigs.get(gig_id))
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
        if gig.status != "cancelled":
            # Work in hand of a cancelled gig is still paid, so what it lacks may be put in.
            gigs.require_open(gig)
        install.treasury()
        wallets.hold(caller, wallet.id)
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
    made = _newest(DEPOSIT, command)
    with db.reading():
        wallet = Wallet.get(Wallet.id == command.arguments["wallet_id"])
    private_key = install.current().keyring.decrypt(wallet.encrypted_key or "")
    deposit = _Deposit(treasury, sender.Key(wallet.evm_address, private_key), command)
    if made is not None and made.status != "replaced":
        return _outcome(deposit, made)
    try:
        return _send(deposit, made)
    except OutOfGas as error:
        raise wallets.insufficient(wallet.evm_address, "gas") from error
    except ChainUnavailable as error:
        if made is not None or _newest(APPROVAL, command) is not None:
            raise
        raise unavailable() from error


def _newest(kind: str, command: Command) -> ChainTransaction | None:
    """The transaction of a kind for this command, which is refused if it was replaced too often."""
    sent = sender.find_last(f"{kind}:{command.id}", MOST_SENT)
    if sent is None or sent.status != "replaced" or sender.times_sent(sent) < MOST_SENT:
        return sent
    raise Refused(
        "deposit_failed",
        "Other transactions took this deposit's place, so no money moved. The wallet's key may be "
        "used outside of this install.",
    )


def _send(deposit: _Deposit, replaced: ChainTransaction | None) -> commands.Outcome:
    treasury, address = deposit.treasury, deposit.key.address
    if treasury.allowance_units(address) < deposit.units:
        approval = _newest(APPROVAL, deposit.command)
        if approval is not None and approval.status == "reverted":
            raise Refused("deposit_failed", f"The token refused the approval: {approval.failure}")
        if approval is None or approval.status == "replaced":
            _require_balances(deposit)
            _transact(deposit, APPROVAL, approval, treasury.approve(ALLOWANCE_UNITS))
        return commands.Wait(LOOK_AGAIN_SECONDS)
    _require_balances(deposit)
    call = treasury.deposit(str(deposit.command.gig_id), deposit.units)
    return _outcome(deposit, _transact(deposit, DEPOSIT, replaced, call))


def _transact(
    deposit: _Deposit, kind: str, replaced: ChainTransaction | None, call: Call
) -> ChainTransaction:
    chain, key, intent = deposit.treasury.chain, deposit.key, f"{kind}:{deposit.command.id}"
    try:
        if replaced is not None:
            return sender.send_again(chain, key, replaced, lambda _: None)
        return sender.send(chain, key, intent, call, lambda _: None)
    except CallReverted as error:
        _require_usdc(deposit)
        raise Refused("deposit_failed", f"The chain refuses the deposit: {error.reason}") from error


def _require_balances(deposit: _Deposit) -> None:
    wallets.require_balances(deposit.treasury, deposit.key.address, deposit.units, GAS_NEEDED)


def _require_usdc(deposit: _Deposit) -> None:
    """402 for what was refused because others, at the same time, had emptied the wallet."""
    wallets.require_balances(deposit.treasury, deposit.key.address, deposit.units, 0)


def _outcome(deposit: _Deposit, sent: ChainTransaction) -> commands.Outcome:
    if sent.status in ("sent", "replaced"):
        return commands.Wait(LOOK_AGAIN_SECONDS)
    if sent.status == "reverted":
        _require_usdc(deposit)
        raise Refused(
            "deposit_failed",
            "The deposit was mined but the contract refused it, so no money moved. "
            "Check the wallet's balance and deposit again.",
        )
    available, _ = gigs.funds(gigs.get(str(deposit.command.gig_id)))
    result: dict[str, Any] = {
        "tx_hash": sender.hash_of(sent),
        "available_funds": money.to_dollars(available),
    }
    return commands.Done(result)
