"""Nonces that nobody uses while ours wait behind them.

One comes about when a transaction that was sent by hand from the same key disappears again: dropped
from the pool, or with the block of a reorg. Nothing of ours is lost then, and nothing moves either.
After a while the gap is filled with a transfer of nothing to ourselves, stored like any other
transaction under an intent that exists once.
"""

from __future__ import annotations

import structlog

from engine import clock, install, signers
from engine.chain import outbox
from engine.chain.client import Chain
from engine.chain.fees import first_bid, market
from engine.chain.keys import Call, Key
from engine.db import db
from engine.models.chain import ChainAttempt, ChainTransaction
from engine.models.meta import Meta

# A foreign transaction that waits in the pool will most likely be mined. It is overtaken only after
# this many times as long: the node then keeps whichever of the two offers more. There may also be
# none, since some nodes go on counting what a reorg has taken from them.
FOREIGN_PATIENCE = 10
# Filled in one go; what is left has its turn once these are mined.
MOST = 16

log = structlog.get_logger()


def close(chain: Chain, address: str, mined: int, lowest: int) -> None:
    """Fill the nonces from `mined` up to our `lowest` open one, once they have been free for long.

    A nonce with a row of ours in any state is none: what ended there comes back by itself.
    """
    ours = _ours(address, mined, lowest)
    free = [nonce for nonce in range(mined, lowest) if nonce not in ours][:MOST]
    if not free:
        forget(address)
        return
    patience = install.current().settings.GAP_SECONDS * clock.SECOND
    if chain.nonce(address, "pending") > free[0]:
        patience *= FOREIGN_PATIENCE
    if clock.now() - _seen_since(address, free[0]) < patience:
        return
    key = signers.key_of(address)
    if key is None:
        return
    call = Call(address)
    plan = outbox.Plan(
        chain_id=chain.chain_id(),
        call=call,
        gas=chain.estimate_gas(address, call),
        bid=first_bid(market(chain)),
        head_block=chain.block_number(),
    )
    for nonce in free:
        attempt = _fill(chain, key, nonce, plan)
        if attempt is not None:
            log.warning("signer.gap_filled", signer=address, nonce=nonce)
            outbox.broadcast(chain, attempt)


def forget(address: str) -> None:
    """There is no gap (any more): the next one begins to wait anew."""
    with db.reading():
        known = Meta.read(_name(address))
    if known is not None:
        db.write(lambda: Meta.delete().where(Meta.key == _name(address)).execute())


def _ours(address: str, first: int, end: int) -> set[int]:
    with db.reading():
        query = ChainTransaction.select(ChainTransaction.nonce).where(
            ChainTransaction.signer == address,
            ChainTransaction.nonce >= first,
            ChainTransaction.nonce < end,
        )
        return {row.nonce for row in query}


def _seen_since(address: str, nonce: int) -> int:
    """When this gap was seen first, in milliseconds; a new one is noted as seen now."""

    def write() -> int:
        now = clock.now()
        known = Meta.read(_name(address))
        if known is not None and known.split(":")[0] == str(nonce):
            return int(known.split(":")[1])
        Meta.put(_name(address), f"{nonce}:{now}")
        return now

    return db.write(write)


def _name(address: str) -> str:
    return f"gap:{address}"


def _fill(chain: Chain, key: Key, nonce: int, plan: outbox.Plan) -> ChainAttempt | None:
    def write() -> ChainAttempt | None:
        outbox.lock(key.address)
        if _ours(key.address, nonce, nonce + 1):
            return None
        return outbox.store(chain, key, f"gap:{key.address}:{nonce}", nonce, plan)[1]

    return db.write(write)
