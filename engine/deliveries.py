"""Deliveries: one event to one endpoint, at least once (W-02). The HTTP is in `jobs/http.py`.

Tries are numbered through for the whole life of a delivery: the number fences the outcome and keys
the attempt log. A delivery that somebody sends again begins a new round of ten, so the wait after a
try goes by its number within the round (`attempts - tries_before`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from engine import clock, endpoints
from engine.db import db
from engine.models.delivery import OPEN, Attempt, Delivery, Endpoint
from engine.moves import take
from engine.rules import money, retry

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

    @property
    def asks_to_wait_seconds(self) -> int:
        """How long the receiver wants nothing at all, by its `Retry-After`."""
        busy = self.status_code in (429, 503)
        return (self.retry_after_seconds or 0) if busy else 0


@dataclass(frozen=True)
class Work:
    """A delivery that this caller alone now holds; `attempt` fences its outcome.

    `tries` are those of this round, this one included.
    """

    delivery_id: str
    attempt: int
    tries: int
    event: str
    body: str
    target: endpoints.Target


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
    """Take a delivery for one try; None when another was quicker or nothing is due.

    The URL and the secrets are those of this moment, so a change reaches retries under way (F20).
    """

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
        if endpoint.status != "active" or endpoint.url is None:
            # It was not tried: the number is free for the next.
            attempts = Delivery.attempts - 1
            sets = {"next_attempt_at": None, "lease_until": None, "attempts": attempts}
            take(Delivery, delivery_id, "pause", **sets)
            return None
        return Work(
            delivery.id,
            delivery.attempts,
            delivery.attempts - delivery.tries_before,
            delivery.event,
            delivery.body,
            endpoints.target_of(endpoint, endpoint.url, now),
        )

    return db.write(write)


def finish(work: Work, outcome: Outcome) -> None:
    """Record the try and what follows from it: delivered, tried again later, or given up.

    An outcome that comes when another try has begun changes nothing, the endpoint included.
    """

    def write() -> None:
        now = clock.now()
        wait = None
        if outcome.status_code != 410:
            wait = retry.delay_seconds(work.tries, outcome.retry_after_seconds)
        verb = "succeed" if outcome.delivered else "give_up" if wait is None else "retry"
        again = now + int((wait or 0) * clock.SECOND) if verb == "retry" else None
        mine = Delivery.attempts == work.attempt
        if not take(
            Delivery, work.delivery_id, verb, mine, lease_until=None, next_attempt_at=again
        ):
            return
        Attempt.create(
            delivery_id=work.delivery_id,
            number=work.attempt,
            at=now,
            status_code=outcome.status_code,
            error=outcome.error,
            latency_ms=outcome.latency_ms,
            response_excerpt=outcome.excerpt[:EXCERPT_CHARACTERS],
        )
        if verb == "retry":
            _hold_back_if_disabled(work)
        elif outcome.status_code == 410:
            endpoints.disable(work.target, endpoints.GONE)
        elif verb == "give_up" and not _has_answered(work):
            endpoints.disable(work.target, endpoints.FAILING)

    db.write(write)


def _hold_back_if_disabled(work: Work) -> None:
    """The endpoint was disabled while this try was under way: there is no next one to wait for."""
    if Endpoint.get(Endpoint.id == work.target.endpoint_id).status != "active":
        take(Delivery, work.delivery_id, "pause", next_attempt_at=None)


def _has_answered(work: Work) -> bool:
    """Whether the endpoint took any delivery since this one's round began, three days ago."""
    of_round = Attempt.number > work.attempt - work.tries
    first = (
        Attempt.select(Attempt.at)
        .where(Attempt.delivery_id == work.delivery_id, of_round)
        .order_by(Attempt.number)
        .limit(1)
        .scalar()
    )
    taken = (
        Attempt.select()
        .join(Delivery, on=(Delivery.id == Attempt.delivery_id))
        .where(
            Delivery.endpoint_id == work.target.endpoint_id,
            Attempt.at >= first,
            Attempt.status_code.between(200, 299),
        )
    )
    return bool(taken.exists())
