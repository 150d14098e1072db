"""Gigs and invites (G-01 … G-05)."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from engine import (
    clock,
    endpoints,
    escrow_gigs,
    events,
    gig_keys,
    ledger,
    pages,
    rows,
    wallets,
    webhook_secrets,
)
from engine.accounts import clean_email
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.ids import new_id, new_token
from engine.models.event import Event
from engine.models.gig import Gig, Invite
from engine.models.mailbox import Mailbox
from engine.modes import ask
from engine.moves import move
from engine.operations import OWNER, Caller, permit, roles
from engine.plans import GigFacts

DEFAULT_REVIEW_TIMEOUT_SECONDS = 172_800
MANUAL_REVIEW = -1

# Fields that are webhook URLs, and the kind of endpoint that each is.
WEBHOOKS = {
    "proof_webhook_url": endpoints.GIG_PROOFS,
    "join_webhook_url": endpoints.GIG_JOINS,
}
# What a gig is made with where its owner says nothing.
DEFAULTS: dict[str, Any] = {
    "terms": "",
    "notes": "",
    "price_units": 0,
    "join_policy": "invite",
    "requires_approval": False,
    "tags": [],
    "review_timeout_seconds": DEFAULT_REVIEW_TIMEOUT_SECONDS,
    "min_payout_units": 0,
    "location": "",
    "icon_url": "",
    "owner_wallet": None,
    "proof_webhook_url": None,
    "join_webhook_url": None,
    "task_escrow": False,
    "webhook_max_price_units": None,
    "webhook_daily_spend_units": None,
    "distribution": "queue",
    "queue_order": "fifo",
}


def create(caller: Caller, values: dict[str, Any]) -> tuple[Gig, Invite | None]:
    """Open a gig. An invite gig gets one unlimited invite with it."""
    full = {**DEFAULTS, **values}
    _check_mode(full)
    _check(full)
    escrow_gigs.check(caller.account_id, full)

    def write() -> tuple[Gig, Invite | None]:
        gig_id = new_id("GIG")
        gig = Gig.create(
            id=gig_id,
            owner_id=caller.account_id,
            status="active",
            webhook_secret=webhook_secrets.new(),
            token=new_token(),
            created_at=clock.now(),
            chain_key=gig_keys.key(gig_id),
            **full,
        )
        for field, kind in WEBHOOKS.items():
            endpoints.register(kind, gig.id, caller.account_id, full[field])
        events.append(
            "gig.created",
            events.Subject("gig", gig.id),
            actor=caller.account_id,
            gig_id=gig.id,
            data={"title": gig.title, "distribution": gig.distribution},
        )
        invite = _add_invite(gig.id, None, None, "") if gig.join_policy == "invite" else None
        return gig, invite

    return db.write(write)


def _check_mode(values: dict[str, Any]) -> None:
    """The mode must exist and take what was given for it (G-03)."""
    info = ask(values["distribution"]).info
    order = info.settings.get("queue_order")
    if order is not None and values["queue_order"] not in order["enum"]:
        raise invalid("queue_order", f"one of {', '.join(order['enum'])}")


def _check(values: dict[str, Any]) -> None:
    if values.get("owner_wallet") is not None:
        values["owner_wallet"] = wallets.clean_address("owner_wallet", values["owner_wallet"])


def get(gig_id: str) -> Gig:
    """The row, for those who check permission themselves."""
    with db.reading():
        gig = rows.one(Gig, "id = ?", gig_id)
    if gig is None:
        raise not_found("gig")
    return gig


def read(caller: Caller | None, gig_id: str) -> tuple[Gig, bool]:
    """A gig that the caller may read, and whether it is his. An open gig may be read by all."""
    with db.reading():
        gig = get(gig_id)
        if caller is None:
            if gig.join_policy != "open":
                raise not_found("gig")
            return gig, False
        if gig.join_policy == "open":
            return gig, OWNER in roles(caller, gig)
        return gig, OWNER in permit("gig.read", caller, gig)


def mine(caller: Caller, tag: str | None, limit: int, after: pages.Position) -> list[Gig]:
    """The caller's gigs, newest first; those with the tag, if one is given."""
    with db.reading():
        query = Gig.select().where(Gig.owner_id == caller.account_id)
        if tag is not None:
            query = query.where(pages.has_member(Gig.tags, tag))
        return pages.page(query, (Gig.created_at, Gig.id), limit, after, newest_first=True)


