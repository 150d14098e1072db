"""Real receivers on loopback, a real database, and the loop between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine import clock, deliveries, endpoints, events, wake
from engine.db import db
from engine.ids import new_id
from engine.models.account import Account
from engine.models.delivery import Attempt, Delivery, Endpoint
from engine.models.gig import Gig
from engine.rules import signing
from jobs import guard
from jobs.http import DeliveryLoop
from tests.deliveries.webhook_receiver import PATIENCE_SECONDS, Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.close()


@pytest.fixture
def database(backend: tuple[str, str]) -> Iterator[str]:
    url, _ = backend
    db.connect(url)
    yield url
    wake.silence()
    db.close()


class World:
    """Rows: gigs with a webhook, events, deliveries and what became of them."""

    def __init__(self) -> None:
        self.gigs: dict[str, str] = {}

    def endpoint(self, url: str, secret: str | None = None) -> str:
        """A gig whose proofs are told to `url`; answers the endpoint's id."""
        now = clock.now()
        account, gig = new_id("ACC"), new_id("GIG")
        given = {
            "id": gig,
            "owner_id": account,
            "status": "active",
            "webhook_secret": secret or signing.new_secret(),
            "price_units": 1,
            "requires_approval": False,
            "tags": [],
            "review_timeout_seconds": 1,
            "min_payout_units": 1,
            "created_at": now,
        }
        empty = {
            name: ""
            for name, column in Gig._meta.fields.items()
            if name not in given and not column.null and column.default is None
        }

        def write() -> str:
            Account.create(
                id=account,
                email=f"{account}@x.test",
                display_name="alice",
                status="active",
                created_at=now,
            )
            Gig.create(**empty, **given)
            endpoints.register(endpoints.GIG_PROOFS, gig, account, url)
            return Endpoint.get(Endpoint.owner_id == gig).id

        endpoint_id = db.write(write)
        self.gigs[endpoint_id] = gig
        return endpoint_id

    def send(self, endpoint_id: str, count: int = 1, **data: Any) -> list[str]:
        """Append events for an endpoint; answers the ids of their deliveries."""
        gig = self.gigs[endpoint_id]

        def write() -> list[str]:
            for _ in range(count):
                events.append(
                    "proof.submitted",
                    events.Subject("proof", new_id("PRF")),
                    actor="test",
                    gig_id=gig,
                    data=data,
                )
            rows = Delivery.select(Delivery.id).where(Delivery.endpoint_id == endpoint_id)
            return [row.id for row in rows.order_by(Delivery.id)][-count:]

        return db.write(write)

    def secret(self, endpoint_id: str) -> str:
        with db.reading():
            return Gig.get(Gig.id == self.gigs[endpoint_id]).webhook_secret

    def delivery(self, delivery_id: str) -> Delivery:
        with db.reading():
            return Delivery.get(Delivery.id == delivery_id)

    def statuses(self, endpoint_id: str) -> dict[str, int]:
        with db.reading():
            found: dict[str, int] = {}
            for row in Delivery.select().where(Delivery.endpoint_id == endpoint_id):
                found[row.status] = found.get(row.status, 0) + 1
            return found

    def endpoint_status(self, endpoint_id: str) -> str:
        with db.reading():
            return Endpoint.get(Endpoint.id == endpoint_id).status

    def attempts(self, delivery_id: str) -> list[Attempt]:
        with db.reading():
            query = Attempt.select().where(Attempt.delivery_id == delivery_id)
            return list(query.order_by(Attempt.number))

    def set_url(self, endpoint_id: str, url: str) -> None:
        gig = self.gigs[endpoint_id]
        db.write(lambda: endpoints.register(endpoints.GIG_PROOFS, gig, "", url))

    def make_due(self, delivery_id: str) -> None:
        """Set the next try, and the lease of whoever holds it, back into the past."""
        past = clock.now() - 1

        def write() -> None:
            row = Delivery.get(Delivery.id == delivery_id)
            lease = None if row.lease_until is None else past
            Delivery.update(next_attempt_at=past, lease_until=lease).where(
                Delivery.id == delivery_id
            ).execute()

        db.write(write)


@pytest.fixture
def world(database: str) -> World:
    return World()


class Outcomes:
    """Every outcome that was stored, in order."""

    def __init__(self) -> None:
        self.all: list[tuple[deliveries.Work, deliveries.Outcome]] = []
        self.changed = threading.Condition()

    def wait(self, count: int) -> list[deliveries.Outcome]:
        with self.changed:
            enough = self.changed.wait_for(lambda: len(self.all) >= count, PATIENCE_SECONDS)
            assert enough, self.all
            return [outcome for _, outcome in self.all]


@pytest.fixture
def outcomes(monkeypatch: pytest.MonkeyPatch) -> Outcomes:
    seen = Outcomes()
    finish = deliveries.finish

    def note(work: deliveries.Work, outcome: deliveries.Outcome) -> None:
        finish(work, outcome)
        with seen.changed:
            seen.all.append((work, outcome))
            seen.changed.notify_all()

    monkeypatch.setattr(deliveries, "finish", note)
    return seen


@pytest.fixture
def run(world: World) -> Iterator[Callable[..., DeliveryLoop]]:
    """Start a loop; without `idle_seconds` it looks only when it is rung."""
    loops: list[DeliveryLoop] = []

    def start(**settings: Any) -> DeliveryLoop:
        given = {"allow": "loopback", "idle_seconds": 3600, **settings}
        loop = DeliveryLoop(**given)
        loop.start()
        wake.on("delivery", lambda _: loop.wake())
        loops.append(loop)
        return loop

    yield start
    for loop in loops:
        loop.stop(timeout=0)


class StubLookups(guard.Lookups):
    """Names that resolve as the test says; a list of lists is given out one after another."""

    def __init__(self, names: dict[str, list[list[str]]]) -> None:
        super().__init__()
        self.names = names
        self.asked: list[str] = []

    async def addresses(self, host: str) -> list[str]:
        self.asked.append(host)
        known = self.names[host]
        return known.pop(0) if len(known) > 1 else known[0]


@pytest.fixture
def lookups() -> Callable[..., StubLookups]:
    return lambda **names: StubLookups({k.replace("_", "."): v for k, v in names.items()})


@pytest.fixture
def until() -> Callable[[Callable[[], bool]], None]:
    """Wait for what nothing announces."""

    def wait(true: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE_SECONDS
        while not true():
            assert time.monotonic() < end, "it did not come true"
            time.sleep(0.005)

    return wait
