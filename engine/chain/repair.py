"""Helping along what no block has taken: sent again, offered more for, or freed of a gap.

A lease per signer saves processes from doing the same at once; that each thing is done once is kept
by the signer's lock and by the rows that are read again under it.
"""

from __future__ import annotations

import os
import socket

import structlog

from engine import clock, install, leases, signers
from engine.chain import gaps, outbox
from engine.chain.client import Chain
from engine.chain.fees import Bid, ceiling_wei, higher_bid, market
from engine.chain.keys import Key, unsigned
from engine.db import db
from engine.models.chain import ChainAttempt, ChainTransaction

# A transaction that the node has not heard of this long after it was stored is sent again.
RESEND_MS = 5_000
LEASE_SECONDS = 5
# So many blocks must have left it lying before its fee is to blame, and not a chain that stands.
BLOCKS_PASSED = 2

log = structlog.get_logger()


def repair(chain: Chain, address: str, rows: list[ChainTransaction], mined: int) -> None:
    """`rows`: all open ones of this signer that are not mined, by nonce; `mined`: its count."""
    if clock.now() - min(row.created_at for row in rows) < RESEND_MS:
        return
    if not leases.hold(f"signer:{address}", _holder(), LEASE_SECONDS):
        return
    for row in rows:
        if clock.now() - row.created_at >= RESEND_MS:
            _send_again(chain, row)
    if rows[0].nonce > mined:
        gaps.close(chain, address, mined, rows[0].nonce)
    else:
        gaps.forget(address)
        _bump(chain, address, rows)


def _holder() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _send_again(chain: Chain, row: ChainTransaction) -> None:
    """See that the node has the newest form of it that it will take."""
    for attempt in outbox.in_place(row):
        if chain.transaction_known(attempt.tx_hash) or outbox.broadcast(chain, attempt):
            return


def _bump(chain: Chain, address: str, rows: list[ChainTransaction]) -> None:
    """Offer more for the lowest nonce if it is stuck, and for those behind it that are too cheap.

    Whatever is behind the lowest waits for that one first, so only too low a fee is held
    against it.
    """
    head = chain.block_number()
    if not _is_stuck(outbox.attempts(rows[0].id)[0], head):
        return
    key = signers.key_of(address)
    if key is None:
        return
    now = market(chain)
    for row in rows:
        old = outbox.attempts(row.id)[0]
        is_cheap = int(old.max_fee_wei) < now.enough_wei
        if row.id != rows[0].id and not (is_cheap and _is_stuck(old, head)):
            continue
        bid = higher_bid(Bid(int(old.max_fee_wei), int(old.priority_fee_wei)), now)
        about = {"transaction": row.id, "signer": address, "nonce": row.nonce}
        if bid is None:
            log.warning("chain.fee_at_ceiling", ceiling_wei=ceiling_wei(), **about)
        elif not _can_pay(chain, address, old, bid):
            log.warning("signer.gas_low", max_fee_wei=bid.max_fee_wei, **about)
        else:
            attempt = raise_fee(chain, key, old, bid, head)
            if attempt is not None:
                log.info("chain.fee_raised", max_fee_wei=bid.max_fee_wei, **about)
                outbox.broadcast(chain, attempt)


def _is_stuck(attempt: ChainAttempt, head: int) -> bool:
    waited = clock.now() - attempt.created_at
    if waited < install.current().settings.BUMP_SECONDS * clock.SECOND:
        return False
    return attempt.head_block is None or head - attempt.head_block >= BLOCKS_PASSED


def _can_pay(chain: Chain, address: str, old: ChainAttempt, bid: Bid) -> bool:
    fields = unsigned(old.raw_hex)
    cost = fields.gas * bid.max_fee_wei + fields.call.value_wei
    return chain.eth_balance_wei(address) >= cost


def raise_fee(
    chain: Chain, key: Key, old: ChainAttempt, bid: Bid, head_block: int
) -> ChainAttempt | None:
    """Store a dearer form of `old`; None when another process has, or when it is over."""

    def write() -> ChainAttempt | None:
        outbox.lock(key.address)
        row = ChainTransaction.get(ChainTransaction.id == old.transaction_id)
        if row.status != "sent" or outbox.attempts(row.id)[0].tx_hash != old.tx_hash:
            return None
        return outbox.store_again(chain, key, old, bid, head_block)

    return db.write(write)
