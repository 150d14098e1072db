from __future__ import annotations

from typing import Any

from marshmallow import Schema, ValidationError, fields, post_load, validate

from engine.proofs import MAX_NOTE_CHARACTERS, REJECTION_TAGS
from engine.rules import money
from engine.tasks import MAX_PRIORITY
from web.fields import (
    MAX_TAG_CHARACTERS,
    MAX_TAGS,
    Flag,
    Money,
    Raw,
    Time,
    Whole,
    WholeText,
    one_of,
    tags,
    text,
)
from web.paging import Page, PageQuery

MAX_EVIDENCE = 1000
MAX_EVIDENCE_CHARACTERS = 8000
PREVIEW_ABOVE, PREVIEW = 6000, 1000


class SubmitQuery(Schema):
    """The query of a gig's webhook; the body is the payload (T-01)."""

    token = text(100, 1, required=True)
    subject = text(500, load_default="")
    tags = fields.String(load_default="", metadata={"description": "Commas between."})
    price = fields.String(load_default=None, metadata={"description": "Dollars, or tbd."})
    priority = WholeText(0, MAX_PRIORITY, load_default=None)
    external_id = text(255, 1, load_default=None)

    @post_load
    def split(self, data: dict[str, Any], **_: Any) -> dict[str, Any]:
        price = data.pop("price")
        data["price_tbd"] = price == "tbd"
        data["price_units"] = None if price in (None, "tbd") else _price(price)
        data["tags"] = tuple(tag.strip() for tag in data["tags"].split(",") if tag.strip())
        if len(data["tags"]) > MAX_TAGS:
            raise ValidationError({"tags": [f"give at most {MAX_TAGS} tags"]})
        if any(len(tag) > MAX_TAG_CHARACTERS for tag in data["tags"]):
            raise ValidationError({"tags": [f"a tag may have {MAX_TAG_CHARACTERS} characters"]})
        return data


def _price(value: str) -> int:
    try:
        return money.parse_units(value)
    except ValueError as error:
        raise ValidationError({"price": [f"{error}; or tbd"]}) from error


class Submitted(Schema):
    """What the gig's mode did with it; the last five of a `task_escrow` gig only (Y-07)."""

    status = fields.String(required=True)
    message_id = fields.String(required=True)
    priority = fields.Integer()
    escrow_funded = fields.Boolean()
    escrow_amount = Raw(metadata={"type": "number", "format": "decimal"})
    escrow_fee_bps = fields.Integer()
    escrowed_at = fields.String(metadata={"format": "date-time"})
    deposit_id = fields.String()


class PollQuery(Schema):
    wait = WholeText(0, 60, load_default=0, metadata={"description": "Seconds to wait for work."})


class Poll(Schema):
    count = Whole(1, 20, load_default=2)
    mailbox_id = fields.String(load_default=None)


class Decline(Schema):
    mailbox_id = fields.String(load_default=None)


class TaskView(Schema):
    id = fields.String(required=True)
    gig_id = fields.String()
    type = fields.String(required=True)
    subject = fields.String(required=True)
    payload = fields.String(required=True)
    content_type = fields.String(required=True)
    payload_truncated = fields.Boolean()
    payload_bytes = fields.Integer()
    status = fields.String()
    forwarded_at = Time(required=True)
    claimed_at = Time(required=True, allow_none=True)
    price = Money(attribute="shown_price_units", required=True, allow_none=True)
    price_tbd = fields.Boolean(required=True)
    price_source = fields.String()
    priority = fields.Integer()
    tags = fields.List(fields.String(), required=True)
    declined_count = fields.Integer()
    mailbox_id = fields.String(allow_none=True)
    external_id = fields.String(allow_none=True)
    reserved_for_me = fields.Boolean()
    escrow_funded = fields.Boolean(
        required=True,
        metadata={"description": "Is its pay in a deposit of its own on chain, final (Y-07)?"},
    )
    escrow_amount = Money(attribute="escrow_units", required=True, allow_none=True)
    escrow_fee_bps = fields.Integer(required=True, allow_none=True)
    escrowed_at = Time(required=True, allow_none=True)
    deposit_id = fields.String(required=True, allow_none=True)
    source_task_id = fields.String(allow_none=True)


class Polled(Schema):
    tasks = fields.List(fields.Nested(TaskView), required=True)
    count = fields.Integer(required=True)
    mailbox_id = fields.String(required=True)
    scan_exhausted = fields.Boolean(required=True)
    filter_applied = fields.Boolean(required=True)
    rate_limit = Raw(required=True, allow_none=True, metadata={"type": "object"})
    open_tasks = Raw(required=True, allow_none=True, metadata={"type": "object"})


class TaskAnswer(Schema):
    task = fields.Nested(TaskView, required=True)


class QueueList(Page):
    tasks = fields.List(fields.Nested(TaskView), required=True)


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
