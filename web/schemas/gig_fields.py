"""What an owner may say of a gig, when he makes it and later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, fields

from engine import gig_settings
from engine.comment_readers import POLICIES
from engine.gigs import MANUAL_REVIEW
from engine.holds import DEFAULT_HOLD_FACTOR
from engine.plans import ORDERS
from engine.rules.queue_order import MAX_AGING_SECONDS
from web.fields import Flag, Money, Whole, link, one_of, tags, text, web_url

MAX_SECONDS = 10 * 365 * 86_400
MAX_RATE_MINUTES = 525_600
# More than anybody has workers or tasks.
MAX_COUNT = 10**9


def about(words: str) -> dict[str, str]:
    return {"description": words}


class GigFields(Schema):
    """What an owner may say of a gig; `attribute` names the column."""

    title = text(200, 1)
    price = Money(
        attribute="price_units",
        metadata=about("Dollars that a task pays unless it has a price of its own."),
    )
    list_price = Money(
        attribute="list_price_units",
        allow_none=True,
        metadata=about(
            "Where members order: the dollars that an order costs at least; 0 for a shop that "
            "takes no money. Null in every other gig."
        ),
    )
    terms = text(20_000, metadata=about("What a worker agrees to; whoever may join reads it."))
    notes = text(20_000, metadata=about("For the owner alone."))
    owner_wallet = fields.String(
        allow_none=True,
        metadata=about(
            "The address of the owner's hot wallet that pays for tasks with `task_escrow`, or at "
            "which his own mailbox in a new shop is paid; only he sees it."
        ),
    )
    join_policy = one_of(
        "invite", "open", metadata=about("`open`: anybody with a key may join, without an invite.")
    )
    requires_approval = Flag(
        metadata=about(
            "A worker who joins waits (`pending_approval`) until the owner makes his mailbox "
            "`active`, unless his invite names him."
        )
    )
    # Before the field that takes the name.
    default_task_tags = tags(metadata=about("The tags of a task that is sent without any."))
    tags = tags(metadata=about("The gig's own, by which `GET /gigs/mine` finds it."))
    review_timeout = Whole(
        MANUAL_REVIEW,
        MAX_SECONDS,
        attribute="review_timeout_seconds",
        metadata=about(
            "Seconds from handing in until the clock approves a proof without a verdict "
            f"(`timeout_approved`). {MANUAL_REVIEW}: never, only the owner approves."
        ),
    )
    min_payout = Money(
        attribute="min_payout_units",
        metadata=about("Dollars; what a worker is owed below that waits for more."),
    )
    task_escrow = Flag(
        metadata=about(
            "Fund each task when it is sent, by a deposit of its own (Y-07); needs `owner_wallet` "
            "and `webhook_daily_spend`."
        )
    )
    webhook_max_price = Money(
        attribute="webhook_max_price_units",
        allow_none=True,
        metadata=about(
            "The most dollars that a task sent with the token may cost; dearer ones become drafts. "
            "Null: no limit."
        ),
    )
    webhook_daily_spend = Money(
        attribute="webhook_daily_spend_units",
        allow_none=True,
        metadata=about(
            "The most dollars that all tasks sent with the token in a day (UTC) may cost together; "
            "what goes beyond becomes drafts. Null: no limit."
        ),
    )
    task_timeout = Whole(
        1,
        MAX_SECONDS,
        attribute="task_timeout_seconds",
        allow_none=True,
        metadata=about(
            "Seconds for which a claim is held without a heartbeat; null: until it is given back."
        ),
    )
    max_hold_seconds = Whole(
        1,
        MAX_SECONDS,
        allow_none=True,
        metadata=about(
            "Seconds for which heartbeats may keep a claim, from its beginning; at least "
            f"`task_timeout`. Null: {DEFAULT_HOLD_FACTOR} times that."
        ),
    )
    accept_timeout = Whole(
        1,
        MAX_SECONDS,
        attribute="accept_timeout_seconds",
        allow_none=True,
        metadata=about(
            "Where tasks are pushed: seconds in which a worker accepts one, or it moves on to "
            "another (U-04). Null: it is his at once."
        ),
    )
    queue_order = one_of(
        *ORDERS,
        metadata=about(
            "Which waiting task comes next. `fifo` and `priority`: the lowest `priority`, and of "
            "equals the oldest; `lifo`: the reverse of that; `random`: any."
        ),
    )
    queue_aging_seconds = Whole(
        1,
        MAX_AGING_SECONDS,
        allow_none=True,
        metadata=about(
            "A waiting task gains one step of priority in so many seconds (Q-08); with the orders "
            f"{' and '.join(gig_settings.AGEING_ORDERS)}. Null: none."
        ),
    )
    max_claims_per_task = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata=about("Workers who get a copy of each task; null: all of them."),
    )
    default_rate_limit_count = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata=about(
            "A worker takes at most so many tasks in so many minutes (M-05); both or neither. A "
            "mailbox may have limits of its own. Null: no limit."
        ),
    )
    default_rate_limit_minutes = Whole(
        1,
        MAX_RATE_MINUTES,
        allow_none=True,
        metadata=about("The minutes of `default_rate_limit_count`."),
    )
    default_max_open_tasks = Whole(
        1,
        MAX_COUNT,
        allow_none=True,
        metadata=about("A worker holds at most so many tasks without a proof. Null: no limit."),
    )
    default_comments_policy = one_of(
        *POLICIES,
        metadata=about(
            "Who reads and writes what is said about a task, unless the task has a policy of its "
            "own (T-09)."
        ),
    )
    allow_price_offers = Flag(
        metadata=about("A worker may ask for another price with his proof (R-02).")
    )
    location = text(200, metadata=about("Where the work is, as people read it."))
    icon_url = link(
        2048,
        metadata=about("A picture for the gig, by http or https; it is only passed on."),
    )
    proof_webhook_url = web_url(
        allow_none=True, metadata=about("Where `proof.submitted` is sent. Null: nowhere.")
    )
    join_webhook_url = web_url(
        allow_none=True, metadata=about("Where `mailbox.joined` is sent. Null: nowhere.")
    )


class _Said(GigFields):
    """What is looked at, and of no gig."""

    price_tbd = Flag(
        load_only=True,
        metadata=about("A task says of itself that its price is to be decided; no gig does."),
    )


class GigCreate(_Said):
    """Every field but the title may be left out."""

    defaults: ClassVar[Mapping[str, Any]] = gig_settings.DEFAULTS

    title = text(200, 1, required=True)
    distribution = text(
        100,
        1,
        metadata=about("How tasks reach workers: a mode of `GET /api/modes`. It stays as it is."),
    )


class GigPatch(_Said):
    """What is left out stays as it is."""

    untaken: ClassVar[Mapping[str, str]] = {
        "distribution": "it is fixed when the gig is made; open another gig for another mode"
    }

    status = one_of(
        "active",
        "closed",
        metadata=about("`closed`: no new tasks or claims, and work in hand goes on."),
    )
