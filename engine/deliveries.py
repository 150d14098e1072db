"""Deliveries: one event to one endpoint, at least once (W-02). The HTTP is in `jobs/http.py`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

import simplejson

from engine import clock, endpoints, wake
from engine.db import db
from engine.ids import new_id
from engine.models.delivery import OPEN, Attempt, Delivery, Endpoint
from engine.models.event import Event
from engine.moves import take
from engine.rules import money, retry, times

# Which endpoints hear of an event (W-01): the kind, and the member of the event that owns it.
AUDIENCES: dict[str, tuple[tuple[str, str], ...]] = {
    "proof.submitted": ((endpoints.GIG_PROOFS, "gig_id"),),
    "proof.approved": ((endpoints.MAILBOX_EVENTS, "mailbox_id"),),
    "proof.rejected": ((endpoints.MAILBOX_EVENTS, "mailbox_id"),),
    "payout.paid": ((endpoints.MAILBOX_EVENTS, "mailbox_id"),),
}
# Longer than the 15 s that a receiver has; whoever holds a delivery that long is dead.
LEASE_MS = 60_000
EXCERPT_CHARACTERS = 512


@dataclass(frozen=True)
class Outcome:
    """What one try came to. `status_code` is None when no answer came."""

    status_code: int | None
    error: str | None
    latency_ms: int
    excerpt: str = ""
    retry_after_seconds: int | None = None

    @property
    def delivered(self) -> bool:
        return self.status_code is not None and 200 <= self.status_code < 300


@dataclass(frozen=True)
class Work:
    """A delivery that this caller alone now holds; `attempt` fences its outcome."""

    delivery_id: str
    attempt: int
    event: str
    body: str
    target: endpoints.Target


def follow_from(event: Event) -> None:
    """Write the deliveries of an event, in its own transaction."""
    for kind, owner in AUDIENCES.get(event.type, ()):
        endpoint = Endpoint.get_or_none(
            Endpoint.kind == kind, Endpoint.owner_id == getattr(event, owner)
        )
        if endpoint is None:
            continue
        waiting = endpoint.status == "active"
        delivery = Delivery.create(
            id=new_id("DLV"),
            endpoint_id=endpoint.id,
            event=event.type,
            # A disabled endpoint's events are kept for when it is enabled again.
            status="pending" if waiting else "paused",
            body=body_of(event),
            attempts=0,
            next_attempt_at=event.at if waiting else None,
            created_at=event.at,
        )
        if waiting:
            db.after_commit(partial(wake.ring, "delivery", delivery.id))


def body_of(event: Event) -> str:
    """The JSON that is sent: `event, sent_at, gig_id` and the event's own fields (W-08)."""
    members = {
        "event": event.type,
        "sent_at": times.iso_ms(event.at),
        "gig_id": event.gig_id,
        **event.data,
    }
    return simplejson.dumps(members, ensure_ascii=False, use_decimal=True)


def money_field(units: int | None) -> Any:
    """Money as event data keeps it: an exact decimal number of dollars, or None."""
    return None if units is None else money.to_dollars(units)


def due(
    limit: int = 200, per_endpoint: int = 20, but_not: Collection[str] = ()
) -> dict[str, list[str]]:
    """Ids of deliveries that may be tried now, by endpoint, oldest first.

    `but_not` are endpoints that have enough to do: the backlog of a slow one must not fill the
    limit and so hide what is due to others (W-05).
    """
    with db.reading():
        now = clock.now()
        found = (
            Delivery.select(Delivery.id, Delivery.endpoint_id)
            .where(
                OPEN,
                Delivery.next_attempt_at <= now,
                Delivery.lease_until.is_null() | (Delivery.lease_until < now),
                Delivery.endpoint_id.not_in(list(but_not)),
            )
            .order_by(Delivery.next_attempt_at, Delivery.id)
            .limit(limit)
        )
        lanes: dict[str, list[str]] = {}
        for row in found:
            lane = lanes.setdefault(row.endpoint_id, [])
            if len(lane) < per_endpoint:
                lane.append(row.id)
        return lanes


def start(delivery_id: str) -> Work | None:
    """Take a delivery for one try; None when another was quicker or nothing is due."""

    def write() -> Work | None:
        now = clock.now()
        lease = {"lease_until": now + LEASE_MS, "attempts": Delivery.attempts + 1}
        due_now = Delivery.next_attempt_at <= now
        if not (
            take(Delivery, delivery_id, "start", due_now, **lease)
            or take(Delivery, delivery_id, "retake", Delivery.lease_until < now, **lease)
        ):
            return None
        delivery = Delivery.get(Delivery.id == delivery_id)
        endpoint = Endpoint.get(Endpoint.id == delivery.endpoint_id)
        if endpoint.status != "active":
            take(Delivery, delivery_id, "pause", next_attempt_at=None, lease_until=None)
            return None
        target = endpoints.Target(endpoint.id, endpoint.url, endpoints.secret_of(endpoint))
        return Work(delivery.id, delivery.attempts, delivery.event, delivery.body, target)

    return db.write(write)


def finish(work: Work, outcome: Outcome) -> None:
    """Record the try and what follows from it: delivered, tried again later, or given up."""

    def write() -> None:
        now = clock.now()
        mine = Delivery.attempts == work.attempt
        if outcome.delivered:
            held = take(
                Delivery, work.delivery_id, "succeed", mine, lease_until=None, next_attempt_at=None
            )
        elif outcome.status_code == 410:
            take(Endpoint, work.target.endpoint_id, "disable")
            held = take(
                Delivery, work.delivery_id, "give_up", mine, lease_until=None, next_attempt_at=None
            )
            endpoints.pause_waiting(work.target.endpoint_id)
        else:
            wait = retry.delay_seconds(work.attempt, outcome.retry_after_seconds)
            again = None if wait is None else now + int(wait * clock.SECOND)
            verb = "give_up" if again is None else "retry"
            held = take(
                Delivery, work.delivery_id, verb, mine, lease_until=None, next_attempt_at=again
            )
        if held:
            Attempt.create(
                delivery_id=work.delivery_id,
                number=work.attempt,
                at=now,
                status_code=outcome.status_code,
                error=outcome.error,
                latency_ms=outcome.latency_ms,
                response_excerpt=outcome.excerpt[:EXCERPT_CHARACTERS],
            )

    db.write(write)
