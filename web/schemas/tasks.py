from __future__ import annotations

from marshmallow import Schema, fields

from engine.comment_readers import POLICIES
from engine.forms import AVAILABILITIES
from web.fields import Money, Time, one_of
from web.schemas.order_fields import OrderFields
from web.schemas.states import price_source, state

PREVIEW_ABOVE, PREVIEW = 6000, 1000


# Of an order only its two sides are shown that.
_NO_KEY = "No key on an order of others."


class TaskView(OrderFields):
    id = fields.String(required=True)
    gig_id = fields.String()
    type = one_of("webhook", required=True, metadata={"description": "How it came."})
    subject = fields.String(required=True)
    payload = fields.String(required=True)
    content_type = fields.String(required=True)
    payload_truncated = fields.Boolean()
    payload_bytes = fields.Integer()
    status = state("task")
    forwarded_at = Time(required=True)
    claimed_at = Time(allow_none=True, metadata={"description": _NO_KEY})
    price = Money(
        attribute="shown_price_units",
        allow_none=True,
        metadata={
            "description": "Dollars that it pays its reader; null: to be decided. Of an order what "
            f"its vendor is owed, null until its deposit is final. {_NO_KEY}"
        },
    )
    price_tbd = fields.Boolean(required=True)
    price_source = price_source("task", "gig", "review")
    priority = fields.Integer(metadata={"description": "The lower goes first."})
    tags = fields.List(fields.String(), required=True)
    declined_count = fields.Integer()
    violation_count = fields.Integer(
        metadata={"description": "How many mailboxes have reported it; for the owner (A-02)."}
    )
    availability = one_of(
        *AVAILABILITIES,
        metadata={
            "description": "Who may take it: anybody, one mailbox (or whoever opens its link "
            "first), nobody."
        },
    )
    not_before = Time(
        allow_none=True, metadata={"description": "Nobody is given it before (T-04)."}
    )
    alias = fields.String(
        allow_none=True, metadata={"description": "The reader's own name for it; only he sees it."}
    )
    comments_policy = one_of(*POLICIES, metadata={"description": "Its own, or the gig's (T-09)."})
    mailbox_id = fields.String(
        allow_none=True,
        metadata={"description": "Its holder, for himself and the owner; or `UNASSIGNED`."},
    )
    expires_at = Time(
        allow_none=True,
        metadata={"description": "When its holder loses it; for him and the owner (Q-07)."},
    )
    accept_by = Time(
        allow_none=True,
        metadata={
            "description": "Until when its holder has to accept it, or it moves on; for him and "
            "the owner. Null: it is his (U-04)."
        },
    )
    private_details = fields.String(
        allow_none=True,
        metadata={"description": "For its holder and the owner only; of an order, for both sides."},
    )
    external_id = fields.String(
        allow_none=True, metadata={"description": "For the owner; of an order, for both sides."}
    )
    reserved_for_me = fields.Boolean()
    reserved_for = fields.String(
        allow_none=True,
        metadata={
            "description": "The mailbox that it is reserved for; for its worker and the owner."
        },
    )
    escrow_funded = fields.Boolean(
        metadata={
            "description": f"Is its pay in a deposit of its own on chain, final (Y-07)? {_NO_KEY}"
        },
    )
    escrow_amount = Money(
        attribute="escrow_units", allow_none=True, metadata={"description": f"Dollars. {_NO_KEY}"}
    )
    escrow_fee_bps = fields.Integer(allow_none=True, metadata={"description": _NO_KEY})
    escrowed_at = Time(allow_none=True, metadata={"description": _NO_KEY})
    deposit_id = fields.String(
        allow_none=True,
        metadata={
            "description": f"Its deposit on chain, from when that is first attempted. {_NO_KEY}"
        },
    )
    source_task_id = fields.String(allow_none=True)
    mode = fields.Dict(
        metadata={
            "description": "What its mode has of its own, if anything: `stage`, what the mode "
            "shows this reader, and for the owner `fields`, as they were sent."
        }
    )


class TaskAnswer(Schema):
    task = fields.Nested(TaskView, required=True)
