"""What we offer for a unit of gas: what the market asks, and no more than the install allows."""

from __future__ import annotations

from dataclasses import dataclass

from engine import install
from engine.chain.client import Chain
from engine.chain.errors import FeesTooHigh

GWEI = 10**9
# Nodes let a transaction take another's place from 10 % more on; 15 % is safely above that.
RAISE_PERCENT = 115


@dataclass(frozen=True)
class Bid:
    """Both fee fields of a transaction (EIP-1559), in wei for a unit of gas."""

    max_fee_wei: int
    priority_fee_wei: int


@dataclass(frozen=True)
class Market:
    """What the next block asks now."""

    base_fee_wei: int
    priority_fee_wei: int

    @property
    def enough_wei(self) -> int:
        """A transaction that offers less than this is left lying."""
        return self.base_fee_wei + self.priority_fee_wei

    @property
    def bid(self) -> Bid:
        """Room for the base fee to double."""
        return Bid(2 * self.base_fee_wei + self.priority_fee_wei, self.priority_fee_wei)


def ceiling_wei() -> int:
    return install.current().settings.MAX_FEE_GWEI * GWEI


def market(chain: Chain) -> Market:
    max_fee_wei, priority_fee_wei = chain.fees()
    return Market((max_fee_wei - priority_fee_wei) // 2, priority_fee_wei)


def first_bid(now: Market) -> Bid:
    """For a new transaction. FeesTooHigh when no block would take what we may offer."""
    ceiling = ceiling_wei()
    if now.enough_wei > ceiling:
        raise FeesTooHigh(
            f"Gas costs {now.enough_wei / GWEI:.1f} gwei and MUSTER_MAX_FEE_GWEI allows "
            f"{ceiling // GWEI}. Nothing was sent; it goes on once gas is cheaper."
        )
    return Bid(min(now.bid.max_fee_wei, ceiling), now.priority_fee_wei)


def higher_bid(old: Bid, now: Market) -> Bid | None:
    """For the same nonce again; None when the ceiling leaves no room above the old one.

    Each field rises by the least that nodes ask for, or to the market's if that is more.
    """
    ceiling = ceiling_wei()
    least = Bid(_raised(old.max_fee_wei), _raised(old.priority_fee_wei))
    if least.max_fee_wei > ceiling:
        return None
    max_fee_wei = min(ceiling, max(least.max_fee_wei, now.bid.max_fee_wei))
    wanted = max(least.priority_fee_wei, now.priority_fee_wei)
    # The tip is a part of the whole, which is at least the old tip raised.
    return Bid(max_fee_wei, min(wanted, max_fee_wei))


def _raised(wei: int) -> int:
    return -(-wei * RAISE_PERCENT // 100)
