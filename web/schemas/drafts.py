from __future__ import annotations

from typing import Any

from marshmallow import Schema, ValidationError, fields, validates_schema

from engine.forms import AVAILABILITIES
from web.fields import Raw, Time, one_of, text
from web.paging import Page
from web.schemas.forms import SUBJECT, JsonForm
from web.schemas.order_fields import OrderFields


class DraftPatch(JsonForm):
    """The whole form of a draft, or any part of it. What is not given stays; null clears.

    The gig's mode may take more members: `fields` of `GET /api/modes`.
    """

    by_mode = True


class PayloadChange(Schema):
    """The body of a draft, its subject, or both. What is not given stays."""

    payload = fields.Raw(
        allow_none=True,
        metadata={
            "type": ["string", "number", "boolean", "object", "array"],
            "description": "Text is kept to the byte; any other value is kept as JSON.",
        },
    )
    subject = text(500, metadata=SUBJECT)

    @validates_schema
    def something(self, data: dict[str, Any], **_: Any) -> None:
        if not data:
            raise ValidationError({"payload": ["give payload, subject, or both"]})


class DraftView(OrderFields):
    """A draft as its owner edits it; the members of its form may be sent back as they are.

    An order that is not sent, as its buyer and its vendor see it.
    """

    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    status = one_of(
        "draft",
        "unfunded",
        "withdrawn",
        required=True,
        metadata={
            "description": "`unfunded`: an order that is being paid for; `withdrawn`: one that was "
            "undone, and may be published again."
        },
    )
    subject = fields.String(required=True)
    payload = fields.String(required=True)
    content_type = fields.String(required=True)
    payload_truncated = fields.Boolean()
    payload_bytes = fields.Integer()
    tags = fields.List(fields.String(), required=True)
    price = Raw(
        required=True,
        metadata={
            "type": ["number", "string", "null"],
            "description": "Dollars; `tbd` for one that is to be decided; null for the gig's. Of "
            "an order what its vendor is owed: null while nothing is paid for it.",
        },
    )
    priority = fields.Integer(required=True, allow_none=True)
    assign_to = fields.String(attribute="assignee_id", required=True, allow_none=True)
    availability = one_of(*AVAILABILITIES, required=True, allow_none=True)
    reserved_for = fields.String(required=True, allow_none=True)
    not_before = Time(required=True, allow_none=True)
    external_id = fields.String(required=True, allow_none=True)
    fields_of_mode = fields.Dict(
        data_key="fields",
        metadata={
            "description": "What was said under the names of the gig's mode, where it has any; "
            "each may be changed by its name."
        },
    )
    private_details = fields.String(
        allow_none=True, metadata={"description": "Of an order; no list of others shows it."}
    )
    deposit_id = fields.String(
        allow_none=True, metadata={"description": "Of an order that a deposit was tried for."}
    )
    created_at = Time(required=True)
    draft_saved_at = Time(required=True)


class DraftList(Page):
    drafts = fields.List(fields.Nested(DraftView), required=True)


class DraftSaved(Schema):
    """What the webhook answers for a draft that is saved again, and the draft (T-02)."""

    status = one_of("draft", "withdrawn", required=True)
    message_id = fields.String(required=True)
    updated = fields.Boolean(required=True)
    draft_saved_at = fields.String(required=True, metadata={"format": "date-time"})
    draft = fields.Nested(DraftView, required=True)
