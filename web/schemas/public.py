"""What the links that people are sent are asked, and what they tell."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine.forms import AVAILABILITIES
from engine.handing_in import MAX_NOTE_CHARACTERS
from engine.own_work import MAX_NAME_CHARACTERS
from engine.violations import MAX_CHARACTERS
from web.fields import Money, Time, one_of, tags, text
from web.schemas.comments import CommentView
from web.schemas.proofs import NOTE, proofs
from web.schemas.states import state
from web.shares import MAX_TOKEN_CHARACTERS


class InviteQuery(Schema):
    token = text(100, 1, required=True)


class InviteInfo(Schema):
    """A gig as somebody sees it who was sent an invite, before he has a key."""

    gig_id = fields.String(required=True)
    title = fields.String(required=True)
    terms = fields.String(required=True)
    status = state("gig", required=True)
    price = Money(attribute="price_units", required=True)
    list_price = Money(
        attribute="list_price_units",
        required=True,
        allow_none=True,
        metadata={"description": "What an order costs at least, in a shop; null elsewhere."},
    )
    distribution = fields.String(required=True)
    join_policy = one_of("invite", "open", required=True)
    requires_approval = fields.Boolean(required=True)
    owner_name = fields.String(required=True)
    label = fields.String(required=True)
    email_bound = fields.Boolean(
        required=True, metadata={"description": "Only the account of one address may join with it."}
    )
    uses_left = fields.Integer(
        required=True, allow_none=True, metadata={"description": "null: as many as you like."}
    )


class InviteInfoAnswer(Schema):
    invite = fields.Nested(InviteInfo, required=True)


class LinkQuery(Schema):
    token = text(
        MAX_TOKEN_CHARACTERS,
        1,
        required=True,
        metadata={"description": "The `share_token` of a mailbox."},
    )


class MailboxInfo(Schema):
    """A mailbox and its gig, as somebody sees them who was sent its link."""

    id = fields.String(required=True)
    name = fields.String(required=True)
    status = state("mailbox", required=True)
    gig_id = fields.String(required=True)
    gig_title = fields.String(required=True)
    gig_status = state("gig", required=True)
    terms = fields.String(required=True)
    price = Money(attribute="price_units", required=True)
    distribution = fields.String(required=True)
    names_own_work = fields.Boolean(
        required=True,
        metadata={
            "description": "No tasks are handed out: `task_identifier` is a name of the worker's "
            "own for what he did."
        },
    )


class MailboxInfoAnswer(Schema):
    mailbox = fields.Nested(MailboxInfo, required=True)


class SharedTaskQuery(LinkQuery):
    task = text(100, 1, required=True, metadata={"description": "The task's id."})


class SharedOrderQuery(Schema):
    gig = text(100, 1, required=True, metadata={"description": "The gig's id."})
    task = text(100, 1, required=True, metadata={"description": "The order's id."})
    token = text(
        MAX_TOKEN_CHARACTERS,
        1,
        required=True,
        metadata={"description": "The `public_token` that its buyer was given with the link."},
    )
    cursor = fields.String(
        load_default=None,
        metadata={"description": "The `next_cursor` of the answer before."},
    )


class SharedOrder(Schema):
    """An order as its link shows it, always with its whole body."""

    id = fields.String(required=True)
    subject = fields.String(required=True)
    payload = fields.String(required=True)
    draft = fields.Boolean(required=True, metadata={"description": "It is not sent."})
    forwarded_at = Time(
        required=True, metadata={"description": "When it was sent; of a draft, when it was saved."}
    )


class SharedOrderAnswer(Schema):
    gig_title = fields.String(required=True)
    order = fields.Nested(SharedOrder, required=True)
    comments = fields.List(fields.Nested(CommentView), required=True)
    can_post = fields.Boolean(
        required=True, metadata={"description": "Never: who would answer joins the shop."}
    )
    next_cursor = fields.String(metadata={"description": "Only where there is more that was said."})


class SharedTask(Schema):
    """A task as the link of a mailbox shows it, always with its whole body."""

    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    subject = fields.String(required=True)
    payload = fields.String(required=True)
    content_type = fields.String(required=True)
    status = state("task", required=True)
    availability = one_of(*AVAILABILITIES, required=True)
    tags = fields.List(fields.String(), required=True)
    price = Money(
        attribute="shown_price_units",
        allow_none=True,
        metadata={"description": "Dollars; null: to be decided. No key on an order."},
    )
    price_tbd = fields.Boolean(required=True)
    forwarded_at = Time(required=True)
    expires_at = Time(
        required=True,
        allow_none=True,
        metadata={"description": "When the mailbox loses it; null: never, or it has it not."},
    )


class SharedTaskAnswer(Schema):
    task = fields.Nested(SharedTask, required=True)


class ByLink(Schema):
    share_token = text(MAX_TOKEN_CHARACTERS, 1, required=True)


class SubmitByLink(ByLink):
    task_identifier = text(
        MAX_NAME_CHARACTERS,
        1,
        required=True,
        metadata={"description": "The task's id; a name of the work where `names_own_work`."},
    )
    proofs = proofs(load_default=list)
    tags = tags(load_default=list)
    private_note = text(MAX_NOTE_CHARACTERS, load_default="", metadata=NOTE)


class SubmittedByLink(Schema):
    proof_id = fields.String(required=True)
    status = state("proof", required=True)
    warning = fields.String(
        metadata={"description": "The gig's pot does not cover this proof and its fee yet."}
    )


class DeclineByLink(ByLink):
    task = text(100, 1, required=True)


class ViolationByLink(DeclineByLink):
    violation = text(
        MAX_CHARACTERS,
        1,
        required=True,
        metadata={"description": "What is wrong with the task; for its owner."},
    )
