"""Everybody who hears of what the chain did: importing this is what makes them hear of it.

`engine/observers.py` says why nobody calls them.
"""

from __future__ import annotations

from engine import (
    claiming,
    escrow_events,
    order_deposits,
    order_funding,
    payouts,
    pot_refunds,
    task_escrow,
    transfers,
)

__all__ = [
    "claiming",
    "escrow_events",
    "order_deposits",
    "order_funding",
    "payouts",
    "pot_refunds",
    "task_escrow",
    "transfers",
]
