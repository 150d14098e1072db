"""What was deposited for orders: a buyer's own ledger, and a shop's."""

from __future__ import annotations

from typing import Any

from engine import purchases
from web import auth, paging
from web.blueprint import Routes
from web.schemas import purchases as schemas

routes = Routes("purchases", "What was deposited for orders, and what became of it.")


@routes.route("/orders")
@routes.arguments(schemas.OrdersQuery, location="query")
@routes.response(200, schemas.OrderList)
def list_orders(query: dict[str, Any]) -> dict[str, Any]:
    """What you have put into orders, in every shop; newest first, by `created_at`.

    One row for each deposit that was attempted, so an order that was undone and sent again has
    more than one; and one for each order that was free.
    """
    caller, state, gig_id = auth.caller(), query["state"], query["gig_id"]
    found, cursor = paging.page(
        f"orders:{caller.account_id}",
        query,
        lambda limit, before: purchases.listed(caller, limit, before, state, gig_id),
        purchases.place,
    )
    return {"orders": found, "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/deposits")
@routes.arguments(schemas.DepositsQuery, location="query")
@routes.response(200, schemas.ShopDepositList)
def list_deposits(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The deposits of a shop's orders, for its vendor, newest first (O-04)."""
    caller, state = auth.caller(), query["state"]
    found, cursor = paging.page(
        f"deposits:{gig_id}",
        query,
        lambda limit, before: purchases.of_shop(caller, gig_id, limit, before, state),
        purchases.place,
    )
    return {"deposits": found, "next_cursor": cursor}
