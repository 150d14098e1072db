"""The fields of an order that only its two sides are shown: others get no such key."""

from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Money, Time, one_of
from web.schemas.gig_fields import about

WITHDRAWN_BY = ("participant", "vendor", "reconciler", "operator")
_SIDES = "Of an order, for its buyer and its vendor"


class PurchaseFields(Schema):
    """What was bought, by whom and for how much; also with each delivery of it."""

    funded_total = Money(
        attribute="funded_total_units",
        allow_none=True,
        metadata=about(f"{_SIDES}: what the buyer deposited, in dollars; null until it is final."),
    )
    funded_minimum = Money(
        attribute="funded_minimum_units",
        allow_none=True,
        metadata=about(f"{_SIDES}: the shop's price when it was published, in dollars."),
    )
    tip = Money(
        attribute="tip_units",
        allow_none=True,
        metadata=about(f"{_SIDES}: `funded_total` less `funded_minimum`, in dollars."),
    )
    fee_bps = fields.Integer(
        allow_none=True,
        metadata=about(f"{_SIDES}: the fee's rate of this deposit, in 1/100 of a percent."),
    )
    client_email = fields.String(allow_none=True, metadata=about(f"{_SIDES}: the buyer's address."))
    client_user_id = fields.String(metadata=about("Of an order, for its buyer alone: his account."))
    is_my_order = fields.Boolean(metadata=about(f"{_SIDES}: is the reader its buyer?"))
    accepted_at = Time(
        allow_none=True, metadata=about(f"{_SIDES}: when it came to the vendor; null before.")
    )
    order_free = fields.Boolean(
        metadata=about(f"{_SIDES}: true for one sent to a shop that takes no money; else no key.")
    )
    order_withdrawn_at = Time(
        metadata=about(f"{_SIDES}: when it was undone; no key on any other order.")
    )
    order_withdrawn_by = one_of(
        *WITHDRAWN_BY, allow_none=True, metadata=about(f"{_SIDES}, once it is undone: by whom.")
    )
    order_withdrawn_reason = fields.String(
        allow_none=True,
        metadata=about(f"{_SIDES}, once it is undone: why, where neither of them asked for it."),
    )


class OrderFields(PurchaseFields):
    """Of an order, for its buyer and its vendor alone."""

    public_link = fields.Boolean(
        metadata=about(f"{_SIDES}: does a link open it to whoever has that (O-07)?")
    )
    public_token = fields.String(
        metadata=about("Of an order, for its buyer alone: the token of that link, if there is one.")
    )
