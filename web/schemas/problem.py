"""The one shape of every error (H-04)."""

from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Raw, one_of
from web.schemas.limits import OpenTasks, RateLimit


class UnsettledDeposit(Schema):
    deposit_id = fields.String(
        required=True, allow_none=True, metadata={"description": "Null: it has no terms yet."}
    )
    state = one_of("pending", "open", required=True)
    amount = Raw(
        required=True,
        metadata={
            "type": ["number", "null"],
            "format": "decimal",
            "description": "Dollars that the buyer deposits.",
        },
    )
    task_id = fields.String(required=True)


class Problem(Schema):
    """RFC 9457, with `error` and `reason` beside it."""

    error = fields.String(required=True)
    reason = fields.String(required=True)
    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    errors = fields.Dict(
        keys=fields.String(),
        values=fields.String(),
        metadata={"description": "Every bad field by its name, and what is wrong with it."},
    )
    # Members of one reason or another.
    retry_after = fields.Integer(metadata={"description": "Seconds."})
    limit = fields.String(metadata={"description": "The limit that is used up."})
    etag = fields.String(metadata={"description": "The tag as it stands, for `If-Match`."})
    stage = fields.String(
        allow_none=True, metadata={"description": "The stage of its mode that the task is at."}
    )
    mode = fields.String(metadata={"description": "The mode whose fault it is."})
    status_now = fields.String(metadata={"description": "The state that stands in the way."})
    not_before = fields.String(metadata={"description": "When the task is due."})
    message_id = fields.String(metadata={"description": "The task that it is about."})
    funded = fields.Boolean(
        metadata={"description": "Its deposit is in the contract; it was not handed over."}
    )
    deposit_id = fields.String(metadata={"description": "The order's deposit, 0x hex."})
    fee_bps = fields.Integer(metadata={"description": "The platform's rate now."})
    draft_kept = fields.Boolean(metadata={"description": "It is still a draft, as it was."})
    max_bytes = fields.Integer()
    max_rows = fields.Integer()
    max_chars = fields.Integer()
    received_chars = fields.Integer()
    available_funds = Raw(metadata={"type": "number", "format": "decimal"})
    needed = Raw(metadata={"type": "number", "format": "decimal"})
    short = fields.List(fields.String(), metadata={"description": "What the wallet lacks."})
    in_use_for = fields.List(
        fields.String(), metadata={"description": "What the wallet is still needed for."}
    )
    unsettled = fields.Integer(metadata={"description": "Orders that are not settled."})
    deposits = fields.List(
        fields.Nested(UnsettledDeposit),
        metadata={"description": "Theirs, the oldest first, up to 100 of them."},
    )
    rollup_id = fields.String()
    proof_id = fields.String(
        metadata={"description": "The draft, or the approved delivery, that is in the way."}
    )
    rate_limit = fields.Nested(RateLimit)
    open_tasks = fields.Nested(OpenTasks)
