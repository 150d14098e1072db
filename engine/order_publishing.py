"""Sending an order: once it is funded, it is work for the vendor (O-01, O-02).

In a shop that takes no money that is one transaction, here. Where a deposit comes first, a command
puts it in (`order_funding.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import clock, drafts, gigs, order_handing, parties
from engine.arrivals import Taken
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.modes import takes_orders
from engine.operations import Caller, permit
from engine.rules import money


@dataclass(frozen=True)
class Payment:
    """What the buyer says when he sends an order; amounts in 10⁻⁶ USDC.

    `wallet_id` is a hot wallet of his; with `authorization` an outside wallet has signed instead.
    """

    amount_units: int | None = None
    wallet_id: str | None = None
    order_webhook_url: str | None = None
    order_webhook_secret: str | None = None
    authorization: dict[str, Any] | None = None


def publish_any(caller: Caller, gig_id: str, task_id: str, given: Mapping[str, Any]) -> Taken:
    """Send a draft: an order by its buyer, on the terms of `Payment`; any other by its owner."""
    if takes_orders(gigs.get(gig_id)):
        return publish(caller, gig_id, task_id, Payment(**given))
    if given:
        raise Refused(
            "invalid",
            "This is no order, so nobody pays for it as it is published: send no body.",
            errors=dict.fromkeys(sorted(given), "only for an order"),
        )
    return drafts.publish(caller, gig_id, task_id)


def publish(caller: Caller, gig_id: str, task_id: str, payment: Payment) -> Taken:
    """Send a draft order, under the id that it has."""

    def write() -> Taken:
        gig = gigs.get(gig_id)
        permit("draft.publish", caller, gig)
        gigs.share(gig.id)
        require_open(gigs.get(gig_id))
        active = order_handing.hold_vendor(gig)
        task = locked(caller, gig, task_id)
        _require_vendor(task, active)
        return _send_free(caller, gig, task, payment)

    return db.write(write)


def require_open(gig: Gig) -> None:
    if gig.status != "active":
        raise Refused("shop_closed", "This shop is not open: it takes no new orders.")


def locked(caller: Caller, gig: Gig, task_id: str) -> Task:
    """The buyer's own order, held, which has not been sent; only inside `db.write`.

    404 for another buyer's, 403 for the vendor, 409 `in_progress` while it is being funded or
    undone, 409 `not_draft` for one that was sent.
    """
    task = drafts.hold_order(gig, task_id)
    parties.require_client(caller, gig, task, "draft")
    if task.status in ("unfunded", "undoing"):
        raise Refused(
            "in_progress",
            "This order is being funded or undone just now. Read it again in a moment.",
            message_id=task.id,
            retry_after=1,
        )
    if task.status not in drafts.UNSENT:
        raise Refused(
            "not_draft",
            "This order has been sent already, under the same id. Read the task.",
            message_id=task.id,
            status_now=task.status,
        )
    return task


def _require_vendor(task: Task, active: bool) -> None:
    if not active:
        raise Refused(
            "vendor_away",
            "The vendor's own mailbox in this shop is not active, so nobody could deliver. Your "
            "draft is kept, and nothing was charged.",
            draft_kept=True,
            message_id=task.id,
        )


def _send_free(caller: Caller, gig: Gig, task: Task, payment: Payment) -> Taken:
    if payment.amount_units:
        raise Refused(
            "free_order",
            "This shop takes no money: send the order without an amount, or with 0. Nothing was "
            "charged, and the draft is kept.",
            draft_kept=True,
            message_id=task.id,
        )
    answer = order_handing.hand_over(
        gig,
        task,
        "publish",
        caller.account_id,
        order_free=True,
        price_units=0,
        funded_minimum_units=0,
    )
    Purchase.create(
        client_id=caller.account_id,
        gig_id=gig.id,
        task_id=task.id,
        minimum_units=0,
        created_at=clock.now(),
    )
    return Taken({**answer, "free": True, "price": money.to_dollars(0)})
