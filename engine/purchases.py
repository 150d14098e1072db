"""A buyer's ledger: what he has put into orders, in every shop, and what became of it.

Each row is a deposit from the moment that it is attempted, or an order that was free. The same rows
are what a shop's vendor sees of its deposits.
"""

from __future__ import annotations

from typing import Any

import peewee

from engine import gigs, modes, pages
from engine.db import db
from engine.errors import Refused
from engine.models.account import Account
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.purchase import Purchase
from engine.operations import Caller, permit
from engine.rules import order_money

PENDING, OPEN, SETTLED, WITHDRAWN, FREE = "pending", "open", "settled", "withdrawn", "free"

# What its escrow says of a deposit. One that was given up is still `pending`, and `abandoned`.
_OF_ESCROW = {
    "planned": PENDING,
    "abandoned": PENDING,
    "open": OPEN,
    "refunding": OPEN,
    "settled": SETTLED,
    "refunded": WITHDRAWN,
    "reclaimed": WITHDRAWN,
}
STATES = (PENDING, OPEN, SETTLED, WITHDRAWN, FREE)
_PLACE = (Purchase.created_at, Purchase.number)

Row = dict[str, Any]


def listed(
    caller: Caller,
    limit: int,
    before: pages.Position,
    state: str | None = None,
    gig_id: str | None = None,
) -> list[Row]:
    """The caller's own, by (created_at, number), newest first."""
    with db.reading():
        query = _rows().where(Purchase.client_id == caller.account_id)
        if gig_id is not None:
            query = query.where(Purchase.gig_id == gig_id)
        return _page(query, state, limit, before)


def of_shop(
    caller: Caller, gig_id: str, limit: int, before: pages.Position, state: str | None = None
) -> list[Row]:
    """The deposits of a shop's orders, for its vendor, newest first; none of what was free.

    409 for a gig in which nobody orders.
    """
    with db.reading():
        gig = gigs.get(gig_id)
        permit("deposit.list", caller, gig)
        if not modes.takes_orders(gig):
            raise Refused(
                modes.no_orders(),
                "Nobody orders in this gig, so it has no deposits of orders. What its own pot "
                "holds is in GET /api/gigs/:id.",
            )
        query = _rows().where(Purchase.gig_id == gig.id, Purchase.deposit_id.is_null(False))
        return _page(query, state, limit, before)


def place(row: Row) -> tuple[Any, ...]:
    return row["created_at"], row["number"]


def _rows() -> Any:
    return (
        Purchase.select(
            Purchase.number,
            Purchase.deposit_id,
            Purchase.gig_id,
            Purchase.task_id,
            Purchase.minimum_units,
            Purchase.created_at,
            Purchase.withdrawn_at,
            Gig.title.alias("gig_title"),
            Gig.list_price_units,
            Account.email.alias("client_email"),
            Escrow.status,
            Escrow.amount_units,
            Escrow.fee_bps,
            Escrow.tx_hash,
            Escrow.ended_at,
        )
        .join(Gig, on=(Gig.id == Purchase.gig_id))
        .join(Account, on=(Account.id == Purchase.client_id))
        .join(Escrow, peewee.JOIN.LEFT_OUTER, on=(Escrow.id == Purchase.deposit_id))
    )


def _page(query: Any, state: str | None, limit: int, before: pages.Position) -> list[Row]:
    if state is not None:
        query = query.where(_is(state))
    found = pages.page(query.dicts(), _PLACE, limit, before, newest_first=True)
    return [_shown(row) for row in found]


def _is(state: str) -> Any:
    free = Purchase.deposit_id.is_null()
    if state == FREE:
        return free & Purchase.withdrawn_at.is_null()
    named = [name for name, shown in _OF_ESCROW.items() if shown == state]
    condition = Escrow.status.in_(named)
    if state == WITHDRAWN:
        condition |= free & Purchase.withdrawn_at.is_null(False)
    return condition


def _shown(row: Row) -> Row:
    """The row with its state, and what follows from its amount."""
    if row["deposit_id"] is None:
        state = FREE if row["withdrawn_at"] is None else WITHDRAWN
        nothing = {"amount_units": 0, "payout_units": 0, "tip_estimate_units": None}
        return {**row, **nothing, "state": state, "abandoned": False, "settled_at": None}
    state, amount = _OF_ESCROW[row["status"]], row["amount_units"]
    # By today's price, which may have changed since: then it cannot be told, or not exactly.
    over = None if row["list_price_units"] is None else amount - row["list_price_units"]
    return {
        **row,
        "state": state,
        "abandoned": row["status"] == "abandoned",
        "payout_units": order_money.split(amount, row["fee_bps"]).net_units,
        "tip_estimate_units": over if over is None or over >= 0 else None,
        "tip_units": amount - row["minimum_units"],
        "settled_at": row["ended_at"] if state == SETTLED else None,
        "withdrawn_at": row["ended_at"] if state == WITHDRAWN else None,
    }
