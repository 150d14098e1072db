"""What an approval pays (R-02): the locked price, the gig's where there is none, or what is agreed.

A price to be decided is settled once: by `PATCH …/price`, by the approval, or by the review timer.
An asking price is paid only where the reviewer names just that amount.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import cancellation, gigs, install, ledger
from engine.chain.errors import ChainUnavailable
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.models.task import Task
from engine.operations import Caller, permit
from engine.rules import money
from engine.settlement import unavailable


@dataclass(frozen=True)
class Price:
    """Base units, and where they come from: `task`, `gig`, `review` or `worker`."""

    units: int
    source: str


def first(gig: Gig, proof: Proof, amount_units: int | None = None) -> Price:
    """What an approval pays; 400 for an amount that this proof is not open for."""
    locked = proof.locked_price_units
    if amount_units is None:
        units = gig.price_units if locked is None else locked
        return Price(units, "gig" if locked is None else proof.price_source)
    if amount_units == proof.asking_price_units:
        return Price(amount_units, "worker")
    if locked is None:
        return Price(amount_units, "review")
    raise _fixed(proof)


def again(proof: Proof, amount_units: int | None) -> Price | None:
    """What a repeated approval changes about the price: nothing, or it now pays what is asked."""
    if amount_units is None or amount_units == proof.locked_price_units:
        return None
    if amount_units == proof.asking_price_units:
        return Price(amount_units, "worker")
    raise _fixed(proof)


def unagreed(task: Task, proof: Proof) -> dict[str, Any]:
    """What a rejection takes back: that the asking price was agreed to."""
    if proof.price_source != "worker" or task.held_price_units is None:
        return {}
    source = "gig" if task.price_units is None else "task"
    return {"locked_price_units": task.held_price_units, "price_source": source}


def _fixed(proof: Proof) -> Refused:
    asking = proof.asking_price_units
    if asking is None:
        return invalid("amount", "the price of this proof is fixed; leave it out")
    return invalid(
        "amount",
        f"the price of this proof is fixed; leave it out, or give the {money.to_dollars(asking)} "
        "that its worker asks for",
    )


# -- cancelled gigs ----------------------------------------------------------------------------


def rate(caller: Caller, gig_id: str, amount_is_given: bool) -> int | None:
    """The fee's rate for `require_cover`, where that may be asked; before the transaction.

    503 when the chain does not say. None where no price can rise above what is kept aside, and in
    an install without a chain, where no pot holds anything.
    """
    treasury = install.current().treasury
    if not amount_is_given or treasury is None:
        return None
    with db.reading():
        gig = gigs.get(gig_id)
        permit("proof.review", caller, gig)
    if gig.status != "cancelled":
        return None
    try:
        return treasury.fee_bps()
    except ChainUnavailable as error:
        raise unavailable() from error


def is_raised(gig: Gig, proof: Proof, units: int) -> bool:
    """Is this more than a cancelled gig keeps aside for the proof?"""
    kept = gig.price_units if proof.locked_price_units is None else proof.locked_price_units
    return gig.status == "cancelled" and units > kept


def require_cover(gig: Gig, fee_bps: int | None) -> None:
    """After a price rose in a cancelled gig: its pot still covers all that it may have to pay.

    The gig is held alone (`cancellation.hold`), so what is free now stays so. 400 `pot_short`.
    """
    if install.current().treasury is None:
        return
    if fee_bps is None:
        raise Refused("try_again", "This gig was cancelled just now. Try again.")
    free = ledger.free_units(gig.id)
    # A pot that a reorg has left with less than it owes lacks that as well.
    needed = cancellation.kept_aside_units(gig, fee_bps) - min(0, free)
    free = max(0, free)
    if needed > free:
        raise Refused(
            "pot_short",
            f"This gig is cancelled, and its pot has ${money.to_dollars(free)} left; at this "
            f"amount it would owe ${money.to_dollars(needed)}, fee included. Deposit the rest "
            "first, or approve without an amount.",
            available_funds=money.to_dollars(free),
            needed=money.to_dollars(needed),
        )
