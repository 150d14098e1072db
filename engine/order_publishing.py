"""Sending an order: once it is funded, it is work for the vendor (O-01, O-02).

In a shop that takes no money that is one transaction, here. Where a deposit comes first, a command
puts it in (`order_funding.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine import (
    clock,
    draft_publishing,
    drafts,
    escrows,
    gigs,
    order_funding,
    order_handing,
    order_pace,
    order_payments,
    order_quotes,
    order_terms,
    order_wallets,
    order_webhooks,
    parties,
)
from engine.arrivals import Taken
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.modes import takes_orders
from engine.operations import Caller, permit
from engine.rules import money


@dataclass(frozen=True)
class Payment:
    """What the buyer says when he sends an order; amounts in 10⁻⁶ USDC.

    `wallet_id` is a hot wallet of his; with `authorization`, `{signature}`, an outside wallet has
    signed a quote instead.
    """

    amount_units: int | None = None
    wallet_id: str | None = None
    order_webhook_url: str | None = None
    order_webhook_secret: str | None = None
    authorization: dict[str, Any] | None = None


# What a buyer calls the members of `Payment`, where that is not their name.
_SAID = {"amount_units": "amount", "wallet_id": "wallet_alias_id"}


def publish_any(caller: Caller, gig_id: str, task_id: str, given: Mapping[str, Any]) -> Taken:
    """Send a draft: an order by its buyer, on the terms of `Payment`; any other by its owner."""
    if takes_orders(gigs.get(gig_id)):
        return publish(caller, gig_id, task_id, Payment(**given))
    if given:
        raise Refused(
            "invalid",
            "This is no order, so nobody pays for it as it is published: send no body.",
            errors={_SAID.get(name, name): "only for an order" for name in sorted(given)},
        )
    return draft_publishing.publish(caller, gig_id, task_id)


def publish(caller: Caller, gig_id: str, task_id: str, payment: Payment) -> Taken:
    """Send a draft order, under the id that it has; its deposit comes first where one is due.

    Answers what is told at once in a shop that takes no money, and else the command.
    """
    order_pace.require(caller, gig_id, task_id)
    seen = _look(caller, task_id, payment)

    def write() -> Taken:
        gig, task = hold_unsent(caller, gig_id, task_id)
        with _kept(task.id):
            hook = (payment.order_webhook_url, payment.order_webhook_secret)
            order_webhooks.register(gig, task, caller.account_id, *hook)
            if gig.list_price_units == 0:
                return _send_free(caller, gig, task, payment)
            return Taken(command=_begin(caller, gig, task, payment, seen))

    return db.write(write)


@dataclass(frozen=True)
class _Seen:
    """What was looked up on chain before the transaction: who has signed, or what he has sent."""

    signed: order_quotes.Signed | None = None
    deposit_id: str | None = None


def _look(caller: Caller, task_id: str, payment: Payment) -> _Seen:
    with _kept(task_id):
        if payment.authorization is not None:
            signature = payment.authorization["signature"]
            return _Seen(order_quotes.read(caller, task_id, signature))
        if payment.amount_units is None:
            return _Seen(deposit_id=order_quotes.sent_already(caller, task_id))
    return _Seen()


def _begin(caller: Caller, gig: Gig, task: Task, payment: Payment, seen: _Seen) -> Command:
    """The command that pays for a held order, or that only hands over what is paid for."""
    last = escrows.newest(task.id)
    if last is not None and last.status == "open":
        return _finish(task, last, payment)
    if seen.signed is not None:
        if payment.wallet_id is not None:
            raise invalid(
                order_wallets.FIELD,
                "another wallet has signed: leave this out, or the authorization",
            )
        escrow = seen.signed.require(last, payment.amount_units)
        return order_payments.begin_signed(task, escrow, seen.signed.signature)
    if last is not None and last.id == seen.deposit_id and order_terms.is_mere_quote(last):
        return order_payments.finish(task, last)
    amount_units = order_terms.require_amount(gig, payment.amount_units)
    wallet = order_wallets.hold(caller, gig, payment.wallet_id)
    return order_payments.begin(gig, task, wallet, amount_units)


@contextmanager
def _kept(task_id: str) -> Iterator[None]:
    """Whatever is refused here says that the draft is kept."""
    try:
        yield
    except Refused as met:
        met.details = {"draft_kept": True, "message_id": task_id, **met.details}
        raise


def hold_unsent(caller: Caller, gig_id: str, task_id: str) -> tuple[Gig, Task]:
    """A shop, and an order in it that the caller may send now; each held, in order.

    Only inside `db.write`. What stands in the way is refused before anything is written.
    """
    gig = gigs.get(gig_id)
    permit("draft.publish", caller, gig)
    gigs.share(gig.id)
    gig = gigs.get(gig_id)
    active = order_handing.hold_vendor(gig)
    task = locked(caller, gig, task_id)
    with _kept(task.id):
        _require_sendable(gig, task, active)
    return gig, task


def _require_sendable(gig: Gig, task: Task, active: bool) -> None:
    require_open(gig)
    _require_known(task)
    if not task.payload.strip() and not task.subject.strip():
        raise invalid("payload", "this order is empty: say what you want (PATCH …/payload)")
    if not active:
        raise _away(task)
    if task.escrowed_at is None and order_handing.is_paused(gig):
        raise Refused(
            "vendor_away",
            "The vendor has paused this shop: it is sent no new orders until he goes on. Your "
            "draft is kept, and nothing was charged.",
        )
    if gig.list_price_units != 0:
        order_terms.require_treasury(gig)


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


def _require_known(task: Task) -> None:
    if task.deposit_id is None or Escrow.get_or_none(Escrow.id == task.deposit_id) is not None:
        return
    raise Refused(
        "ledger_missing",
        "This order names a deposit that our books know nothing of. Nothing was sent; its operator "
        "has to look at it.",
        deposit_id=task.deposit_id,
    )


def _away(task: Task) -> Refused:
    if task.escrowed_at is not None:
        return order_funding.undelivered(task)
    return Refused(
        "vendor_away",
        "The vendor's own mailbox in this shop is not active, so nobody could deliver. Your draft "
        "is kept, and nothing was charged.",
    )


def _finish(task: Task, escrow: Escrow, payment: Payment) -> Command:
    """It was paid for, and could not be handed over. That is done now, and nothing charged."""
    if payment.amount_units not in (None, escrow.amount_units):
        paid = money.to_dollars(escrow.amount_units)
        raise Refused(
            "deposit_unreconciled",
            f"This order is funded with {paid} already. Publish it without an amount to finish, or "
            "withdraw it to have that back. Nothing more was charged.",
            funded=True,
        )
    return order_payments.finish(task, escrow)


def free_order(task: Task) -> Refused:
    return Refused(
        "free_order",
        "This shop takes no money: send the order without an amount, or with 0. Nothing was "
        "charged, and the draft is kept.",
        draft_kept=True,
        message_id=task.id,
    )


def _send_free(caller: Caller, gig: Gig, task: Task, payment: Payment) -> Taken:
    if payment.amount_units or payment.authorization is not None:
        raise free_order(task)
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
