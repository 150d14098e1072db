"""What became of what was sent. Only a final, canonical receipt says so, under any of its hashes.

Final is what stands at or below `final_block`, with the hash that the chain has at that height now.
A mined transaction with status 0 has failed. A nonce that is finally used while none of our signed
forms has a receipt was used by another transaction, so ours will never be mined.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

import structlog

from engine import clock
from engine.chain import gas, outbox, repair
from engine.chain.client import Chain, Receipt
from engine.chain.errors import CallReverted, ChainUnavailable, NodeRefused
from engine.chain.keys import unsigned
from engine.db import db
from engine.models.chain import UNDERWAY, ChainAttempt, ChainTransaction
from engine.moves import take, take_all

REPLACED = "Another transaction used its place (nonce), so it will never be mined"
UNEXPLAINED = "The transaction was mined but the contract refused it."

log = structlog.get_logger()

# Told of a transaction that failed, in the transaction that says so.
Failed = Callable[[ChainTransaction], object]


def _always() -> bool:
    return True


def follow(
    chain: Chain, final_block: int, failed: Failed, still: Callable[[], bool] = _always
) -> set[str]:
    """See what became of what was sent, up to and including `final_block`, and repair the rest.

    `failed` runs in the transaction that marks a row `reverted` or `replaced`, with that row.
    `still` runs in the transaction that ends a row, before it: is `final_block` the block that it
    was when the look began? Otherwise a reorg that another process has undone meanwhile would be
    missed, and the row ended in a block that is no more.
    Answers the ids of transactions that came to an end. ChainUnavailable when the node is away.
    """
    with db.reading():
        waiting = list(
            ChainTransaction.select()
            .where(UNDERWAY)
            .order_by(ChainTransaction.signer, ChainTransaction.nonce)
        )
    gas.watch(chain)
    ended: set[str] = set()
    look = _Look(chain, final_block, failed, still)
    for address, rows in groupby(waiting, key=lambda row: row.signer):
        try:
            ended |= look.at(address, list(rows))
        except NodeRefused as error:
            # One question that the node will not answer must not hold up the other signers.
            log.warning("signer.follow_refused", signer=address, error=str(error))
    return ended


class _Look:
    """One look at the chain, which remembers block hashes for its own length only."""

    def __init__(
        self, chain: Chain, final_block: int, failed: Failed, still: Callable[[], bool]
    ) -> None:
        self._chain, self._final_block, self._failed = chain, final_block, failed
        self._still = still
        self._hashes: dict[int, str] = {}

    def at(self, address: str, rows: list[ChainTransaction]) -> set[str]:
        mined = self._chain.nonce(address)
        used = [row for row in rows if row.nonce < mined]
        ended = {row.id for row in used if self._confirm(row)}
        unmined = rows[len(used) :]
        if unmined:
            repair.repair(self._chain, address, unmined, mined)
        return ended

    def _confirm(self, row: ChainTransaction) -> bool:
        """Write down the end of a transaction whose nonce is used, if it is final."""
        attempts = outbox.attempts(row.id)
        for attempt in attempts:
            receipt = self._chain.receipt(attempt.tx_hash)
            if receipt is None:
                continue
            if receipt.block_number > self._final_block or not self._is_canonical(receipt):
                return False
            return self._mined(row, receipt)
        if self._final_block < 0 or self._nonce(row, self._final_block) <= row.nonce:
            return False
        return self._replaced(row, attempts)

    def _nonce(self, row: ChainTransaction, block: int) -> int:
        return self._chain.nonce(row.signer, block)

    def _replaced(self, row: ChainTransaction, attempts: list[ChainAttempt]) -> bool:
        """The nonce is used for good and no receipt of ours was found: who used it?

        The answer is looked for on the chain, because behind a load balancer a node that lags may
        have no receipt yet of what is mined: to call that replaced would invite to pay it again.
        """
        try:
            block = self._used_in(row, min(one.head_block or 0 for one in attempts))
            winner = self._chain.sent_in(block, row.signer).get(row.nonce)
        except NodeRefused as error:
            # A node without states that old. The nonce is used all the same.
            log.info("chain.winner_unknown", transaction=row.id, error=str(error))
            return self._end(row, "replace", f"{REPLACED}.", block_number=self._final_block)
        if winner is None:
            return self._end(row, "replace", f"{REPLACED}.", block_number=block)
        if winner.tx_hash in {one.tx_hash for one in attempts}:
            log.info("chain.receipt_missing", transaction=row.id, tx_hash=winner.tx_hash)
            return False
        if winner.call == unsigned(attempts[0].raw_hex).call:
            receipt = self._chain.receipt(winner.tx_hash)
            if receipt is None or not self._is_canonical(receipt):
                return False
            if receipt.status == 1:
                # The same thing was done, signed by the same key outside of here.
                return self._mined(row, receipt)
        return self._end(row, "replace", f"{REPLACED}: {winner.tx_hash}.", block_number=block)

    def _used_in(self, row: ChainTransaction, low: int) -> int:
        """The block up to `final_block` in which this nonce was used, by halving."""
        high = self._final_block
        while low < high:
            middle = (low + high) // 2
            if self._nonce(row, middle) > row.nonce:
                high = middle
            else:
                low = middle + 1
        return high

    def _is_canonical(self, receipt: Receipt) -> bool:
        height = receipt.block_number
        if height not in self._hashes:
            self._hashes[height] = self._chain.block(height).hash
        return self._hashes[height] == receipt.block_hash

    def _mined(self, row: ChainTransaction, receipt: Receipt) -> bool:
        where = {
            "block_number": receipt.block_number,
            "block_hash": receipt.block_hash,
            "tx_hash": receipt.tx_hash,
        }
        if receipt.status == 1:
            return self._end(row, "succeed", None, **where)
        return self._end(row, "revert", why(self._chain, row, receipt), **where)

    def _end(self, row: ChainTransaction, verb: str, failure: str | None, **where: Any) -> bool:
        def write() -> bool:
            if not self._still():
                return False
            sets = {**where, "failure": failure, "finished_at": clock.now()}
            if not take(ChainTransaction, row.id, verb, **sets):
                return False
            if verb != "succeed":
                self._failed(ChainTransaction.get(ChainTransaction.id == row.id))
            return True

        done = db.write(write)
        if done and failure is not None:
            log.warning("chain.transaction_failed", transaction=row.id, reason=failure)
        return done


def why(chain: Chain, row: ChainTransaction, receipt: Receipt) -> str:
    """The reason of a mined failure, as a sentence, found by doing it again.

    First on the state that its block left, then on the one that it found; what else was in the
    block can have made either one differ.
    """
    (raw_hex,) = [one.raw_hex for one in outbox.attempts(row.id) if one.tx_hash == receipt.tx_hash]
    sent = unsigned(raw_hex)
    if receipt.gas_used >= sent.gas:
        return f"The transaction was mined but ran out of gas; its limit was {sent.gas}."
    for block in (receipt.block_number, receipt.block_number - 1):
        try:
            chain.call(sent.call, row.signer, block, gas=sent.gas)
        except CallReverted as error:
            return f"The transaction was mined but refused: {error.reason}"
        except ChainUnavailable as error:
            # A node without old states, most likely; the failure itself is certain.
            log.info("chain.replay_unanswered", transaction=row.id, error=str(error))
    return UNEXPLAINED


def unmine(from_block: int) -> list[str]:
    """A reorg took back this block and all after it; only inside `db.write`.

    What ended in them is open again, to be confirmed or sent once more. Answers their ids.
    """
    undone = ChainTransaction.select(ChainTransaction.id).where(
        ChainTransaction.block_number >= from_block
    )
    row_ids = [row.id for row in db.lock(undone.order_by(ChainTransaction.id))]
    if row_ids:
        take_all(
            ChainTransaction,
            "unmine",
            ChainTransaction.id.in_(row_ids),
            block_number=None,
            block_hash=None,
            tx_hash=None,
            failure=None,
            finished_at=None,
        )
    return row_ids
