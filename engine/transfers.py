"""Sending USDC out of a hot wallet (Y-06): one command, one transfer on chain.

A transfer emits no event of the Treasury's, so what became of it is read from its transaction. The
wallet's own transactions take turns: each looks at balances that nothing under way will change, so
of two that exceed them together the second is refused before it costs anything.
"""

from __future__ import annotations

from typing import Any

from engine import commands, install, wallets
from engine.chain import sender
from engine.chain.errors import CallReverted, ChainUnavailable, OutOfGas
from engine.chain.treasury import Treasury
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.chain import UNDERWAY, ChainTransaction
from engine.models.command import Command
from engine.models.wallet import Wallet
from engine.observers import on_failure
from engine.operations import Caller
from engine.settlement import unavailable

KIND = "wallet.transfer"
INTENT = "transfer:"
# A token's transfer takes 35,000 to 65,000.
GAS_NEEDED = 100_000
LOOK_AGAIN_SECONDS = 1.0
# How often a transfer is sent whose nonce another transaction has used.
MOST_SENT = 2


def request(caller: Caller, wallet_id: str, to_address: str, amount_units: int) -> Command:
    """Record a transfer; any number of base units, so that a wallet can be emptied."""
    to_address = wallets.clean_address("to_address", to_address)
    if amount_units <= 0:
        raise invalid("amount", "give more than 0")

    def write() -> Command:
        wallet = wallets.hold(caller, wallet_id)
        if not wallet.is_hot_wallet:
            raise Refused(
                "external_wallet",
                "The key of this wallet is not kept here. Send from it with your own software.",
            )
        install.treasury()
        if to_address == wallet.evm_address:
            raise invalid("to_address", "this is the wallet's own address")
        wallets.require_reachable("to_address", to_address)
        return commands.record(
            KIND,
            {"wallet_id": wallet.id, "to_address": to_address, "amount_units": amount_units},
            account_id=caller.account_id,
            gig_id=None,
        )

    return db.write(write)


class _Busy(Exception):
    """Something else of the wallet's is under way."""


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """One step towards a final transfer; each finds by its intent what was sent before."""
    treasury = install.treasury()
    sent = sender.find_last(INTENT + command.id, MOST_SENT)
    again = sent is not None and sent.status == "replaced" and sender.times_sent(sent) < MOST_SENT
    if sent is None or again:
        try:
            sent = _send(treasury, command, sent)
        except _Busy:
            return commands.Wait(LOOK_AGAIN_SECONDS)
        except ChainUnavailable as error:
            if again:
                raise
            raise unavailable() from error
    if sent.status == "sent":
        return commands.Wait(LOOK_AGAIN_SECONDS)
    if sent.status == "succeeded":
        return commands.Done({"tx_hash": sender.hash_of(sent)})
    if sent.status == "reverted":
        _require_usdc(treasury, command, sent.signer)
        raise Refused(
            "transfer_failed",
            "The transfer was mined but the token refused it, so no money moved. "
            "Check the wallet's balance and send again.",
        )
    raise Refused(
        "transfer_failed",
        "Other transactions took this transfer's place, so no money moved. Its key may be used "
        "outside of this install.",
    )


def _send(
    treasury: Treasury, command: Command, replaced: ChainTransaction | None
) -> ChainTransaction:
    with db.reading():
        wallet = Wallet.get(Wallet.id == command.arguments["wallet_id"])
        before = _count_if_quiet(wallet.evm_address, replaced)
    units = int(command.arguments["amount_units"])
    wallets.require_balances(treasury, wallet.evm_address, units, GAS_NEEDED)
    private_key = install.current().keyring.decrypt(wallet.encrypted_key or "")
    key = sender.Key(wallet.evm_address, private_key)
    call = treasury.transfer_usdc(command.arguments["to_address"], units)

    def stored(row: ChainTransaction) -> None:
        # Under the signer's lock: the balances are still those that were looked at.
        if _sent_by(row.signer).where(ChainTransaction.id != row.id).count() != before:
            raise _Busy

    try:
        if replaced is not None:
            return sender.send_again(treasury.chain, key, replaced, stored)
        return sender.send(treasury.chain, key, INTENT + command.id, call, stored)
    except OutOfGas as error:
        raise wallets.insufficient(wallet.evm_address, "gas") from error
    except CallReverted as error:
        _require_usdc(treasury, command, key.address)
        raise Refused(
            "transfer_failed", f"The chain refuses the transfer: {error.reason}"
        ) from error


def _require_usdc(treasury: Treasury, command: Command, address: str) -> None:
    """402 for what was refused because something else had emptied the wallet meanwhile."""
    wallets.require_balances(treasury, address, int(command.arguments["amount_units"]), 0)


def _count_if_quiet(address: str, but: ChainTransaction | None) -> int:
    """How many transactions the address has sent, if all of them have come to an end."""
    if _sent_by(address).where(UNDERWAY).exists():
        raise _Busy
    return int(_sent_by(address).count()) - (but is not None)


def _sent_by(address: str) -> Any:
    return ChainTransaction.select().where(ChainTransaction.signer == address)


@on_failure
def _failed(transaction: ChainTransaction) -> list[str]:
    """The command looks again: it is refused, or sends again what can never be mined."""
    if not transaction.intent.startswith(INTENT):
        return []
    return [transaction.intent.removeprefix(INTENT).partition(":")[0]]
