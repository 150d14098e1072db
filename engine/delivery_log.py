"""What was sent and how it went, for whoever registered the URL; and sending it again (W-06)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from engine import clock, endpoints, pages, wake
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.delivery import Attempt, Delivery, Endpoint
from engine.moves import take, take_all
from engine.operations import Caller

# Everything but the body, which may be long and which nobody is shown here.
_SHOWN = [field for name, field in Delivery._meta.fields.items() if name != "body"]


@dataclass(frozen=True)
class Logged:
    """A delivery as its log shows it (W-09)."""

    delivery: Delivery
    endpoint_kind: str
    attempts: list[Attempt]


def listed(
    caller: Caller,
    limit: int,
    before: pages.Position,
    endpoint_id: str | None = None,
    status: str | None = None,
) -> list[Logged]:
    """The deliveries to the caller's endpoints by (created_at, id), newest first."""
    with db.reading():
        query = Delivery.select(*_SHOWN).where(Delivery.account_id == caller.account_id)
        if endpoint_id is not None:
            query = query.where(Delivery.endpoint_id == endpoint_id)
        if status is not None:
            query = query.where(Delivery.status == status)
        place = (Delivery.created_at, Delivery.id)
        return _logged(pages.page(query, place, limit, before, newest_first=True))


def _logged(rows: list[Delivery]) -> list[Logged]:
    """The rows with their attempts and endpoints: two queries, however many rows there are."""
    known = Endpoint.select(Endpoint.id, Endpoint.kind)
    kinds = {row.id: row.kind for row in known.where(Endpoint.id << {r.endpoint_id for r in rows})}
    attempts: dict[str, list[Attempt]] = {row.id: [] for row in rows}
    tries = Attempt.select().where(Attempt.delivery_id << list(attempts))
    for attempt in tries.order_by(Attempt.delivery_id, Attempt.number):
        attempts[attempt.delivery_id].append(attempt)
    return [Logged(row, kinds[row.endpoint_id], attempts[row.id]) for row in rows]


def redeliver(caller: Caller, delivery_id: str) -> Logged:
    """Send a delivery again, under its own id and with ten fresh tries, whatever became of it.

    While its endpoint is disabled it waits, paused, until that is enabled. 409 while a try is under
    way.
    """

    def write() -> Logged:
        delivery = Delivery.get_or_none(
            Delivery.id == delivery_id, Delivery.account_id == caller.account_id
        )
        if delivery is None:
            raise not_found("delivery")
        # Locked, so that it is not enabled between this look and the row's move.
        (endpoint,) = db.lock(Endpoint.select().where(Endpoint.id == delivery.endpoint_id))
        verb, at = _again(endpoint)
        if not take(
            Delivery, delivery_id, verb, next_attempt_at=at, tries_before=Delivery.attempts
        ):
            raise Refused(
                "delivery_under_way", "This delivery is being tried just now. Ask again shortly."
            )
        db.after_commit(partial(wake.ring, "delivery", delivery_id))
        (shown,) = _logged([Delivery.get(Delivery.id == delivery_id)])
        return shown

    return db.write(write)


def replay(caller: Caller, endpoint_id: str | None, since: int) -> int:
    """Send again all that failed since a time: whose last try was then or later. Says how many.

    At one endpoint of the caller's, or at all of them where none is named.
    """

    def write() -> int:
        if endpoint_id is None:
            failed = Delivery.select(Delivery.endpoint_id).where(
                Delivery.account_id == caller.account_id, Delivery.status == "failed"
            )
            meant = Endpoint.id.in_(failed)
        else:
            meant = Endpoint.id == endpoints.own(caller, endpoint_id).id
        found = db.lock(Endpoint.select().where(meant).order_by(Endpoint.id))
        return sum(_replay(endpoint, since) for endpoint in found)

    return db.write(write)


def _replay(endpoint: Endpoint, since: int) -> int:
    """The same at a locked endpoint; only inside `db.write`."""
    verb, at = _again(endpoint)
    tried_since = Attempt.select(Attempt.delivery_id).where(
        Attempt.delivery_id == Delivery.id, Attempt.at >= since
    )
    count = take_all(
        Delivery,
        verb,
        Delivery.endpoint_id == endpoint.id,
        Delivery.status == "failed",
        Delivery.id.in_(tried_since),
        next_attempt_at=at,
        tries_before=Delivery.attempts,
    )
    db.after_commit(lambda: wake.ring("delivery", endpoint.id))
    return count


def _again(endpoint: Endpoint) -> tuple[str, int | None]:
    """How a delivery is sent again, and when: by an endpoint that is disabled, once it is not."""
    return ("redeliver", clock.now()) if endpoint.status == "active" else ("set_aside", None)
