"""A proof as it is answered everywhere."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine.parties import CLIENT, GIGWORKER
from web.fields import Money, Time, one_of
from web.schemas.gig_fields import about
from web.schemas.order_fields import PurchaseFields
from web.schemas.states import price_source, state


class ProofView(PurchaseFields):
    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    mailbox_id = fields.String(required=True)
    task_identifier = fields.String(required=True)
    status = state("proof", required=True)
    proofs = fields.List(fields.String(), attribute="evidence", required=True)
    tags = fields.List(fields.String(), required=True)
    private_note = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "Empty: there is none. Null: there is one, which opens to the reviewer "
            "once the proof is paid; where the order was free, once it is approved."
        },
    )
    private_note_locked = fields.Boolean(required=True)
    locked_price = Money(
        attribute="locked_price_units",
        required=True,
        allow_none=True,
        metadata={
            "description": "Dollars that it pays if it is approved. Null: to be decided; approved "
            "without an amount it is the gig's price."
        },
    )
    price_pending = fields.Boolean(
        required=True, metadata={"description": "The price is still to be decided."}
    )
    price_source = price_source(required=True)
    asking_price = Money(
        attribute="asking_price_units",
        required=True,
        allow_none=True,
        metadata={"description": "Paid only if the proof is approved at that amount."},
    )
    feedback = fields.String(required=True)
    rejection_tag = fields.String(required=True, allow_none=True)
    submitted_at = Time(
        required=True,
        allow_none=True,
        metadata={"description": "Null for a draft that was never handed in."},
    )
    resubmitted = fields.Boolean(
        required=True, metadata={"description": "It was handed in before, by the same mailbox."}
    )
    timeout_at = Time(
        required=True,
        allow_none=True,
        metadata={"description": "When the clock approves it without a verdict; null: never."},
    )
    reviewed_at = Time(required=True, allow_none=True)
    rollup_id = fields.String(
        required=True,
        allow_none=True,
        metadata={"description": "What carries it; its verdict is final from then on."},
    )
    paid_out_at = Time(required=True, allow_none=True)
    reported_at = Time(required=True, allow_none=True)
    reported_by = one_of(
        CLIENT,
        GIGWORKER,
        required=True,
        allow_none=True,
        metadata={"description": "`client`, who approves and pays, or `gigworker`."},
    )
    report_reason = fields.String(required=True, allow_none=True)
    alias = fields.String(
        required=True, allow_none=True, metadata={"description": "The reader's own name for it."}
    )
    price = Money(
        attribute="shown_price_units",
        allow_none=True,
        metadata=about("Of an order: what its vendor is owed, in dollars; null once it is undone."),
    )
    deposit_id = fields.String(
        allow_none=True, metadata=about("Of an order: the deposit that pays for it.")
    )
    # For the reviewer only.
    can_revise = fields.Boolean(
        metadata={"description": "There is a verdict, and it may still change."}
    )
    revision_blocked_by_rollup_id = fields.String(allow_none=True)
    revision_blocked_by_requeue = fields.Boolean(
        metadata={"description": "Its task went on to others, so the rejection is final."}
    )
    task_released_at = Time(
        allow_none=True, metadata={"description": "When its task went on to others."}
    )


class ProofAnswer(Schema):
    proof = fields.Nested(ProofView, required=True)
