"""Undoing orders, and the operator's word on disputed ones."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine import order_disputes, order_news
from web.fields import Raw, one_of, text
from web.schemas.gig_fields import about
from web.schemas.states import state


class Withdrawn(Schema):
    """The money's final position; of a free order without `deposit_id`, `tx_hash`, `claimable`."""

    success = fields.Boolean(required=True)
    state = one_of(
        "withdrawn", required=True, metadata=about("Nothing of this order is in the contract.")
    )
    reason = one_of(
        "never_funded", metadata=about("The deposit was never opened, so nothing came back.")
    )
    gig_id = fields.String(required=True)
    task_id = fields.String(required=True)
    free = fields.Boolean(metadata=about("The shop takes no money, so nothing came back."))
    deposit_id = fields.String(metadata=about("The deposit on chain, 0x hex."))
    tx_hash = fields.String(
        allow_none=True, metadata=about("Of the refund; null: there was nothing to send.")
    )
    amount = Raw(
        required=True,
        metadata={
            "type": "number",
            "format": "decimal",
            "description": "Dollars that went back to whoever had deposited them.",
        },
    )
    claimable = fields.Boolean(
        metadata=about(
            "The token refused the transfer, so the contract keeps the amount for the depositor, "
            "who claims it with POST /api/wallets/:id/claim."
        )
    )
    withdrawn_by = one_of(
        *order_news.WITHDRAWERS,
        required=True,
        allow_none=True,
        metadata=about(
            "The buyer (`participant`), the `vendor`, the `operator`, or the `reconciler`, where "
            "the money had left without any of them; null for a draft that was never funded."
        ),
    )
    withdrawn_at = fields.String(required=True, allow_none=True, metadata={"format": "date-time"})


class Resolve(Schema):
    verdict = one_of(
        *order_disputes.VERDICTS,
        required=True,
        metadata=about("`pay` approves the delivery, `refund` undoes the order."),
    )
    reason = text(
        order_disputes.MAX_CHARACTERS, 1, required=True, metadata=about("Why; both sides read it.")
    )


class Resolved(Schema):
    success = fields.Boolean(required=True)
    verdict = one_of(*order_disputes.VERDICTS, required=True)
    proof_id = fields.String(required=True)
    status = state("proof", required=True, metadata=about("Of the delivery, now."))
    task_id = fields.String(required=True)
    task_status = state(
        "task",
        required=True,
        metadata=about("Of the order: `undoing` until its deposit is back, then `withdrawn`."),
    )
