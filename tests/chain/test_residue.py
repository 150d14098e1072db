"""Every whole-cent deposit can be settled by a whole-cent payout (Y-07)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chain.deposit_terms import residue_below
from tests.chain.world import World

CENT = 10_000
BPS = 10_000


def gross_of(units: int, fee_bps: int) -> int:
    """The most whole cents that fit into a deposit with their fee."""
    return units * BPS // (BPS + fee_bps) // CENT * CENT


def residue_of(units: int, fee_bps: int) -> int:
    gross = gross_of(units, fee_bps)
    return units - gross - gross * fee_bps // BPS


@pytest.mark.rule("Y-07")
def test_a_dollar_at_ten_percent_pays_90_cents_and_leaves_exactly_one() -> None:
    assert gross_of(100 * CENT, 1000) == 900_000
    assert residue_of(100 * CENT, 1000) == CENT < residue_below(1000)


@pytest.mark.rule("Y-07")
def test_a_bound_of_one_cent_would_refuse_1818_amounts_up_to_200_dollars() -> None:
    # From two cents on: of one, no whole cent can be paid with its fee.
    assert gross_of(CENT, 1000) == 0
    residues = [residue_of(cents * CENT, 1000) for cents in range(2, 20_001)]
    assert all(0 <= residue < residue_below(1000) for residue in residues)
    assert sum(residue >= CENT for residue in residues) == 1_818


@pytest.mark.rule("Y-07")
@given(units=st.integers(1, 10**15), fee_bps=st.integers(0, 5000))
def test_any_deposit_at_any_fee_leaves_less_than_the_bound(units: int, fee_bps: int) -> None:
    assert 0 <= residue_of(units, fee_bps) < residue_below(fee_bps)


@pytest.mark.rule("Y-07")
def test_the_contract_settles_a_sample_of_them(world: World) -> None:
    # At 10 %: the example, the largest residue, the least that pays, and an even amount.
    worst = max(range(2, 20_001), key=lambda cents: residue_of(cents * CENT, 1000))
    for cents in (100, worst, 2, 110, 20_000):
        units = cents * CENT
        deposit = world.opened(units)
        before = world.treasury.residue_due_units()
        world.settle(f"ROLLUP_{cents}", deposit, gross_of(units, 1000))
        assert world.treasury.residue_due_units() - before == residue_of(units, 1000)
