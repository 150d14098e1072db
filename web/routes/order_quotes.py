"""What a wallet elsewhere signs to pay for an order."""

from __future__ import annotations

from typing import Any

from engine import order_quotes
from web import auth
from web.blueprint import Routes
from web.order_quote_views import quote_view
from web.schemas import orders as schemas

routes = Routes("order_quotes", "Paying for an order from a wallet whose key is kept elsewhere.")


@routes.route("/gigs/<gig_id>/tasks/<task_id>/publish/quote", methods=["POST"], refuses=[429])
@routes.arguments(schemas.AskQuote)
@routes.response(200, schemas.Quoted)
def quote(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """The terms of a deposit for the caller's own order, to be signed by any wallet (O-10).

    Nothing is paid by this. Publish with `authorization: {signature}` sends what was signed, and
    the operator pays the gas, so many a day (429 `rate_limited`). The depositor may also send it
    himself, as a contract wallet has to, whose signature cannot be used (400 `contract_wallet`):
    then publishing without an amount finishes the order. Asked again the same terms are answered
    while they are good; others take their place, unless they were published: then 409
    `deposit_unreconciled` until they have run out. A quote holds no price: what was signed is sent
    at the shop's of that moment, so 400 `below_list_price` if it is too little.
    """
    asked = order_quotes.quote(
        auth.caller(), gig_id, task_id, body.get("amount_units"), body["wallet_address"]
    )
    return quote_view(asked)
