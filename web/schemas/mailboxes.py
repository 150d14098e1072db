"""Mailboxes: joining, each role's settings, what is in one's hands, where there is work."""

from __future__ import annotations

import json

from marshmallow import Schema, fields

from engine.models.mailbox import Mailbox
from engine.shelf import IN_HANDS
from web.fields import Flag, Money, Time, Whole, WholeText, one_of, tags, text, web_url
from web.paging import Page, PageQuery
from web.schemas.gig_fields import MAX_COUNT, MAX_RATE_MINUTES, about
from web.schemas.states import state
from web.schemas.tasks import TaskView

TAG_MATCHES = ("substring", "prefix", "exact")
TASKS_URL = about("Where tasks that are given to it are sent. Null: nowhere.")
EVENTS_URL = about("Where verdicts and payouts are sent. Null: nowhere.")
NOTES = about("What the owner may read of its worker.")


def _at_first(field: str) -> str:
    """What a new mailbox has, as a sentence."""
    return f" `{json.dumps(getattr(Mailbox, field).default)}` at first."


class Join(Schema):
    name = text(200, 1, metadata=about("As the owner sees it; by default your display name."))
    email = text(255, 3, metadata=about("As the owner sees it; by default your account's."))
    invite = text(100, 1, metadata=about("The token of an invite, where the gig is by invite."))
    new = Flag(
        load_default=False,
        metadata={
            "description": "Make another mailbox although you have one; it spends a use of the "
            "invite. Without it, joining again gives the one that you have."
        },
    )
    wallet_address = fields.String(
        metadata=about("Where you are paid; without it a hot wallet of yours is made for it.")
    )
    webhook = web_url(allow_none=True, metadata=TASKS_URL | {"default": None})
    events_webhook_url = web_url(allow_none=True, metadata=EVENTS_URL | {"default": None})
    notes = text(5_000, metadata=NOTES | {"default": ""})
    tags = tags(metadata=about("Your own; the owner never sees them.") | {"default": []})


class OwnersSettings(Schema):
    """What only the gig's owner sets on a mailbox. A limit that is null is the gig's."""

    status = one_of(
        "active",
        "inactive",
        metadata=about("Owner only. `active` approves it; `inactive`: what it holds goes back."),
    )
    priority = Whole(1, 10, metadata=about("Owner only." + _at_first("priority")))
    rate_limit_count = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata=about("Owner only: so many tasks in `rate_limit_minutes`; null: the gig's limit."),
    )
    rate_limit_minutes = Whole(
        1,
        MAX_RATE_MINUTES,
        allow_none=True,
        metadata=about("Owner only; goes with `rate_limit_count`."),
    )
    max_open_tasks = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata=about("Owner only: so many tasks held without a proof; null: the gig's limit."),
    )


class WorkersSettings(Schema):
    """What only its worker sets on it. The filters steer what is pushed to him, never his polls."""

    name = text(200, 1, metadata=about("As the owner sees it."))
    notes = text(5_000, metadata=NOTES)
    # Before the field that takes the name.
    filter_tags = tags(metadata=about("Only tasks with one of these are pushed; empty: all."))
    tags = tags(metadata=about("Your own; the owner never sees them."))
    paused = Flag(
        metadata=about(
            "Nothing is pushed meanwhile; his own polls and claims go on. A shop whose vendor has "
            "paused is sent no new order." + _at_first("paused")
        )
    )
    filter_tag_match = one_of(
        *TAG_MATCHES,
        metadata=about("How `filter_tags` match a task's tag." + _at_first("filter_tag_match")),
    )
    filter_price_min = Money(
        attribute="filter_price_min_units",
        allow_none=True,
        metadata=about("Dollars; what pays less is not pushed. Null: no limit."),
    )
    filter_price_max = Money(
        attribute="filter_price_max_units",
        allow_none=True,
        metadata=about("Dollars; what pays more is not pushed. Null: no limit."),
    )
    filter_accept_tbd = Flag(
        metadata=about(
            "Push tasks whose price is to be decided as well." + _at_first("filter_accept_tbd")
        )
    )
    wallet_address = fields.String(
        metadata=about("Where payouts go from now on; what is under way goes where it went.")
    )
    webhook = web_url(allow_none=True, metadata=TASKS_URL)
    events_webhook_url = web_url(allow_none=True, metadata=EVENTS_URL)


class MailboxPatch(OwnersSettings, WorkersSettings):
    """Each role gives its own fields, and is refused the other's. What is left out stays."""


class MailboxView(Schema):
    """One mailbox. Tags, filters and webhooks are in its worker's view alone."""

    id = fields.String(required=True)
    gig_id = fields.String(required=True)
    status = state("mailbox", required=True)
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
    gig_status = state("gig", required=True)
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


class MailboxChanged(MailboxAnswer):
    success = fields.Boolean(required=True)
    webhook_secret = fields.String(
        metadata={
            "description": "What signs the webhooks of a vendor's own place in his shop; only when "
            "one of them is set."
        }
    )


class WorkerView(MailboxView):
    """A mailbox for its gig's owner."""

    number = fields.Integer(
        required=True,
        metadata={"description": "Of its worker's account: what he is called by in `/v1`."},
    )


class MailboxList(Page):
    mailboxes = fields.List(fields.Nested(WorkerView), required=True)


class MyMailboxList(Page):
    mailboxes = fields.List(fields.Nested(MyMailboxView), required=True)


class InboundQuery(PageQuery):
    status = one_of(*IN_HANDS, load_default=None, metadata=about("Only in this state."))
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
    listed_at = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "description": "Where the mode has no polls: the path that lists what came to this "
            "worker by itself."
        },
    )
    poll_exact = fields.Boolean(
        required=True, metadata={"description": "Always true: it is no estimate."}
    )


class WorkAvailable(Page):
    mailboxes = fields.List(fields.Nested(Work), required=True)
