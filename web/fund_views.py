"""What the payment page says of an order: its words, the parts of its deposit, its receipt."""

from __future__ import annotations

import json
from typing import Any

from engine.checkout import Checkout
from engine.escrow_events import KEPT
from engine.models.task import Task
from engine.rules import order_money
from web import order_views, rendering, views
from web.rendering import Page

_SMALLEST_WEI = 10**12
# What the body of an order calls its words, when it is an object.
_WORDS = ("order", "text", "message", "brief", "body")


def came_back(look: Checkout) -> str:
    """What became of the money of a cancelled order, in a sentence."""
    escrow = look.escrow
    if escrow is None or escrow.status in ("planned", "abandoned"):
        return "Nothing had been charged for it, so nothing came back."
    amount = rendering.price(escrow.amount_units)
    if escrow.failure == KEPT:
        return (
            f"Its deposit of ${amount} could not be sent back to {escrow.depositor}; "
            "the contract keeps it there to be claimed."
        )
    return f"Its deposit of ${amount} came back to {escrow.depositor}."


def receipt(look: Checkout) -> Page:
    """What was paid for a sent order, and what became of it."""
    told = order_views.money(look.task)
    rate_bps, total = told["fee_bps"], told["funded_total_units"]
    split = None
    if total and rate_bps is not None:
        split = parts_of(total, total - (told["tip_units"] or 0), rate_bps)
    return {
        "free": bool(look.task.order_free),
        "split": split,
        "rate": percent(rate_bps),
        "deposit_id": told["deposit_id"],
        "tx_hash": None if look.escrow is None else look.escrow.tx_hash,
    }


def parts_of(deposit_units: int, least_units: int, fee_bps: int) -> dict[str, str | None]:
    """What becomes of a deposit, in dollars."""
    split = order_money.split(deposit_units, fee_bps)
    tip_units = deposit_units - least_units
    return {
        "deposit": rendering.price(deposit_units),
        "vendor": rendering.price(split.net_units),
        "fee": rendering.price(split.fee_units),
        "residue": rendering.price(split.residue_units) if split.residue_units else None,
        "tip": rendering.price(tip_units) if tip_units else None,
    }


def gas(wei: int) -> str:
    """Ether as people read it: six decimals of it, rounded down, and what is less is said to be."""
    if 0 < wei < _SMALLEST_WEI:
        return "less than 0.000001"
    return views.ether(wei - wei % _SMALLEST_WEI)


def percent(fee_bps: int | None) -> str | None:
    """A rate in basis points as people write it: 10, or 2.5."""
    if fee_bps is None:
        return None
    return f"{fee_bps // 100}.{fee_bps % 100:02}".rstrip("0").rstrip(".")


def words(task: Task) -> dict[str, Any]:
    """An order as people read it: HTML for a frame, or text out of its JSON."""
    shown = rendering.body(task)
    return {**shown, "words": None if shown["html"] is not None else _unwrapped(task.payload)}


def _unwrapped(payload: str) -> str:
    """The words of an order, without the object around them; what else that says comes after."""
    try:
        said = json.loads(payload, parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return payload
    if isinstance(said, str):
        return said
    name = next((one for one in _WORDS if isinstance(said, dict) and one in said), None)
    if name is None or not isinstance(said[name], str):
        return payload
    rest = [f"{one}: {_text(value)}" for one, value in said.items() if one != name]
    return "\n".join([said[name], *([""] if rest else []), *rest])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