def update(
    caller: Caller,
    gig_id: str,
    values: dict[str, Any],
    revisions: Container[int] | None = None,
) -> Gig:
    """Change the given fields; `status` closes or reopens (G-08).

    With `revisions` only if the gig is at one of them; `precondition_failed` otherwise (H-05).
    """
    _check(values)

    def write() -> Gig:
        permit("gig.update", caller, get(gig_id))
        if not values:
            gig = get(gig_id)
            _require_revision(gig.revision, revisions)
            return gig
        gig = _revise(gig_id, revisions)
        changes = dict(values)
        escrow_gigs.check_change(gig, changes)
        status = changes.pop("status", None)
        if status is not None and status != gig.status:
            move(gig, "close" if status == "closed" else "reopen")
        if changes:
            Gig.update(**changes).where(Gig.id == gig.id).execute()
        for field in sorted(WEBHOOKS.keys() & changes.keys()):
            endpoints.register(WEBHOOKS[field], gig.id, gig.owner_id, changes[field])
        events.append(
            "gig.changed",
            events.Subject("gig", gig.id),
            actor=caller.account_id,
            gig_id=gig.id,
            data={"fields": sorted(values)},
        )
        return get(gig_id)

    return db.write(write)


def _revise(gig_id: str, revisions: Container[int] | None = None) -> Gig:
    """Give the gig its next revision, which locks its row: of many at once each has its turn."""
    changed = Gig.update(revision=Gig.revision + 1).where(Gig.id == gig_id)
    found: list[Gig] = list(changed.returning(Gig).execute())
    _require_revision(found[0].revision - 1, revisions)
    return found[0]


def _require_revision(revision: int, revisions: Container[int] | None) -> None:
    if revisions is not None and revision not in revisions:
        raise Refused(
            "precondition_failed",
            "If-Match does not name this gig as it stands. Read it again and send its ETag.",
            revision=revision,
        )


def rotate_token(caller: Caller, gig_id: str) -> Gig:
    """A new webhook token; the old one fails from this moment on (G-04)."""

    def write() -> Gig:
        gig = get(gig_id)
        permit("gig.rotate_token", caller, gig)
        _revise(gig.id)
        Gig.update(token=new_token()).where(Gig.id == gig.id).execute()
        events.append(
            "gig.token_rotated",
            events.Subject("gig", gig.id),
            actor=caller.account_id,
            gig_id=gig.id,
        )
        return get(gig_id)

    return db.write(write)


def facts(gig: Gig) -> GigFacts:
    """The gig as its mode is shown it."""
    return GigFacts(gig.id, gig.distribution, gig.queue_order, gig.price_units)


def require_open(gig: Gig) -> None:
    if gig.status != "active":
        raise Refused(
            "gig_closed", f"This gig is {gig.status}: it takes and hands out no more tasks."
        )


def funds(gig: Gig) -> tuple[int, int]:
    """(available, reserved) base units of the gig's pot."""
    with db.reading():
        return ledger.free_units(gig.id), ledger.owed_units(gig.id)


def add_invite(
    caller: Caller, gig_id: str, max_uses: int | None, email: str | None, label: str
) -> Invite:
    address = None if email is None else clean_email(email)

    def write() -> Invite:
        gig = get(gig_id)
        permit("invite.manage", caller, gig)
        return _add_invite(gig.id, max_uses, address, label)

    return db.write(write)


def _add_invite(gig_id: str, max_uses: int | None, email: str | None, label: str) -> Invite:
    return Invite.create(
        token=new_token(),
        gig_id=gig_id,
        label=label,
        email=email,
        max_uses=max_uses,
        used=0,
        revoked_at=None,
        created_at=clock.now(),
    )


def invites(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Invite]:
    """The gig's invites that are not revoked, oldest first."""
    with db.reading():
        gig = get(gig_id)
        permit("invite.manage", caller, gig)
        query = Invite.select().where(Invite.gig_id == gig.id, Invite.revoked_at.is_null())
        return pages.page(query, (Invite.created_at, Invite.token), limit, after)


def revoke_invite(caller: Caller, gig_id: str, token: str) -> None:
    def write() -> None:
        gig = get(gig_id)
        permit("invite.manage", caller, gig)
        changed = (
            Invite.update(revoked_at=clock.now())
            .where(Invite.gig_id == gig.id, Invite.token == token, Invite.revoked_at.is_null())
            .execute()
        )
        if not changed:
            raise not_found("invite")

    db.write(write)


def history(caller: Caller, gig_id: str, position: int, limit: int) -> list[Event]:
    """The gig's events after a position: all of them for its owner, his own for a member."""
    with db.reading():
        gig = get(gig_id)
        if OWNER in permit("gig.events", caller, gig):
            return events.after(gig.id, position, limit, None)
        own = Mailbox.select(Mailbox.id).where(
            Mailbox.gig_id == gig.id, Mailbox.account_id == caller.account_id
        )
        return events.after(gig.id, position, limit, [row.id for row in own])
