"""Deposits that the operator sends for their depositor, who has signed them (EIP-3009, O-10).

What is signed is the deposit itself: its id is the authorization's nonce, so whoever sends it can
change nothing, and it is taken once. It is good until the terms expire.
"""

from __future__ import annotations

from typing import Any

from engine import clock, counters, escrows, install, signers
from engine.chain import sender
from engine.chain.errors import OutOfGas
from engine.chain.keys import Key, sign_typed_data
from engine.chain.sender import Stored
from engine.counters import Limit
from engine.db import db
from engine.errors import Refused
from engine.models.chain import ChainTransaction
from engine.models.escrow import Escrow

DAY_SECONDS = 24 * 60 * 60
VALID_AFTER = 0


def has_gas(account_id: str) -> bool:
    """Count one more deposit that the operator sends for this account; may it be sent today?"""
    most = install.current().settings.SPONSOR_GAS_DAILY
    return counters.hit(Limit("gas", most, DAY_SECONDS), account_id).count <= most


def require_gas(account_id: str) -> None:
    """The same, refused with 429 `rate_limited`."""
    most = install.current().settings.SPONSOR_GAS_DAILY
    counters.check(counters.hit(Limit("gas", most, DAY_SECONDS), account_id))


def typed_data(escrow: Escrow) -> dict[str, Any]:
    """What the depositor signs (EIP-712); asks the node for the token's domain."""
    terms = escrows.terms_of(escrow)
    return install.treasury().deposit_typed_data(terms, VALID_AFTER, valid_before(escrow))


def valid_before(escrow: Escrow) -> int:
    """Seconds since 1970."""
    return int(escrow.expires_at) // clock.SECOND


def sign(escrow: Escrow, key: Key) -> None:
    """Sign for a hot wallet, once, before anything is sent."""
    signature = sign_typed_data(key.private_key, typed_data(escrow))
    db.write(lambda: keep(escrow, signature))


def keep(escrow: Escrow, signature: str) -> None:
    """Store the depositor's signature with the terms; only inside `db.write`.

    A later one takes the place of one that nothing of ours is on its way with.
    """
    authorization = {
        "signature": signature,
        "valid_after": VALID_AFTER,
        "valid_before": valid_before(escrow),
    }
    idle = Escrow.chain_transaction_id.is_null() | Escrow.chain_transaction_id.in_(
        ChainTransaction.select(ChainTransaction.id).where(
            ChainTransaction.status.in_(["reverted", "replaced"])
        )
    )
    Escrow.update(authorization=authorization).where(
        Escrow.id == escrow.id,
        Escrow.status == "planned",
        Escrow.authorization.is_null() | idle,
    ).execute()


def send(escrow: Escrow, store: Any) -> ChainTransaction:
    """Send it from the operator's key; `store` as in `escrow_funding`. CallReverted as always.

    A command sends it once. A later one may again, if that came to nothing: only one can open it.
    """
    treasury, signed = install.treasury(), escrow.authorization or {}
    call = treasury.deposit_with_authorization(
        escrows.terms_of(escrow),
        signed["valid_after"],
        signed["valid_before"],
        signed["signature"],
    )
    intent = f"escrow:{escrow.id}:{escrow.command_id}"
    stored: Stored = lambda row: store(escrow, row)  # noqa: E731
    try:
        return sender.send(treasury.chain, signers.settler(), intent, call, stored)
    except OutOfGas as error:
        raise Refused(
            "chain_unreadable",
            "The operator of this install has no gas left to send your deposit. Nothing was sent; "
            "publish again later.",
        ) from error
