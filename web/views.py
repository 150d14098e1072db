"""Rows as their readers may see them. What a role may not see is left out, not emptied."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from flask import current_app

from engine import gigs, rows
from engine.invites import Invitation
from engine.models.event import Event
from engine.models.gig import Gig, Invite
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from engine.models.wallet import Wallet
from engine.modes import Mode
from engine.operations import OWNER
from engine.rules import money
from web.schemas.tasks import PREVIEW, PREVIEW_ABOVE

WEI_PER_ETHER = 10**18
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


def gig_view(gig: Gig, *, owner: bool) -> dict[str, Any]:
    available, reserved = gigs.funds(gig)
    view: dict[str, Any] = {
        **gig.__data__,
        "available_units": available,
        "reserved_units": reserved,
        "is_owner": owner,
    }
    if owner:
        view["webhook"] = f"{public_url()}/api/inbound/webhook/{gig.id}?token={gig.token}"
    else:
        for field in _OWNERS:
            view.pop(field)
    return view


def invite_view(invite: Invite) -> dict[str, Any]:
    url = f"{public_url()}/join/{invite.gig_id}?invite={invite.token}"
    return {**invite.__data__, "invite_url": url}


def invitation_view(told: Invitation) -> dict[str, Any]:
    """Never the address that an invite is bound to."""
    fields = ("title", "terms", "status", "price_units", "distribution", "join_policy")
    return {
        **{name: getattr(told.gig, name) for name in fields},
        "gig_id": told.gig.id,
        "requires_approval": told.gig.requires_approval,
        "owner_name": told.owner_name,
        "label": told.invite.label,
        "email_bound": told.invite.email is not None,
        "uses_left": told.uses_left,
    }


def mailbox_view(mailbox: Mailbox, *, worker: bool, gig_title: str | None = None) -> dict[str, Any]:
    view: dict[str, Any] = dict(mailbox.__data__)
    if not worker:
        # A worker's tags and webhooks are his own business (M-02).
        for field in ("tags", "webhook", "events_webhook_url"):
            view.pop(field)
    if gig_title is not None:
        view["gig_title"] = gig_title
    return view


def price_of(gig: Gig, task: Task) -> tuple[int | None, str]:
    """What the task pays whoever reads it now, and where that comes from (R-02)."""
    if task.held_price_units is not None:
        return task.held_price_units, "gig" if task.price_units is None else "task"
    if task.price_tbd:
        return None, "review"
    if task.price_units is not None:
        return task.price_units, "task"
    return gig.price_units, "gig"


def task_view(gig: Gig, task: Task, *, preview: bool = False) -> dict[str, Any]:
    """A task with its body; in a list a long one is a preview (T-08)."""
    price, source = price_of(gig, task)
    view = {
        "id": task.id,
        "gig_id": gig.id,
        "type": "webhook",
        "subject": task.subject,
        "payload": task.payload,
        "content_type": task.content_type,
        "status": task.status,
        "forwarded_at": task.created_at,
        "claimed_at": task.claimed_at,
        "shown_price_units": price,
        "price_tbd": task.price_tbd,
        "price_source": source,
        "priority": task.priority,
        "tags": task.tags,
        "reserved_for_me": False,
        "escrow_funded": task.escrowed_at is not None,
        "escrow_units": task.escrow_units,
        "escrow_fee_bps": task.escrow_fee_bps,
        "escrowed_at": task.escrowed_at,
        "deposit_id": task.deposit_id,
        "source_task_id": None,
    }
    if preview and len(task.payload) > PREVIEW_ABOVE:
        view["payload"] = task.payload[:PREVIEW]
        view["payload_truncated"] = True
        view["payload_bytes"] = len(task.payload.encode())
    return view


def proof_view(proof: Proof, seen_as: frozenset[str]) -> dict[str, Any]:
    """A proof; its private note opens to its reviewer once it is paid out (R-06)."""
    view = rows.values(proof)
    view["price_pending"] = proof.locked_price_units is None
    locked = bool(proof.private_note) and proof.paid_out_at is None
    view["private_note_locked"] = locked
    if locked and "submitter" not in seen_as:
        view["private_note"] = None
    return view


def rollup_view(rollup: Rollup, proof_ids: list[str]) -> dict[str, Any]:
    paid = rollup.status == "paid"
    return {
        **rollup.__data__,
        "proof_ids": proof_ids,
        "paid_proof_ids": proof_ids if paid else [],
        # Outbound: the fee comes on top, so the worker's wallet gets all of the gross (Y-02).
        "net_units": rollup.gross_units,
    }


def event_view(event: Event) -> dict[str, Any]:
    return {**event.__data__, "subject": {"kind": event.subject_kind, "id": event.subject_id}}


def mode_view(name: str, mode: Mode) -> dict[str, Any]:
    info = mode.info
    return {
        "name": name,
        "title": info.title,
        "description": info.description,
        "settings": {field: dict(shape) for field, shape in info.settings.items()},
        "query": list(info.query),
        "refuses": dict(mode.refuses()),
    }


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
