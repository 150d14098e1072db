"""Opening a gig, and changing it: its settings, its state, its token (G-01, G-02, G-04, G-08)."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from engine import (
    clock,
    copy_slots,
    endpoints,
    escrow_gigs,
    events,
    gig_keys,
    gig_settings,
    gigs,
    invites,
    rekeying,
    shop_closing,
    shops,
    webhook_secrets,
)
from engine.db import db
from engine.errors import Refused
from engine.ids import new_id, new_token
from engine.models.gig import Gig, Invite
from engine.modes import takes_orders
from engine.moves import move
from engine.operations import Caller, permit, require_confirmed

# Fields that are webhook URLs, and the kind of endpoint that each is.
WEBHOOKS = {
    "proof_webhook_url": endpoints.GIG_PROOFS,
    "join_webhook_url": endpoints.GIG_JOINS,
}
# What the keys of the tasks that wait are made of.
ORDER = ("queue_order", "queue_aging_seconds")


def create(caller: Caller, values: dict[str, Any]) -> tuple[Gig, Invite | None]:
    """Open a gig. An invite gig gets one unlimited invite with it (G-01)."""
    gig_settings.clean(values)
    full = gig_settings.complete(values)
    escrow_gigs.check(caller.account_id, full)
    shops.check(full)

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
        if takes_orders(gig):
            shops.open_for(gig)
        events.append(
            "gig.created",
            events.Subject("gig", gig.id),
            actor=caller.account_id,
            gig_id=gig.id,
            data={"title": gig.title, "distribution": gig.distribution},
        )
        by_invite = gig.join_policy == "invite"
        return gig, invites.make(gig.id, None, None, "") if by_invite else None

    return db.write(write)


def update(
    caller: Caller,
    gig_id: str,
    values: dict[str, Any],
    revisions: Container[int] | None = None,
) -> Gig:
    """Change the given fields; `status` closes or reopens (G-08).

    What is held keeps the terms on which it was taken (F28). With `revisions` only if the gig is at
    one of them; `precondition_failed` otherwise (H-05).
    """
    gig_settings.clean(values)

    def write() -> Gig:
        permit("gig.update", caller, gigs.get(gig_id))
        if not values:
            gig = gigs.get(gig_id)
            _require_revision(gig.revision, revisions)
            return gig
        before = _revise(gig_id, revisions)
        changes = dict(values)
        gig_settings.check_change(before, changes)
        escrow_gigs.check_change(before, changes)
        shops.check_change(before, changes)
        changes = gig_settings.kept(changes)
        _require_kept_aside(before, changes)
        status = changes.pop("status", None)
        if status is not None and status != before.status:
            if status == "closed":
                shop_closing.require_settled(before)
            move(before, "close" if status == "closed" else "reopen")
        if changes:
            Gig.update(**changes).where(Gig.id == before.id).execute()
        for field in sorted(WEBHOOKS.keys() & changes.keys()):
            endpoints.register(WEBHOOKS[field], before.id, before.owner_id, changes[field])
        after = gigs.get(gig_id)
        _follow(before, after)
        _tell(caller, after, sorted(values))
        return after

    return db.write(write)


def _require_kept_aside(gig: Gig, changes: dict[str, Any]) -> None:
    """A cancelled gig keeps the gig's price aside for work whose own is still to be named."""
    if gig.status == "cancelled" and changes.get("price_units", 0) > gig.price_units:
        raise Refused(
            "gig_closed", "This gig is cancelled, so its price rises no more. Leave it out."
        )


def _follow(before: Gig, after: Gig) -> None:
    """What waits is put where the new settings want it."""
    if any(getattr(before, field) != getattr(after, field) for field in ORDER):
        rekeying.rekey(after)
    if before.max_claims_per_task != after.max_claims_per_task:
        copy_slots.reopen(after)


def close(caller: Caller, gig_id: str, revisions: Container[int] | None = None) -> Gig:
    """Close a gig; one that is closed stays so. 409 `wrong_state` for a cancelled one (G-08)."""

    def write() -> Gig:
        permit("gig.close", caller, gigs.get(gig_id))
        gig = gigs.locked(gig_id)
        _require_revision(gig.revision, revisions)
        if gig.status != "closed":
            move(gig, "close", revision=Gig.revision + 1)
            _tell(caller, gig, ["status"])
        return gigs.get(gig_id)

    return db.write(write)


def _tell(caller: Caller, gig: Gig, fields: list[str]) -> None:
    events.append(
        "gig.changed",
        events.Subject("gig", gig.id),
        actor=caller.account_id,
        gig_id=gig.id,
        data={"fields": fields},
    )


def _revise(gig_id: str, revisions: Container[int] | None = None) -> Gig:
    """Give the gig its next revision, locked: of many at once each has its turn."""
    gigs.held(gig_id, alone=True)
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


def rotate_token(caller: Caller, gig_id: str, *, confirmed: bool = False) -> Gig:
    """A new webhook token; the old one fails from this moment on (G-04).

    409 `requires_confirmation` where that locks people out, unless it is `confirmed`.
    """

    def write() -> Gig:
        gig = gigs.get(gig_id)
        permit("gig.rotate_token", caller, gig)
        require_confirmed("gig.rotate_token", gig, confirmed)
        _revise(gig.id)
        Gig.update(token=new_token()).where(Gig.id == gig.id).execute()
        events.append(
            "gig.token_rotated",
            events.Subject("gig", gig.id),
            actor=caller.account_id,
            gig_id=gig.id,
        )
        return gigs.get(gig_id)

    return db.write(write)
