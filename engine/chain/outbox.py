"""Signed transactions as rows, and handing them to the node. What is sent was stored before."""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from engine import clock
from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable
from engine.chain.fees import Bid
from engine.chain.keys import Call, Key, Transaction, unsigned
from engine.db import db
from engine.ids import new_id
from engine.models.chain import ChainAttempt, ChainTransaction, Signer

log = structlog.get_logger()


@dataclass(frozen=True)
class Plan:
    """All of a transaction but its nonce, as the node was asked before the database is written."""

    chain_id: int
    call: Call
    gas: int
    bid: Bid
    head_block: int


def lock(address: str) -> Signer:
    """The signer's row until the transaction ends; only inside `db.write`.

    Whoever holds it alone gives out nonces and signs for this address.
    """
    Signer.insert(address=address, next_nonce=0).on_conflict_ignore().execute()
    signer: Signer = db.lock(Signer.select().where(Signer.address == address))[0]
    return signer


def store(
    chain: Chain, key: Key, intent: str, nonce: int, plan: Plan
) -> tuple[ChainTransaction, ChainAttempt]:
    """Sign and store a transaction; only under the signer's lock."""
    row = ChainTransaction.create(
        id=new_id("CTX"),
        intent=intent,
        signer=key.address,
        nonce=nonce,
        status="sent",
        to_address=plan.call.to,
        data="0x" + plan.call.data.hex(),
        gas=plan.gas,
        created_at=clock.now(),
    )
    return row, store_in(chain, key, row, nonce, plan)


def store_in(chain: Chain, key: Key, row: ChainTransaction, nonce: int, plan: Plan) -> ChainAttempt:
    """Sign and store a form of this transaction for a place; only under the signer's lock."""
    fields = Transaction(
        chain_id=plan.chain_id,
        nonce=nonce,
        call=plan.call,
        gas=plan.gas,
        max_fee_per_gas_wei=plan.bid.max_fee_wei,
        priority_fee_wei=plan.bid.priority_fee_wei,
    )
    return _attempt(chain, key, row.id, fields, plan.head_block)


def store_again(
    chain: Chain, key: Key, old: ChainAttempt, bid: Bid, head_block: int
) -> ChainAttempt:
    """Sign the same thing with other fees and store it; only under the signer's lock."""
    fields = replace(
        unsigned(old.raw_hex),
        max_fee_per_gas_wei=bid.max_fee_wei,
        priority_fee_wei=bid.priority_fee_wei,
    )
    return _attempt(chain, key, old.transaction_id, fields, head_block)


def _attempt(
    chain: Chain, key: Key, transaction_id: str, fields: Transaction, head_block: int
) -> ChainAttempt:
    tx_hash, raw_hex = chain.sign(key.private_key, fields)
    return ChainAttempt.create(
        tx_hash=tx_hash,
        transaction_id=transaction_id,
        raw_hex=raw_hex,
        max_fee_wei=str(fields.max_fee_per_gas_wei),
        priority_fee_wei=str(fields.priority_fee_wei),
        head_block=head_block,
        created_at=clock.now(),
    )


def attempts(transaction_id: str) -> list[ChainAttempt]:
    """Every signed form, the newest first."""
    with db.reading():
        query = ChainAttempt.select().where(ChainAttempt.transaction_id == transaction_id)
        return sorted(query, key=lambda one: (one.created_at, int(one.max_fee_wei)), reverse=True)


def places(transaction_id: str) -> set[int]:
    """The nonces that it was signed for: more than one where it was sent again in another place."""
    return {unsigned(one.raw_hex).nonce for one in attempts(transaction_id)}


def in_place(row: ChainTransaction) -> list[ChainAttempt]:
    """The signed forms of the place that it has now, the newest first: no others are sent again."""
    return [one for one in attempts(row.id) if unsigned(one.raw_hex).nonce == row.nonce]


def broadcast(chain: Chain, attempt: ChainAttempt) -> bool:
    """Hand it to the node; says whether the node took it.

    Whatever it answers is a hint: the transaction may be on its way all the same.
    """
    about = {"transaction": attempt.transaction_id, "tx_hash": attempt.tx_hash}
    try:
        answer = chain.broadcast(attempt.raw_hex)
    except ChainUnavailable as error:
        log.warning("chain.broadcast_unanswered", error=str(error), **about)
        return False
    if answer.error is not None:
        log.info("chain.broadcast_answer", answer=answer.error, **about)
    return answer.error is None
