"""What becomes of a deposit, for every amount that a buyer is likely to type (Y-01, O-06)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chain.deposit_terms import residue_below
from engine.rules import money, order_money
from engine.rules.money import BPS, UNITS_PER_CENT, UNITS_PER_DOLLAR

RATES = (0, 1, 250, 1000, 3333, 5000)
MOST_CENTS = 200 * 100
CENT = UNITS_PER_CENT

# Dollars in, then net, fee and residue, at ten percent.
SEED = {
    "0.01": ("0", "0", "0.01"),
    "0.02": ("0.01", "0.001", "0.009"),
    "0.50": ("0.45", "0.045", "0.005"),
    "3.30": ("3.00", "0.30", "0"),
    "5.00": ("4.54", "0.454", "0.006"),
    "6.60": ("6.00", "0.60", "0"),
    "12.10": ("11.00", "1.10", "0"),
}


@pytest.mark.rule("Y-01")
@pytest.mark.rule("O-06")
@pytest.mark.parametrize("dollars", SEED)
def test_a_deposit_splits_as_the_price_list_says(dollars: str) -> None:
    made = order_money.split(money.parse_units(dollars), 1000)
    told = (made.net_units, made.fee_units, made.residue_units)
    assert told == tuple(money.parse_units(part) for part in SEED[dollars])


@pytest.mark.rule("Y-01")
@pytest.mark.parametrize("bps", RATES)
def test_every_whole_cent_up_to_200_dollars_equals_rational_arithmetic(bps: int) -> None:
    rate = 1 + Fraction(bps, BPS)
    for cents in range(1, MOST_CENTS + 1):
        units = cents * CENT
        made = order_money.split(units, bps)
        # The vendor's share in whole cents, never rounded up, and the fee on it in base units.
        net = int(Fraction(cents) / rate) * CENT
        fee = int(Fraction(net * bps, BPS))
        assert (made.net_units, made.fee_units) == (net, fee), cents
        assert net + fee + made.residue_units == units, cents
        assert 0 <= made.residue_units < CENT + bps == residue_below(bps), cents
        # One cent more for the vendor could not be paid.
        assert net + CENT + (net + CENT) * bps // BPS > units, cents


@pytest.mark.rule("Y-01")
@pytest.mark.parametrize("bps", RATES)
def test_the_least_price_leaves_the_vendor_a_cent(bps: int) -> None:
    assert order_money.split(order_money.LEAST_PRICE_UNITS, bps).net_units >= CENT
    below = order_money.split(order_money.LEAST_PRICE_UNITS - CENT, bps)
    assert below.net_units == (0 if bps else CENT)


@pytest.mark.rule("Y-01")
@given(cents=st.integers(1, money.MAX_UNITS // CENT), bps=st.integers(0, 5000))
def test_any_deposit_at_any_rate_is_split_without_loss(cents: int, bps: int) -> None:
    made = order_money.split(cents * CENT, bps)
    assert made.net_units + made.fee_units + made.residue_units == cents * CENT
    assert 0 <= made.residue_units < residue_below(bps)
    assert made.net_units % CENT == 0


def test_a_tip_takes_the_same_fee_as_the_price() -> None:
    """A surplus is no second deposit: it is split together with the price."""
    together = order_money.split(5 * UNITS_PER_DOLLAR + 33 * CENT, 1000)
    assert together.net_units == 484 * CENT
