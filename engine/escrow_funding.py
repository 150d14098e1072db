"""Putting a named deposit in: approve once, deposit, wait until it is final.

From a hot wallet its own key does that. What its depositor has signed for the operator sends.

Each step finds by the escrow's row what was signed before, so it may be taken again, at once, and
may stop after any line.
"""

from __future__ import annotations

from engine import escrow_relay, escrows, install, wallets
from engine.chain import sender
from engine.chain.errors import CallReverted, ChainUnavailable, OutOfGas
from engine.chain.sender import Key
from engine.chain.treasury import Treasury
from engine.db import db
from engine.errors import Refused
from engine.models.chain import ChainTransaction
from engine.models.escrow import Escrow
from engine.models.wallet import Wallet

# The allowance is given once and for good: the contract takes only what its caller deposits.
ALLOWANCE_UNITS = 2**256 - 1
# Gas of an approval and a deposit, with room: what a wallet must be able to pay before we begin.
GAS_NEEDED = 300_000
CANCELLED = "authorization_cancelled"


def advance(deposit_id: str) -> bool:
    """One step; True once the deposit is open, and final.

    Refused when it came to nothing: `insufficient_funds` with `short`, `fee_moved`,
    `authorization_cancelled`, `deposit_failed`, or `chain_unavailable` before anything was sent.
    Nothing of it can be mined then, so whoever tries again gets new terms where these are no good.
    """
    escrow = escrows.get(deposit_id)
    if escrow.status != "planned":
        if escrow.status in escrows.OVER:
            raise Refused("deposit_failed", "The deposit has gone back. Send it again.")
        return True
    sent = escrows.transaction_of(escrow)
    if sent is not None:
        if sent.status in ("reverted", "replaced"):
            raise _why(escrow, sent.failure or "the transaction did not go through.")
        return False
    try:
        if escrow.authorization is None:
            _send(escrow)
        else:
            escrow_relay.send(escrow, store)
    except CallReverted as error:
        raise _why(escrow, error.reason) from error
    except OutOfGas as error:
        raise wallets.insufficient(escrow.depositor, "gas") from error
    except ChainUnavailable as error:
        raise unavailable() from error
    return False


def unavailable() -> Refused:
    return Refused(
        "chain_unavailable",
        "The chain does not answer, and nothing was deposited. Try again shortly.",
    )


def _send(escrow: Escrow) -> None:
    treasury, key = install.treasury(), key_of(escrow)
    if not _allowed(treasury, key, escrow):
        return
    wallets.require_balances(treasury, escrow.depositor, escrow.amount_units, GAS_NEEDED)
    call = treasury.deposit_for(escrows.terms_of(escrow))
    # The contract knows each id once, and so do we.
    intent = f"escrow:{escrow.id}"
    sender.send(treasury.chain, key, intent, call, lambda row: store(escrow, row))


def store(escrow: Escrow, row: ChainTransaction) -> None:
    """Note the signed deposit; takes the signature with it if the terms were given up meanwhile."""
    noted = Escrow.update(chain_transaction_id=row.id, failure=None).where(
        Escrow.id == escrow.id, Escrow.status == "planned"
    )
    if not noted.execute():
        raise Refused("deposit_failed", "These terms were given up meanwhile. Send it again.")


def _allowed(treasury: Treasury, key: Key, escrow: Escrow) -> bool:
    """May the contract take the amount? If not, give the allowance, or wait until it is mined."""
    if treasury.allowance_units(key.address) >= escrow.amount_units:
        return True
    wallets.require_balances(treasury, key.address, escrow.amount_units, GAS_NEEDED)
    given = sender.find(f"allow:{treasury.address}:{key.address}")
    if given is not None and given.status == "sent":
        return False
    # Where the first came to nothing, or was used up, each deposit may give another.
    intent = f"allow:{treasury.address}:{key.address}" if given is None else f"allow:{escrow.id}"
    sender.send(treasury.chain, key, intent, treasury.approve(ALLOWANCE_UNITS), lambda _: None)
    return False


def key_of(escrow: Escrow) -> Key:
    """The depositor's key, of a hot wallet."""
    with db.reading():
        wallet = Wallet.get(Wallet.id == escrow.wallet_id)
    private_key = install.current().keyring.decrypt(wallet.encrypted_key or "")
    return Key(wallet.evm_address, private_key)


def _is_cancelled(treasury: Treasury, escrow: Escrow) -> bool:
    """Is the signature used up, though the deposit is not there?"""
    if escrow.authorization is None:
        return False
    used = treasury.authorization_used(escrow.depositor, escrow.id)
    return used and treasury.deposit_on_chain(escrow.id).state == "none"


def _at_new_fee(escrow: Escrow) -> str:
    """What its sender does; an outside wallet has signed the old rate."""
    return "Send this again" if escrow.wallet_id is not None else "Sign another quote"


def _why(escrow: Escrow, reason: str) -> Refused:
    """Why the contract would not take the deposit, as whoever sent it can act on it."""
    treasury = install.treasury()
    now_bps = treasury.fee_bps()
    if now_bps != escrow.fee_bps:
        return Refused(
            "fee_moved",
            f"The platform's fee has just changed from {escrow.fee_bps} to {now_bps} basis points, "
            f"and nothing was deposited. {_at_new_fee(escrow)} to pay the new one.",
            fee_bps=now_bps,
        )
    if _is_cancelled(treasury, escrow):
        return Refused(
            CANCELLED,
            "The token takes no authorization of these terms any more: its signer cancelled it, or "
            "used it for something else. Nothing was deposited; ask for another quote.",
        )
    gas = GAS_NEEDED if escrow.authorization is None else 0
    short = wallets.shortage(treasury, escrow.depositor, escrow.amount_units, gas)
    if short:
        return wallets.insufficient(escrow.depositor, *short)
    return Refused("deposit_failed", f"The chain refuses the deposit: {reason}")
