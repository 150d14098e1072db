"""What the tests of webhooks share: outcomes, and short ways to see and to move deliveries."""

from __future__ import annotations

from typing import Any

from engine import deliveries
from engine.db import db
from engine.deliveries import Outcome, Work
from engine.models.delivery import Delivery
from tests.world import Gig, Person, World

URL = "http://127.0.0.1:9/hook"
OTHER_URL = "http://127.0.0.1:9/other"
TAKEN = Outcome(200, None, 7, "ok")
FAILED = Outcome(500, "The receiver answered 500.", 7, "no")
GONE = Outcome(410, "gone", 7)


def prove(world: World, gig: Gig, worker: Person) -> str:
    """Something that is told to the gig's `proof_webhook_url`; answers its delivery's id."""
    worker.post(f"{gig.path}/proofs", {"task_identifier": world.task(gig)})
    return str(log(gig.owner)[0]["id"])


def log(person: Person, query: str = "") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = person.get(f"/deliveries{query}")["deliveries"]
    return rows


def row(person: Person, delivery_id: str) -> dict[str, Any]:
    (found,) = [one for one in log(person, "?limit=200") if one["id"] == delivery_id]
    return found


def endpoint(person: Person, kind: str) -> dict[str, Any]:
    (found,) = [
        one for one in person.get("/deliveries/endpoints")["endpoints"] if one["kind"] == kind
    ]
    return found


def begin(delivery_id: str) -> Work:
    def now_due() -> None:
        Delivery.update(next_attempt_at=0).where(
            Delivery.id == delivery_id, Delivery.status == "pending"
        ).execute()

    db.write(now_due)
    work = deliveries.start(delivery_id)
    assert work is not None
    return work


def attempt(delivery_id: str, *outcomes: Outcome) -> None:
    for outcome in outcomes:
        deliveries.finish(begin(delivery_id), outcome)


def told(person: Person, gig: Gig, kind: str) -> list[dict[str, Any]]:
    events = person.get(f"{gig.path}/events?limit=200")["events"]
    return [one for one in events if one["type"] == kind]
