from __future__ import annotations

from marshmallow import Schema, fields

from engine.comment_readers import POLICIES
from engine.gigs import MANUAL_REVIEW
from engine.plans import ORDERS
from engine.rules.queue_order import MAX_AGING_SECONDS
from web.fields import Flag, Money, Raw, Time, Whole, WholeText, one_of, tags, text, web_url
from web.paging import Page, PageQuery
from web.strict_json import MAX_INTEGER

MAX_SECONDS = 10 * 365 * 86_400
MAX_RATE_MINUTES = 525_600
# More than anybody has workers or tasks.
MAX_COUNT = 10**9


class GigFields(Schema):
    """What an owner may say of a gig; `attribute` names the column."""

    title = text(200, 1)
    price = Money(attribute="price_units")
    terms = text(20_000)
    notes = text(20_000)
    owner_wallet = fields.String(allow_none=True)
    join_policy = one_of("invite", "open")
    requires_approval = Flag()
    # Before the field that takes the name.
    default_task_tags = tags()
    tags = tags()
    review_timeout = Whole(MANUAL_REVIEW, MAX_SECONDS, attribute="review_timeout_seconds")
    min_payout = Money(attribute="min_payout_units")
    task_escrow = Flag(
        metadata={"description": "Fund each task when it is sent, by a deposit of its own (Y-07)."}
    )
    webhook_max_price = Money(
        attribute="webhook_max_price_units",
        allow_none=True,
        metadata={"description": "The most that a task sent with the token may cost."},
    )
    webhook_daily_spend = Money(
        attribute="webhook_daily_spend_units",
        allow_none=True,
        metadata={"description": "The most that all tasks of a day in UTC may cost together."},
    )
    task_timeout = Whole(
        1,
        MAX_SECONDS,
        attribute="task_timeout_seconds",
        allow_none=True,
        metadata={
            "description": "Seconds for which a claim is held without a heartbeat; null: until it "
            "is given back."
        },
    )
    max_hold_seconds = Whole(
        1,
        MAX_SECONDS,
        allow_none=True,
        metadata={
            "description": "How long heartbeats may keep a claim, from its beginning; at least "
            "`task_timeout`. Null: ten times that."
        },
    )
    queue_order = one_of(*ORDERS)
    queue_aging_seconds = Whole(
        1,
        MAX_AGING_SECONDS,
        allow_none=True,
        metadata={
            "description": "A waiting task gains one step of priority in so many seconds (Q-08); "
            "with the orders fifo and priority."
        },
    )
    max_claims_per_task = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata={"description": "Workers who get a copy of each task; null: all of them."},
    )
    default_rate_limit_count = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata={
            "description": "A worker takes at most so many tasks in so many minutes (M-05); both "
            "or neither. A mailbox may have limits of its own."
        },
    )
    default_rate_limit_minutes = Whole(1, MAX_RATE_MINUTES, allow_none=True)
    default_max_open_tasks = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata={"description": "A worker holds at most so many tasks without a proof."},
    )
    default_comments_policy = one_of(
        *POLICIES,
        metadata={
            "description": "Who reads and writes what is said about a task, unless the task has a "
            "policy of its own (T-09)."
        },
    )
    allow_price_offers = Flag(
        metadata={"description": "A worker may ask for another price with his proof (R-02)."}
    )
    location = text(200)
    icon_url = text(2048)
    proof_webhook_url = web_url(allow_none=True)
    join_webhook_url = web_url(allow_none=True)


class GigCreate(GigFields):
    title = text(200, 1, required=True)
    distribution = text(100, 1)


class GigPatch(GigFields):
    status = one_of("active", "closed")


class GigView(GigFields):
    id = fields.String(required=True)
    status = fields.String(required=True)
    distribution = fields.String(required=True)
    available_funds = Money(attribute="available_units", required=True)
    reserved_funds = Money(attribute="reserved_units", required=True)
    is_owner = fields.Boolean(required=True)
    created_at = Time(required=True)
    webhook = fields.String(metadata={"description": "The tokened URL; for its owner only."})
    invite_url = fields.String()


class GigCreated(Schema):
    gig = fields.Nested(GigView, required=True)
    webhook_secret = fields.String(required=True)


class GigAnswer(Schema):
    gig = fields.Nested(GigView, required=True)


class GigClosed(GigAnswer):
    success = fields.Boolean(required=True)


class PotRefundView(Schema):
    funder = fields.String(required=True)
    amount = Money(attribute="amount_units", required=True)
    tx_hash = fields.String(required=True, allow_none=True)
    status = fields.String(required=True)
    failure = fields.String(required=True, allow_none=True)


class GigCancelled(Schema):
    gig = fields.Nested(GigView, required=True)
    refunds = fields.List(fields.Nested(PotRefundView), required=True)
    kept_funds = Raw(
        required=True,
        metadata={
            "type": "number",
            "format": "decimal",
            "description": "What stays in the pot, and in deposits of its tasks, for what is owed "
            "or may still be, and what the chain does not give back yet.",
        },
    )


class GigList(Page):
    gigs = fields.List(fields.Nested(GigView), required=True)


class MineQuery(PageQuery):
    tag = text(256, load_default=None)


class InviteCreate(Schema):
    max_uses = Whole(1, 10**9, load_default=None, allow_none=True)
    email = text(255, 3, load_default=None, allow_none=True)
    label = text(200, load_default="")


class InviteView(Schema):
    token = fields.String(required=True)
    label = fields.String(required=True)
    email = fields.String(required=True, allow_none=True)
    max_uses = fields.Integer(required=True, allow_none=True)
    used = fields.Integer(required=True)
    invite_url = fields.String(required=True)
    created_at = Time(required=True)


class InviteAnswer(Schema):
    invite = fields.Nested(InviteView, required=True)


class InviteList(Page):
    invites = fields.List(fields.Nested(InviteView), required=True)


class Success(Schema):
    success = fields.Boolean(required=True)


class EventsQuery(Schema):
    after = WholeText(0, MAX_INTEGER, load_default=0)
    limit = PageQuery().fields["limit"]
