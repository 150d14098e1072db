from __future__ import annotations

from marshmallow import Schema, fields

from engine.forms import AVAILABILITIES
from web.fields import Raw, Time, one_of
from web.paging import Page
from web.schemas.forms import JsonForm


class DraftPatch(JsonForm):
    """The whole form of a draft, or any part of it. What is not given stays; null clears."""


class DraftView(Schema):
    """A draft as its owner edits it; the members of its form may be sent back as they are."""

    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    status = one_of("draft", required=True)
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
            "description": "Dollars; `tbd` for one that is to be decided; null for the gig's.",
        },
    )
    priority = fields.Integer(required=True, allow_none=True)
    assign_to = fields.String(attribute="assignee_id", required=True, allow_none=True)
    availability = one_of(*AVAILABILITIES, required=True, allow_none=True)
    reserved_for = fields.String(required=True, allow_none=True)
    not_before = Time(required=True, allow_none=True)
    external_id = fields.String(required=True, allow_none=True)
    created_at = Time(required=True)
    draft_saved_at = Time(required=True)


class DraftList(Page):
    drafts = fields.List(fields.Nested(DraftView), required=True)


class DraftSaved(Schema):
    """What the webhook answers for a draft that is saved again, and the draft (T-02)."""

    status = one_of("draft", required=True)
    message_id = fields.String(required=True)
    updated = fields.Boolean(required=True)
    draft_saved_at = fields.String(required=True, metadata={"format": "date-time"})
    draft = fields.Nested(DraftView, required=True)
