"""Does a gig's pot cover a proof? What whoever hands it in is told; nothing is decided by it."""

from __future__ import annotations

from engine import gigs, install
from engine.db import db
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.rules import money


def warning(gig: Gig, proof: Proof) -> str | None:
    """A sentence where the pot's free money is less than the proof may pay, fee included.

    A price to be decided counts as the gig's. None in an install without a chain.
    """
    rate = install.current().fee_rate
    if rate is None:
        return None
    locked, asking = proof.locked_price_units, proof.asking_price_units
    price = max(gig.price_units if locked is None else locked, asking or 0)
    # Nobody may wait for a node while a transaction is open.
    fee_bps = rate.seen(ask=db.transaction is None)
    needed = price + money.fee_on_top(price, fee_bps or 0)
    free, _ = gigs.funds(gig)
    if needed <= free:
        return None
    return (
        f"This proof may come to ${money.to_dollars(needed)} with the fee, and the gig's pot has "
        f"${money.to_dollars(free)}: it cannot be paid before the owner puts in more."
    )
