"""The arithmetic of an order: the fee comes out of the deposit, and the vendor gets whole cents.

Units are 10⁻⁶ USDC, rates are basis points. Whatever is deposited, net + fee + residue = deposit.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.rules import money

# The smallest that leaves the vendor a cent at any rate up to 50 %.
LEAST_PRICE_UNITS = 2 * money.UNITS_PER_CENT


@dataclass(frozen=True)
class Split:
    """What becomes of a deposit when it is settled."""

    net_units: int
    fee_units: int
    residue_units: int


def split(deposit_units: int, fee_bps: int) -> Split:
    """Net: deposit ÷ (1 + rate), down to a whole cent; the fee on that; and what is left over.

    For a whole number of cents the residue is below one cent and the fee on it, which is what the
    contract takes. $0.50 at 10 % is 0.45 + 0.045 + 0.005.
    """
    exact_units = deposit_units * money.BPS // (money.BPS + fee_bps)
    net_units = money.floor_to_cent(exact_units)
    fee_units = money.fee_on_top(net_units, fee_bps)
    return Split(net_units, fee_units, deposit_units - net_units - fee_units)
