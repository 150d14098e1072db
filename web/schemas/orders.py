"""Orders: sending, funding and undoing them."""

from __future__ import annotations

from marshmallow import Schema

from web.fields import Money, text, web_url
from web.schemas.gig_fields import about


class Publish(Schema):
    """Only for orders; a draft of any other gig is published without a body."""

    amount = Money(
        attribute="amount_units",
        metadata=about(
            "Dollars to deposit, in whole cents: at least the shop's list_price; what is above it "
            "is a tip. Left out, or 0, in a shop that takes no money."
        ),
    )
    wallet_alias_id = text(
        100,
        attribute="wallet_id",
        metadata=about("The hot wallet of yours that pays; without it, your mailbox's."),
    )
    order_webhook_url = web_url(
        metadata=about("Where `order.*` events of this order are sent; no route shows it again.")
    )
    order_webhook_secret = text(
        500, 1, metadata=about("What signs them, of your choice; without it they are unsigned.")
    )
