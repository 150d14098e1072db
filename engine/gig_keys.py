"""The 32 bytes that stand for a gig on chain, and which gig they stand for."""

from __future__ import annotations

from functools import lru_cache

from engine.chain.treasury import key_of
from engine.models.gig import Gig


@lru_cache(maxsize=4096)
def key(gig_id: str) -> str:
    """0x hex, as the contract's events name it."""
    return "0x" + key_of(gig_id).hex()


def find(gig_key: str) -> Gig | None:
    """The gig of a key; None for another install's. Only inside `db.write`."""
    found = Gig.get_or_none(Gig.chain_key == gig_key)
    if found is None and _complete():
        found = Gig.get_or_none(Gig.chain_key == gig_key)
    return found


def _complete() -> int:
    """Give gigs that a process of an older version has made their keys; how many?"""
    without = [row.id for row in Gig.select(Gig.id).where(Gig.chain_key.is_null())]
    for gig_id in without:
        Gig.update(chain_key=key(gig_id)).where(Gig.id == gig_id).execute()
    return len(without)
