"""Rows as their readers may see them. What a role may not see is left out, not emptied."""

from __future__ import annotations

from collections.abc import Container
from decimal import Decimal
from typing import Any

from flask import current_app

from engine import comment_readers, gigs, mailed_tasks, parties, payouts, task_changes
from engine.invites import Invitation
from engine.models.event import Event
from engine.models.gig import Gig, Invite
from engine.models.rollup import Rollup
from engine.models.task import Task
from engine.models.wallet import Wallet
from engine.modes import takes_orders
from engine.operations import ACTIVE, OWNER, Caller
from engine.rules import money
from engine.shelf import IN_HANDS
from web import order_views
from web.order_views import Reader
from web.schemas.tasks import PREVIEW, PREVIEW_ABOVE
from web.shop_views import shop_view

WEI_PER_ETHER = 10**18
# Shown as the holder of a task that came back to its owner.
UNASSIGNED = "UNASSIGNED"
# What a gig shows to nobody but its owner (G-02).
_OWNERS = (
    "notes",
    "proof_webhook_url",
    "join_webhook_url",
    "owner_wallet",
    "webhook_max_price_units",
    "webhook_daily_spend_units",
)


def public_url() -> str:
    url: str = current_app.config["MUSTER"].PUBLIC_URL
    return url.rstrip("/")


def gig_view(gig: Gig, *, owner: bool, has: frozenset[str] = frozenset()) -> dict[str, Any]:
    """A gig as its owner may see it, or whoever `has` these roles in it."""
    available, reserved = gigs.funds(gig)
    view: dict[str, Any] = {
        **gig.__data__,
        "available_units": available,
        "reserved_units": reserved,
        "is_owner": owner,
    }
    orders = takes_orders(gig)
    # Where members order they do it through this door (G-04).
    if owner or (orders and ACTIVE in has):
        view["webhook"] = f"{public_url()}/api/inbound/webhook/{gig.id}?token={gig.token}"
    address = mailed_tasks.address_of(gig) if owner else None
    if address is not None:
        view["inbound_email"] = address
    if not owner:
        for field in _OWNERS:
            view.pop(field)
    if orders:
        view |= shop_view(gig, owner=owner, member=ACTIVE in has)
    return view


def invite_view(invite: Invite) -> dict[str, Any]:
    url = f"{public_url()}/join/{invite.gig_id}?invite={invite.token}"
    return {**invite.__data__, "invite_url": url}


def invitation_view(told: Invitation) -> dict[str, Any]:
    """Never the address that an invite is bound to."""
    fields = (
        "title",
        "terms",
        "status",
        "price_units",
        "list_price_units",
        "distribution",
        "join_policy",
    )
    return {
        **{name: getattr(told.gig, name) for name in fields},
        "gig_id": told.gig.id,
        "requires_approval": told.gig.requires_approval,
        "owner_name": told.owner_name,
        "label": told.invite.label,
        "email_bound": told.invite.email is not None,
        "uses_left": told.uses_left,
    }


def price_of(gig: Gig, task: Task) -> tuple[int | None, str]:
    """What the task pays whoever reads it now, and where that comes from (R-02)."""
    if task.held_price_units is not None:
        return task.held_price_units, "gig" if task.price_units is None else "task"
    return task_changes.own_price(gig, task)


def task_view(
    gig: Gig,
    task: Task,
    *,
    owner: bool = False,
    mailbox_ids: Container[str] = frozenset(),
    preview: bool = False,
    alias: str | None = None,
    reader: Reader | None = None,
    of_mode: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A task with its body, as one reader may see it; in a list a long body is a preview (T-08).

    `mailbox_ids` are the reader's places in the gig: what only the holder sees is shown to the
    owner, and where one of them has the task in hand. `alias` is the reader's own name for it, and
    `reader` says who he is, for whom an order is one of his or not. `of_mode` is what he sees of
    its mode's own (`web/task_modes.py`).
    """
    holder = task.mailbox_id in mailbox_ids and task.status in IN_HANDS
    view: dict[str, Any] = {
        "id": task.id,
        "gig_id": gig.id,
        "type": "webhook",
        "subject": task.subject,
        **payload_view(task.payload, preview=preview),
        "content_type": task.content_type,
        "status": task.status,
        "forwarded_at": task.created_at,
        "not_before": task.not_before,
        "price_tbd": task.price_tbd,
        "priority": task.priority,
        "tags": task.tags,
        "availability": task.availability,
        "reserved_for_me": task.reserved_for in mailbox_ids,
        "source_task_id": task.source_task_id,
        "alias": alias,
        "comments_policy": comment_readers.policy_of(gig, task),
    }
    if task.client_id is None:
        view["shown_price_units"], view["price_source"] = price_of(gig, task)
    elif reader is None or not reader.is_party(gig, task):
        return view
    view |= {
        "claimed_at": task.claimed_at,
        "escrow_funded": task.escrowed_at is not None,
        "escrow_units": task.escrow_units,
        "escrow_fee_bps": task.escrow_fee_bps,
        "escrowed_at": task.escrowed_at,
        "deposit_id": task.deposit_id,
    }
    if owner or holder:
        view["private_details"] = task.private_details
        view["expires_at"] = task.expires_at
        view["accept_by"] = task.accept_by
        view["mailbox_id"] = UNASSIGNED if task.status == "unassigned" else task.mailbox_id
    if owner or view["reserved_for_me"]:
        view["reserved_for"] = task.reserved_for
    if of_mode is not None:
        view["mode"] = of_mode
    if owner:
        view["external_id"] = task.external_id
    if task.client_id is not None and reader is not None:
        view |= order_views.sides(task, reader)
    return view


def payload_view(payload: str, *, preview: bool) -> dict[str, Any]:
    """A body whole, or where a list shows a long one its beginning and its size (T-08)."""
    if not preview or len(payload) <= PREVIEW_ABOVE:
        return {"payload": payload}
    return {
        "payload": payload[:PREVIEW],
        "payload_truncated": True,
        "payload_bytes": len(payload.encode()),
    }


def rollup_view(rollup: Rollup, proof_ids: list[str]) -> dict[str, Any]:
    paid = rollup.status == "paid"
    return {
        **rollup.__data__,
        "proof_ids": proof_ids,
        "paid_proof_ids": proof_ids if paid else [],
        # A worker's wallet gets all that his proofs are worth, wherever the fee is (Y-02).
        "gross_units": payouts.shown_gross_units(rollup),
        "net_units": rollup.gross_units,
    }


def event_view(event: Event, caller: Caller, gig: Gig) -> dict[str, Any]:
    """An event of the gig. Buyer and vendor are not told each other's account: there the actor is
    `participant` or `vendor`."""
    view = {**event.__data__, "subject": {"kind": event.subject_kind, "id": event.subject_id}}
    if takes_orders(gig) and event.actor.startswith("USER_") and event.actor != caller.account_id:
        view["actor"] = parties.VENDOR if event.actor == gig.owner_id else parties.PARTICIPANT
    return view


def ether(wei: int) -> str:
    """Wei as an exact decimal string of ether."""
    return _plain(Decimal(wei) / WEI_PER_ETHER)


def dollars(units: int) -> str:
    return _plain(Decimal(money.to_dollars(units)))


def _plain(amount: Decimal) -> str:
    text = f"{amount:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def wallet_view(wallet: Wallet) -> dict[str, Any]:
    view = {**wallet.__data__, "verified": wallet.verified_at is not None}
    view.pop("encrypted_key")
    return view


def is_owner(has: frozenset[str]) -> bool:
    return OWNER in has
