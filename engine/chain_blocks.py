"""Which blocks the books rest on, and whether the chain still has them.

Remembered are the block of the cursor of each run and each block with a booked log, for a while.
A reorg shows by another hash at the cursor; the newest remembered block that still stands is where
the two chains part, or below.
"""

from __future__ import annotations

import peewee

from engine import rows
from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.models.chain import ChainBlock
from engine.models.meta import Meta

# Deeper than any chain has ever been reorganised.
KEPT_BLOCKS = 5_000
CHAIN_KEY = "chain_identity"
_AT_ONCE = 500


class ForeignChain(ChainUnavailable):
    """The node is not on the chain that the books were written from. Nothing is booked."""


def require_same(chain: Chain, *, to_the_root: bool = False) -> None:
    """Refuse a node of another chain: by its id, and with `to_the_root` by its first block.

    The first node that an install ever reads from says which chain is its own.
    """
    # Asked afresh: what is behind an address may change while we run.
    chain_id = int(chain.request("eth_chainId"), 16)
    with db.reading():
        known = Meta.read(CHAIN_KEY)
    if known is None:
        ours = f"{chain_id}:{chain.block(0).hash}"
        known = db.write(lambda: Meta.put_once(CHAIN_KEY, ours))
    root = known.partition(":")[2]
    if known != f"{chain_id}:{chain.block(0).hash if to_the_root else root}":
        raise ForeignChain(
            f"The node at {chain.host} is on another chain than the books ({known}). Nothing is "
            "read from it. Set MUSTER_CHAIN_RPC_URL to a node of the right chain."
        )


def hash_at(number: int) -> str | None:
    """The hash of a block as it is remembered."""
    with db.reading():
        row = ChainBlock.get_or_none(ChainBlock.number == number)
    return None if row is None else str(row.hash)


def remember(blocks: dict[int, str]) -> None:
    """Keep the hashes of these blocks, and forget what is long past; only inside `db.write`."""
    for some in peewee.chunked(sorted(blocks.items()), _AT_ONCE):
        rows.insert(
            ChainBlock,
            *({"number": number, "hash": block_hash} for number, block_hash in some),
            tail='ON CONFLICT ("number") DO UPDATE SET "hash" = excluded."hash"',
        )
    ChainBlock.delete().where(ChainBlock.number < max(blocks) - KEPT_BLOCKS).execute()


def forget_above(number: int) -> None:
    """Only inside `db.write`."""
    ChainBlock.delete().where(ChainBlock.number > number).execute()


def newest_standing(chain: Chain) -> int:
    """The newest remembered block that the chain still has. ForeignChain when it has none."""
    with db.reading():
        kept = list(ChainBlock.select().order_by(ChainBlock.number))
    # Below a block that stands all stand.
    low, high = -1, len(kept) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if chain.block(kept[middle].number).hash == kept[middle].hash:
            low = middle
        else:
            high = middle - 1
    if low < 0:
        raise ForeignChain(
            f"The chain of the node at {chain.host} has none of the {len(kept)} newest blocks that "
            "the books were written from. Nothing is read from it. If it is the right node, the "
            "chain was reorganised deeper than can be undone: restore a backup of the database."
        )
    return int(kept[low].number)
