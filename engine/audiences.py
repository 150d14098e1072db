"""Who hears of an event: the endpoints it goes to, and the delivery rows that follow (W-01)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import simplejson

from engine import rows, wake
from engine.db import db
from engine.ids import new_id
from engine.models.delivery import Delivery, Endpoint
from engine.models.event import Event
from engine.rules import times

# Kinds of endpoint: one URL field of a gig, of a mailbox or of an order each.
GIG_PROOFS = "gig.proofs"
GIG_JOINS = "gig.joins"
MAILBOX_TASKS = "mailbox.tasks"
MAILBOX_EVENTS = "mailbox.events"
ORDER = "task.order"

# The kind of endpoint, and the member of the event that says whose.
AUDIENCES: dict[str, tuple[tuple[str, str], ...]] = {
    "proof.submitted": ((GIG_PROOFS, "gig_id"),),
    "mailbox.joined": ((GIG_JOINS, "gig_id"),),
    "task.assigned": ((MAILBOX_TASKS, "mailbox_id"),),
    "task.pushed": ((MAILBOX_TASKS, "mailbox_id"),),
    "proof.approved": ((MAILBOX_EVENTS, "mailbox_id"),),
    "proof.rejected": ((MAILBOX_EVENTS, "mailbox_id"),),
    "payout.paid": ((MAILBOX_EVENTS, "mailbox_id"),),
    "order.delivered": ((ORDER, "subject_id"),),
    "order.auto_approved": ((ORDER, "subject_id"),),
    "order.paid_out": ((ORDER, "subject_id"),),
    "order.withdrawn": ((ORDER, "subject_id"), (MAILBOX_EVENTS, "mailbox_id")),
}
# What the vendor is sent of an order says which mailbox of his it is; the buyer's copy does not.
_NAMES_MAILBOX = ("order.withdrawn", MAILBOX_EVENTS)


def follow_from(event: Event, unlogged: Mapping[str, Any]) -> None:
    """Write the deliveries of an event, in its own transaction (W-02).

    `unlogged` are members of what is sent that the log does not keep.
    """
    for kind, owner in AUDIENCES.get(event.type, ()):
        endpoint = rows.one(Endpoint, "kind = ? AND owner_id = ?", kind, getattr(event, owner))
        if endpoint is not None and endpoint.status != "active":
            # Somebody may be enabling it just now: whoever comes second sees the other's work.
            endpoint = db.lock(Endpoint.select().where(Endpoint.id == endpoint.id))[0]
        if endpoint is None or endpoint.url is None:
            continue
        waiting = endpoint.status == "active"
        delivery = Delivery.create(
            id=new_id("DLV"),
            endpoint_id=endpoint.id,
            account_id=endpoint.account_id,
            event=event.type,
            # A disabled endpoint's events are kept for when it is enabled again.
            status="pending" if waiting else "paused",
            body=body_of(event, unlogged, kind),
            attempts=0,
            tries_before=0,
            next_attempt_at=event.at if waiting else None,
            created_at=event.at,
        )
        if waiting:
            db.after_commit(partial(wake.ring, "delivery", delivery.id))


def body_of(event: Event, unlogged: Mapping[str, Any], kind: str) -> str:
    """The JSON that an endpoint of this kind is sent: `event, sent_at, gig_id` and the event's own
    fields (W-08)."""
    members = {
        "event": event.type,
        "sent_at": times.iso_ms(event.at),
        "gig_id": event.gig_id,
        **event.data,
        **unlogged,
        **({"mailbox_id": event.mailbox_id} if (event.type, kind) == _NAMES_MAILBOX else {}),
    }
    return simplejson.dumps(members, ensure_ascii=False, use_decimal=True)
