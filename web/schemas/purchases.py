"""A buyer's ledger, and a shop's deposits."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine.purchases import STATES
from web.fields import Money, Time, one_of, text
from web.paging import Page, PageQuery
from web.schemas.gig_fields import about

_STATE = (
    "`pending`: not known to be in the contract yet; `open`: held by it; `settled`: paid to the "
    "vendor; `withdrawn`: gone back to the buyer; `free`: there never was any."
)


def _state(**options: object) -> fields.String:
    return one_of(*STATES, **options)


class DepositsQuery(PageQuery):
    state = _state(load_default=None, metadata=about(f"Only in this state. {_STATE}"))


class OrdersQuery(DepositsQuery):
    gig_id = text(100, load_default=None, metadata=about("Only of this shop."))


class DepositView(Schema):
    """What was deposited for an order, and what became of it. Amounts are dollars."""

    deposit_id = fields.String(
        required=True,
        allow_none=True,
        metadata=about("The id on chain, 0x and 64 hex digits; null where the order was free."),
    )
    gig_id = fields.String(required=True)
    task_id = fields.String(required=True, metadata=about("The order."))
    state = _state(required=True, metadata=about(_STATE))
    amount = Money(attribute="amount_units", required=True, metadata=about("What was deposited."))
    fee_bps = fields.Integer(
        required=True,
        allow_none=True,
        metadata=about("This deposit's own rate, in hundredths of a percent."),
    )
    vendor_payout = Money(
        attribute="payout_units",
        required=True,
        metadata=about("What the vendor gets of it: without the fee, down to a whole cent."),
    )
    tx_hash = fields.String(
        required=True,
        allow_none=True,
        metadata=about("Of the transaction that the state follows from; null while pending."),
    )
    abandoned = fields.Boolean(
        required=True,
        metadata=about("It was given up before it was seen, and another may have taken its place."),
    )
    created_at = Time(required=True)
    settled_at = Time(required=True, allow_none=True)
    withdrawn_at = Time(required=True, allow_none=True)


class OrderView(DepositView):
    gig_title = fields.String(required=True)
    tip_estimate = Money(
        attribute="tip_estimate_units",
        required=True,
        allow_none=True,
        metadata=about(
            "What is above the shop's price of today; null where that is more. The exact tip is "
            "on the task."
        ),
    )


class OrderList(Page):
    orders = fields.List(fields.Nested(OrderView), required=True)


class ShopDepositView(DepositView):
    client_email = fields.String(required=True, metadata=about("The buyer's."))
    tip = Money(
        attribute="tip_units",
        required=True,
        metadata=about("What is above the shop's price when it was deposited."),
    )


class ShopDepositList(Page):
    deposits = fields.List(fields.Nested(ShopDepositView), required=True)
