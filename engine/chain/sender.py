"""One way to send a transaction: intent, nonce, signature and bytes are rows before they leave.

A crash after any line leaves a row from which the next step follows: what was stored and perhaps
never sent is sent again, byte for byte, and the chain's own record decides what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from engine import clock
from engine.chain.client import Call, Chain, Transaction
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.ids import new_id
from engine.models.chain import UNDERWAY, ChainAttempt, ChainTransaction, Signer
from engine.moves import take

# The estimate is of the state as it is; a fifth more leaves room for what comes in between.
GAS_PERCENT = 120
# A transaction that the node has not heard of this long after it was stored is sent again.
RESEND_MS = 5_000

log = structlog.get_logger()

Stored = Callable[[ChainTransaction], None]


@dataclass(frozen=True)
class Key:
    """Who signs. The private key never leaves this room and is never logged."""

    address: str
    private_key: str

    def __repr__(self) -> str:
        return f"Key({self.address})"


def find(intent: str) -> ChainTransaction | None:
    with db.reading():
        return ChainTransaction.get_or_none(ChainTransaction.intent == intent)


def hash_of(transaction: ChainTransaction) -> str:
    """The hash to show: of the newest signed form."""
    with db.reading():
        attempt = (
            ChainAttempt.select()
            .where(ChainAttempt.transaction_id == transaction.id)
            .order_by(ChainAttempt.created_at.desc())
            .first()
        )
    return str(attempt.tx_hash)


def send(chain: Chain, key: Key, intent: str, call: Call, stored: Stored) -> ChainTransaction:
    """Send a call once for its intent, however often this is called.

    `stored` runs in the transaction that stores the signed bytes, so what it writes is true
    exactly if the bytes exist. CallReverted when the call would revert (nothing was stored then);
    ChainUnavailable when the node did not answer before that.
    """
    known = find(intent)
    if known is not None:
        return known
    gas = chain.estimate_gas(key.address, call) * GAS_PERCENT // 100
    max_fee_wei, priority_fee_wei = chain.fees()
    mined = chain.nonce(key.address)
    chain_id = chain.chain_id()

    def write() -> tuple[ChainTransaction, str | None]:
        Signer.insert(address=key.address, next_nonce=0).on_conflict_ignore().execute()
        signer = db.lock(Signer.select().where(Signer.address == key.address))[0]
        # Under the signer's lock nobody else can have stored this intent since the look above.
        again = ChainTransaction.get_or_none(ChainTransaction.intent == intent)
        if again is not None:
            return again, None
        nonce = max(signer.next_nonce, mined)
        tx_hash, raw_hex = chain.sign(
            key.private_key,
            Transaction(
                chain_id=chain_id,
                nonce=nonce,
                call=call,
                gas=gas,
                max_fee_per_gas_wei=max_fee_wei,
                priority_fee_wei=priority_fee_wei,
            ),
        )
        row = ChainTransaction.create(
            id=new_id("CTX"),
            intent=intent,
            signer=key.address,
            nonce=nonce,
            status="sent",
            to_address=call.to,
            data="0x" + call.data.hex(),
            gas=gas,
            created_at=clock.now(),
        )
        ChainAttempt.create(
            tx_hash=tx_hash,
            transaction_id=row.id,
            raw_hex=raw_hex,
            max_fee_wei=str(max_fee_wei),
            priority_fee_wei=str(priority_fee_wei),
            created_at=clock.now(),
        )
        Signer.update(next_nonce=nonce + 1).where(Signer.address == key.address).execute()
        stored(row)
        return row, raw_hex

    row, raw_hex = db.write(write)
    if raw_hex is not None:
        _broadcast(chain, row.id, raw_hex)
    return row


def _broadcast(chain: Chain, transaction_id: str, raw_hex: str) -> None:
    """Whatever the node answers is a hint: the transaction may be on its way all the same."""
    try:
        answer = chain.broadcast(raw_hex)
    except ChainUnavailable as error:
        log.warning("chain.broadcast_unanswered", transaction=transaction_id, error=str(error))
        return
    if answer.error is not None:
        log.info("chain.broadcast_answer", transaction=transaction_id, answer=answer.error)


def has_open() -> bool:
    """Is anything of ours on its way?"""
    with db.reading():
        return bool(ChainTransaction.select().where(UNDERWAY).exists())


def follow(chain: Chain, final_block: int, reverted: Stored) -> set[str]:
    """See what became of what was sent, up to and including `final_block`.

    `reverted` runs in the transaction that marks a mined revert. Answers the ids of transactions
    that came to an end.
    """
    with db.reading():
        waiting = list(
            ChainTransaction.select()
            .where(UNDERWAY)
            .order_by(ChainTransaction.signer, ChainTransaction.nonce)
        )
    return {row.id for row in waiting if _follow_one(chain, row, final_block, reverted)}


def _follow_one(chain: Chain, row: ChainTransaction, final_block: int, reverted: Stored) -> bool:
    with db.reading():
        attempts = list(ChainAttempt.select().where(ChainAttempt.transaction_id == row.id))
    for attempt in attempts:
        receipt = chain.receipt(attempt.tx_hash)
        if receipt is None:
            continue
        if receipt.block_number > final_block:
            return False
        verb = "succeed" if receipt.status == 1 else "revert"
        return db.write(lambda: _end(row, verb, receipt.block_number, reverted))  # noqa: B023
    if clock.now() - row.created_at > RESEND_MS:
        for attempt in attempts:
            if not chain.transaction_known(attempt.tx_hash):
                _broadcast(chain, row.id, attempt.raw_hex)
    return False


def _end(row: ChainTransaction, verb: str, block_number: int, reverted: Stored) -> bool:
    sets = {"block_number": block_number, "finished_at": clock.now()}
    if not take(ChainTransaction, row.id, verb, **sets):
        return False
    if verb == "revert":
        reverted(row)
    return True
