"""Fetching what the contract keeps for a hot wallet, after the token refused to give it back.

The contract gives it to the wallet that it belongs to and to nobody else, once the token allows.
"""

from __future__ import annotations

from engine import commands, install, wallets
from engine.chain import sender
from engine.chain.errors import CallReverted, ChainUnavailable, OutOfGas
from engine.db import db
from engine.errors import Refused
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.wallet import Wallet
from engine.observers import on_failure
from engine.operations import Caller
from engine.settlement import unavailable

KIND = "wallet.claim"
INTENT = "claim:"
LOOK_AGAIN_SECONDS = 1.0


def request(caller: Caller, wallet_id: str) -> Command:
    """Record that a hot wallet fetches all that is kept for it."""

    def write() -> Command:
        wallet = wallets.hold(caller, wallet_id)
        if not wallet.is_hot_wallet:
            raise Refused(
                "external_wallet",
                "The key of this wallet is not kept here. Call the contract's claim() with it.",
            )
        install.treasury()
        arguments = {"wallet_id": wallet.id}
        return commands.record(KIND, arguments, account_id=caller.account_id, gig_id=None)

    return db.write(write)


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """Send it once; a second call would find nothing to claim, so it is safe to send again."""
    sent = sender.find(INTENT + command.id)
    if sent is None:
        sent = _send(command)
    if sent.status == "sent":
        return commands.Wait(LOOK_AGAIN_SECONDS)
    if sent.status == "succeeded":
        return commands.Done({"tx_hash": sender.hash_of(sent)})
    raise Refused("claim_failed", f"Nothing was fetched: {sent.failure} Try again.")


def _send(command: Command) -> ChainTransaction:
    with db.reading():
        wallet = Wallet.get(Wallet.id == command.arguments["wallet_id"])
    treasury = install.treasury()
    private_key = install.current().keyring.decrypt(wallet.encrypted_key or "")
    key = sender.Key(wallet.evm_address, private_key)
    try:
        if treasury.claimable_units(wallet.evm_address) == 0:
            raise Refused("nothing_to_claim", "The contract keeps nothing for this wallet.")
        return sender.send(
            treasury.chain, key, INTENT + command.id, treasury.claim(), lambda _: None
        )
    except OutOfGas as error:
        raise wallets.insufficient(wallet.evm_address, "gas") from error
    except ChainUnavailable as error:
        raise unavailable() from error
    except CallReverted as error:
        raise Refused("claim_failed", f"The chain refuses it: {error.reason}") from error


@on_failure
def _failed(transaction: ChainTransaction) -> list[str]:
    """The command looks at what became of it."""
    if not transaction.intent.startswith(INTENT):
        return []
    return [transaction.intent.removeprefix(INTENT)]
