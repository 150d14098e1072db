"""What owner and worker each set on a mailbox (M-02)."""

from __future__ import annotations

from typing import Any

from engine import departures, endpoints, events, gigs, mailboxes, turns, wallets
from engine.db import db
from engine.errors import Refused, invalid
from engine.gig_settings import require_both
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.moves import move
from engine.operations import OWNER, Caller, permit

WORKER_FIELDS = frozenset(
    {
        "wallet_address",
        "name",
        "notes",
        "tags",
        "paused",
        "filter_tags",
        "filter_tag_match",
        "filter_price_min_units",
        "filter_price_max_units",
        "filter_accept_tbd",
        *mailboxes.WEBHOOKS,
    }
)
# A limit that is NULL is the gig's.
OWNER_FIELDS = frozenset(
    {"status", "priority", "rate_limit_count", "rate_limit_minutes", "max_open_tasks"}
)


def update(caller: Caller, gig_id: str, mailbox_id: str, values: dict[str, Any]) -> Mailbox:
    """Owner and worker each change their own fields, and are refused the other's (403).

    When the owner makes a mailbox inactive its worker cannot act any more, so what he holds goes
    back in the same transaction, and does not count against him; what is reserved for him is then
    reserved for nobody in particular. 409 `vendor_mailbox` for a shop's own.
    """
    if values.get("wallet_address") is not None:
        values["wallet_address"] = wallets.clean_address("wallet_address", values["wallet_address"])

    def write() -> Mailbox:
        # What a closed mailbox holds goes back into the gig's queue, or to another worker.
        gig = gigs.held(gig_id) if "status" in values else gigs.get(gig_id)
        if values.get("status") == "inactive":
            turns.hold(gig.id)
        _require_own(caller, gig, mailboxes.get(gig_id, mailbox_id), values)
        if not values:
            return mailboxes.get(gig_id, mailbox_id)
        (mailbox,) = db.lock(Mailbox.select().where(Mailbox.id == mailbox_id))
        _check(mailbox, values)
        changes = dict(values)
        status = changes.pop("status", None)
        if status == "inactive":
            mailboxes.require_movable(gig, mailbox)
        if status == "active" and "wallet_address" not in changes:
            changes |= _moved(gig, mailbox)
        if changes:
            Mailbox.update(**changes).where(Mailbox.id == mailbox.id).execute()
        for field in sorted(mailboxes.WEBHOOKS.keys() & changes.keys()):
            kind = mailboxes.WEBHOOKS[field]
            endpoints.register(kind, mailbox.id, mailbox.account_id, changes[field])
        if status is not None:
            _set_status(caller, mailbox, status)
        events.append(
            "mailbox.changed",
            events.Subject("mailbox", mailbox.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            data={"fields": sorted(values.keys() | changes.keys())},
        )
        return mailboxes.get(gig_id, mailbox_id)

    return db.write(write)


def _require_own(caller: Caller, gig: Gig, mailbox: Mailbox, values: dict[str, Any]) -> None:
    owned = mailbox.account_id == caller.account_id
    allowed: set[str] = set()
    if owned:
        permit("mailbox.change", caller, gig)
        allowed |= WORKER_FIELDS
    may_admit = not owned or gig.owner_id == caller.account_id
    if may_admit and OWNER in permit("mailbox.admit", caller, gig):
        allowed |= OWNER_FIELDS
    foreign = sorted(set(values) - allowed)
    if foreign:
        whose = "owner" if foreign[0] in OWNER_FIELDS else "worker"
        names = [name.removesuffix("_units") for name in foreign]
        raise Refused(
            "not_permitted",
            f"{names[0]}: only the {whose} may change this.",
            errors=dict.fromkeys(names, "not yours to change"),
        )


def _check(mailbox: Mailbox, values: dict[str, Any]) -> None:
    """What goes together, on the row as it will be."""
    after = {**mailbox.__data__, **values}
    if values.keys() & {"rate_limit_count", "rate_limit_minutes"}:
        require_both(after, "rate_limit_count", "rate_limit_minutes")
    least, most = after["filter_price_min_units"], after["filter_price_max_units"]
    if least is not None and most is not None and least > most:
        changed = "max" if "filter_price_max_units" in values else "min"
        raise invalid(
            f"filter_price_{changed}", "filter_price_min may not be above filter_price_max"
        )
    address = values.get("wallet_address")
    if address is not None:
        if address != mailbox.wallet_address:
            wallets.require_unproven(address, mailbox.account_id)
        wallets.name("wallet_address", address)


def _moved(gig: Gig, mailbox: Mailbox) -> dict[str, Any]:
    """A new wallet for a mailbox whose own was deleted while it was closed."""
    before = mailbox.wallet_address
    now = wallets.payout_address(before, mailbox.account_id, gig.title[:100])
    return {} if now == before else {"wallet_address": now}


def _set_status(caller: Caller, mailbox: Mailbox, status: str) -> None:
    if status == "active":
        if mailbox.left_at is not None:
            raise Refused("worker_left", "This worker has left the gig. Only he can join it again.")
        if mailbox.status != "active":
            move(mailbox, "activate")
    elif mailbox.status != "inactive":
        move(mailbox, "deactivate")
        departures.give_back(mailbox, caller.account_id)
    else:
        # Whoever has left does not come back to it by himself any more.
        Mailbox.update(left_at=None).where(Mailbox.id == mailbox.id).execute()
