"""What an order pays its vendor is what the contract takes, at every rate (Y-01, O-06)."""

from __future__ import annotations

import pytest

from engine.chain.deposit_terms import residue_below
from engine.rules.order_money import Split, split
from tests.chain.world import World

CENT = 10_000
MOST_CENTS = 20_000
RATES = (0, 1, 250, 1000, 3333, 5000)
# The examples of the price list, beside the least deposit and the largest.
EXAMPLES = (2, 50, 330, 500, 660, 1210, MOST_CENTS)


def extremes(bps: int) -> tuple[int, int]:
    """The whole-cent deposits, up to 200 dollars, that leave the most and the least over."""

    def left(cents: int) -> int:
        return split(cents * CENT, bps).residue_units

    return max(range(2, MOST_CENTS + 1), key=left), min(range(2, MOST_CENTS + 1), key=left)


def contract_splits(units: int, bps: int, net: int) -> tuple[int, int]:
    """(fee, residue), as Deposits.sol computes them."""
    fee = net * bps // 10_000
    return fee, units - net - fee


@pytest.mark.rule("Y-01")
@pytest.mark.parametrize("bps", RATES)
def test_the_contract_would_take_every_whole_cent_deposit(bps: int) -> None:
    for cents in range(2, MOST_CENTS + 1):
        units = cents * CENT
        made = split(units, bps)
        fee, residue = contract_splits(units, bps, made.net_units)
        assert (made.fee_units, made.residue_units) == (fee, residue)
        assert made.net_units > 0 and 0 <= residue < residue_below(bps)


@pytest.mark.rule("Y-01")
@pytest.mark.rule("O-06")
@pytest.mark.parametrize("bps", RATES)
def test_the_contract_settles_the_examples_and_the_extremes(world: World, bps: int) -> None:
    if world.treasury.fee_bps() != bps:
        world.tell(world.owner, "setFeeBps", bps)
    cents = sorted({*EXAMPLES, *extremes(bps)})
    for number in cents:
        made = split(number * CENT, bps)
        deposit = world.opened(number * CENT)
        before = holdings(world)
        world.settle(f"ROLLUP_{bps}_{number}", deposit, made.net_units)
        gained = Split(*(now - then for now, then in zip(holdings(world), before, strict=True)))
        assert gained == made, number


def holdings(world: World) -> tuple[int, int, int]:
    """What bob has, and what the contract has put aside as fees and as residue."""
    treasury = world.treasury
    return (
        treasury.usdc_units(world.bob.address),
        treasury.fees_due_units(),
        treasury.residue_due_units(),
    )
