"""Mailboxes: joining, each role's settings, what is in one's hands, where there is work."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine.shelf import IN_HANDS
from web.fields import Flag, Money, Time, Whole, WholeText, one_of, tags, text, web_url
from web.paging import Page, PageQuery
from web.schemas.gigs import MAX_COUNT, MAX_RATE_MINUTES
from web.schemas.tasks import TaskView

TAG_MATCHES = ("substring", "prefix", "exact")


class Join(Schema):
    name = text(200, 1)
    email = text(255, 3)
    invite = text(100, 1)
    new = Flag(
        load_default=False,
        metadata={
            "description": "Make another mailbox although you have one; it spends a use of the "
            "invite. Without it, joining again gives the one that you have."
        },
    )
    wallet_address = fields.String()
    webhook = web_url(allow_none=True)
    events_webhook_url = web_url(allow_none=True)
    notes = text(5_000)
    tags = tags()


class OwnersSettings(Schema):
    """What only the gig's owner sets on a mailbox. A limit that is null is the gig's."""

    status = one_of("active", "inactive")
    priority = Whole(1, 10)
    rate_limit_count = Whole(1, MAX_COUNT, allow_none=True)
    rate_limit_minutes = Whole(1, MAX_RATE_MINUTES, allow_none=True)
    max_open_tasks = Whole(1, MAX_COUNT, allow_none=True)


class WorkersSettings(Schema):
    """What only its worker sets on it. The filters steer what is pushed to him, never his polls."""

    name = text(200, 1)
    notes = text(5_000)
    # Before the field that takes the name.
    filter_tags = tags()
    tags = tags()
    paused = Flag(
        metadata={"description": "Nothing is pushed meanwhile; his own polls and claims go on."}
    )
    filter_tag_match = one_of(*TAG_MATCHES)
    filter_price_min = Money(attribute="filter_price_min_units", allow_none=True)
    filter_price_max = Money(attribute="filter_price_max_units", allow_none=True)
    filter_accept_tbd = Flag()
    wallet_address = fields.String()
    webhook = web_url(allow_none=True)
    events_webhook_url = web_url(allow_none=True)


class MailboxPatch(OwnersSettings, WorkersSettings):
    """Each role gives its own fields, and is refused the other's."""


class MailboxView(Schema):
    """One mailbox. Tags, filters and webhooks are in its worker's view alone."""

    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    status = one_of("pending_approval", "active", "inactive", required=True)
    name = fields.String(required=True)
    email = fields.String(required=True)
    wallet_address = fields.String(required=True)
    notes = fields.String(required=True)
    priority = fields.Integer(required=True)
    rate_limit_count = fields.Integer(required=True, allow_none=True)
    rate_limit_minutes = fields.Integer(required=True, allow_none=True)
    max_open_tasks = fields.Integer(required=True, allow_none=True)
    paused = fields.Boolean(required=True)
    tags = fields.List(fields.String())
    filter_tags = fields.List(fields.String())
    filter_tag_match = one_of(*TAG_MATCHES)
    filter_price_min = Money(attribute="filter_price_min_units", allow_none=True)
    filter_price_max = Money(attribute="filter_price_max_units", allow_none=True)
    filter_accept_tbd = fields.Boolean()
    webhook = fields.String(allow_none=True)
    events_webhook_url = fields.String(allow_none=True)
    joined_at = Time(required=True)
    left_at = Time(
        required=True,
        allow_none=True,
        metadata={"description": "When its worker left; he comes back by joining again."},
    )
    tasks_received = fields.Integer()
    proofs_submitted = fields.Integer()
    response_rate = fields.Float(
        allow_none=True,
        metadata={"description": "0 to 1; null while nothing that came is due."},
    )


class MyMailboxView(MailboxView):
    """One's own mailbox, with what one must know of its gig to work in it."""

    gig_title = fields.String(required=True)
    gig_status = fields.String(required=True)
    distribution = fields.String(required=True)
    polls = fields.Boolean(
        required=True,
        metadata={
            "description": "Work is polled for here (`POST /gigs/:id/queue/poll`); false where it "
            "is only pushed. `GET /work/available` says where there is some now."
        },
    )
    share_token = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "Whoever has it hands in for this mailbox without a key, at "
            "`/submit/:token`. Null: there is none; `POST …/regenerate-token` makes one."
        },
    )


class Joined(Schema):
    mailbox = fields.Nested(MailboxView, required=True)
    webhook_secret = fields.String(metadata={"description": "Shown to a new mailbox once."})


class MailboxAnswer(Schema):
    mailbox = fields.Nested(MailboxView, required=True)


class MailboxList(Page):
    mailboxes = fields.List(fields.Nested(MailboxView), required=True)


class MyMailboxList(Page):
    mailboxes = fields.List(fields.Nested(MyMailboxView), required=True)


class InboundQuery(PageQuery):
    status = one_of(*IN_HANDS, load_default=None)
    summary = WholeText(
        0, 1, load_default=0, metadata={"description": "1: the counts, and no tasks."}
    )


class InboundCounts(Schema):
    """`reserved` counts what waits for this mailbox alone and may be polled now."""

    claimed = fields.Integer(required=True)
    submitted = fields.Integer(required=True)
    reserved = fields.Integer(required=True)


class Inbound(Schema):
    """Without `summary` the tasks; with it the counts instead."""

    mailbox_id = fields.String(required=True)
    tasks = fields.List(fields.Nested(TaskView))
    next_cursor = fields.String(allow_none=True, metadata={"description": "Null at the end."})
    counts = fields.Nested(InboundCounts)


class Work(Schema):
    mailbox_id = fields.String(required=True)
    gig_id = fields.String(required=True)
    gig_title = fields.String(required=True)
    distribution = fields.String(required=True)
    poll_in_gig = fields.Boolean(
        required=True,
        allow_none=True,
        metadata={
            "description": "Would a poll without a filter give this mailbox a task now? Null where "
            "the gig's mode has no polls."
        },
    )
    poll_exact = fields.Boolean(
        required=True, metadata={"description": "Always true: it is no estimate."}
    )


class WorkAvailable(Page):
    mailboxes = fields.List(fields.Nested(Work), required=True)
