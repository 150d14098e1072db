"""Proofs and their review, as they are asked and answered."""

from __future__ import annotations

from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load, validate

from engine.handing_in import MAX_NOTE_CHARACTERS
from engine.proofs import REJECTION_TAGS
from web.fields import Flag, Money, Time, one_of, tags, text
from web.paging import Page, PageQuery

MAX_EVIDENCE = 1000
MAX_EVIDENCE_CHARACTERS = 8000


class ProofSubmit(Schema):
    mailbox_id = fields.String(load_default=None)
    task_identifier = text(100, 1, required=True, data_key="task_identifier")
    proofs = fields.List(
        text(MAX_EVIDENCE_CHARACTERS, 1),
        load_default=list,
        validate=validate.Length(max=MAX_EVIDENCE, error=f"give at most {MAX_EVIDENCE}"),
    )
    tags = tags(load_default=list)
    private_note = text(MAX_NOTE_CHARACTERS, load_default="")


class ProofView(Schema):
    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    mailbox_id = fields.String(required=True)
    task_identifier = fields.String(attribute="task_id", required=True)
    status = fields.String(required=True)
    proofs = fields.List(fields.String(), attribute="evidence", required=True)
    tags = fields.List(fields.String(), required=True)
    private_note = fields.String(required=True, allow_none=True)
    private_note_locked = fields.Boolean(required=True)
    locked_price = Money(attribute="locked_price_units", required=True, allow_none=True)
    price_pending = fields.Boolean(required=True)
    price_source = fields.String(required=True)
    feedback = fields.String(required=True)
    rejection_tag = fields.String(required=True, allow_none=True)
    submitted_at = Time(required=True)
    timeout_at = Time(required=True, allow_none=True)
    reviewed_at = Time(required=True, allow_none=True)
    rollup_id = fields.String(required=True, allow_none=True)
    paid_out_at = Time(required=True, allow_none=True)


class ProofAnswer(Schema):
    proof = fields.Nested(ProofView, required=True)


class ProofsQuery(PageQuery):
    status = one_of("pending", "approved", "timeout_approved", "rejected", load_default=None)
    task = fields.String(load_default=None)


class ProofList(Page):
    proofs = fields.List(fields.Nested(ProofView), required=True)


class Review(Schema):
    action = one_of("approve", "reject", required=True)
    feedback = text(8000, load_default="")
    amount = Money(attribute="amount_units", load_default=None, allow_none=True)
    rejection_tag = one_of(*REJECTION_TAGS, load_default=None, allow_none=True)
    requeue = Flag(load_default=True)

    @post_load
    def coherent(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Fields of the other verdict are a mistake, not to be dropped in silence."""
        if data["action"] == "approve" and data["rejection_tag"] is not None:
            raise ValidationError({"rejection_tag": ["goes with reject only"]})
        if data["action"] == "reject" and data["amount_units"] is not None:
            raise ValidationError({"amount": ["goes with approve only"]})
        return data


class Reviewed(Schema):
    success = fields.Boolean(required=True)
    status = fields.String(required=True)
    locked_price = Money(attribute="locked_price_units", required=True, allow_none=True)
    price_source = fields.String(required=True)
    revised = fields.Boolean(required=True)
    previous_status = fields.String(required=True)
    requeued = fields.Boolean(required=True)
    task_identifier = fields.String(required=True)
