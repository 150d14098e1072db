"""What was sent to the contract unasked (Y-05): the token's logs, less what deposits explain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from engine.bookings import Gift
from engine.chain.abi import artifact
from engine.chain.client import Log
from engine.chain.treasury import Treasury
from engine.chain.treasury_events import DepositOpened, PotDeposited, TreasuryEvent
from engine.db import db
from engine.models.meta import Meta

# Up to and including this block gifts are booked as one sum.
SINCE_KEY = "gifts_since"


def since() -> int | None:
    with db.reading():
        known = Meta.read(SINCE_KEY)
    return None if known is None else int(known)


def remember(block_number: int) -> None:
    """All gifts up to this block are booked; only inside `db.write`."""
    Meta.put(SINCE_KEY, str(block_number))


def forget_above(block_number: int) -> None:
    """A reorg took back later blocks; only inside `db.write`."""
    known = since()
    if known is not None and known > block_number:
        Meta.delete().where(Meta.key == SINCE_KEY).execute()


def before(treasury: Treasury, block_number: int, block_hash: str) -> Gift:
    """All that came unasked up to a block, when everything else up to there is booked.

    The token keeps no sum of it, and its logs may reach back further than a node does.
    """
    units = treasury.held_units(block_number) - treasury.accounted_units(block_number)
    return Gift(
        block_number=block_number,
        block_hash=block_hash,
        tx_hash="",
        log_index=0,
        amount_units=units,
    )


def read(
    treasury: Treasury, from_block: int, to_block: int, events: Sequence[TreasuryEvent]
) -> list[Gift]:
    """The gifts of these blocks; `events` are what the contract itself told of them."""
    explained: dict[str, int] = defaultdict(int)
    for event in events:
        if isinstance(event, PotDeposited | DepositOpened):
            explained[event.tx_hash] += event.amount_units
    by_transaction: dict[str, list[Log]] = defaultdict(list)
    for log in _transfers(treasury, from_block, to_block):
        by_transaction[log.tx_hash].append(log)
    found = []
    for tx_hash, logs in by_transaction.items():
        units = sum(int.from_bytes(log.data) for log in logs) - explained[tx_hash]
        if units > 0:
            last = logs[-1]
            found.append(
                Gift(
                    block_number=last.block_number,
                    block_hash=last.block_hash,
                    tx_hash=tx_hash,
                    log_index=last.log_index,
                    amount_units=units,
                )
            )
    return found


def _transfers(treasury: Treasury, from_block: int, to_block: int) -> list[Log]:
    events = artifact("MockUSDC").events.values()
    (digest,) = (item.digest for item in events if item.name == "Transfer")
    to = "0x" + treasury.address.removeprefix("0x").lower().rjust(64, "0")
    topics = ["0x" + digest.hex(), None, to]
    return treasury.chain.logs(treasury.usdc_address, from_block, to_block, topics)
