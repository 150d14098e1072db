"""Money: whole base units (10⁻⁶ USDC) inside, exact dollars outside (H-09). No float anywhere."""

from __future__ import annotations

import re
from decimal import Decimal

UNITS_PER_DOLLAR = 1_000_000
UNITS_PER_CENT = 10_000
BPS = 10_000
# The most that anybody may name: a billion dollars. A column holds nine thousand times as much, so
# a price with its fee fits. A sum of many may not: it is made of Python's numbers, or of parts.
MAX_UNITS = 10**15
DECIMALS = 6

_NUMBER = re.compile(r"[0-9]{1,40}(\.[0-9]{1,60})?([eE][+-]?[0-9]{1,3})?", re.ASCII)
SHAPE = "give dollars as a number or a string like 2.50, with at most 6 decimals"
TOO_LARGE = f"the amount is too large: give at most {MAX_UNITS // UNITS_PER_DOLLAR} dollars"


def parse_units(value: object) -> int:
    """Dollars from JSON (int, Decimal or str) as base units; ValueError says what is wrong."""
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        raise ValueError(SHAPE)
    text = value if isinstance(value, str) else str(value)
    if text.startswith("-"):
        raise ValueError("a negative amount is not allowed")
    if not _NUMBER.fullmatch(text):
        raise ValueError(SHAPE)
    # Digits and exponent apart: no context precision can round what is compared here.
    _, digits, exponent = Decimal(text).as_tuple()
    number = int("".join(map(str, digits)) or "0")
    shift = int(exponent) + DECIMALS
    if number == 0:
        return 0
    if shift >= 0:
        if shift + len(digits) > 40:
            raise ValueError(TOO_LARGE)
        units = number * int(10**shift)
    else:
        units, lost = divmod(number, 10**-shift)
        if lost:
            raise ValueError("at most 6 decimals: a base unit is 0.000001")
    if units > MAX_UNITS:
        raise ValueError(TOO_LARGE)
    return units


def to_dollars(units: int) -> int | Decimal:
    """Base units as an exact JSON number: 2010000 is 2.01 and 2000000 is 2."""
    sign = "-" if units < 0 else ""
    whole, part = divmod(abs(units), UNITS_PER_DOLLAR)
    if part == 0:
        return -whole if units < 0 else whole
    return Decimal(f"{sign}{whole}.{part:06d}".rstrip("0"))


def floor_to_cent(units: int) -> int:
    """The one rounding of money: down to a whole cent."""
    return units - units % UNITS_PER_CENT


def fee_on_top(gross_units: int, fee_bps: int) -> int:
    """The platform's fee on an outbound payout, floored to a base unit (Y-01)."""
    return gross_units * fee_bps // BPS
