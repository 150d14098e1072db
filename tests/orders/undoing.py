"""What the tests of undone orders share: paid shops, and looks at their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine import audit, clock, development, proofs
from engine.db import db
from engine.models.command import Command
from engine.models.escrow import Escrow
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from tests.services import Postgres, Redis
from tests.shop import Shop, shop
from tests.world import Person, World, eventually

PRICE, PRICE_UNITS, NET_UNITS = "0.50", 500_000, 450_000
WINDOW_SECONDS = 3600
NOT_WAITING = {"prefer": "wait=0"}
DOLLAR = 1_000_000


@pytest.fixture
def backend(postgres: Postgres, redis: Redis) -> Iterator[tuple[str, str]]:
    """PostgreSQL alone, for what is no question of the database: import it to override both."""
    url = postgres.fresh()
    yield url, redis.fresh()
    postgres.drop(url)


@pytest.fixture
def world(paying_world: World) -> World:
    return paying_world


@pytest.fixture
def place(world: World) -> Iterator[Shop]:
    """A shop for $0.50; whatever is done in it, the books balance in the end."""
    yield shop(world, PRICE, review_timeout=WINDOW_SECONDS)
    fine()


def fine() -> None:
    # Where nothing was paid for, the contract itself may not be final yet.
    development.mine(2)
    report = audit.run()
    assert report.faults == []


def bought(place: Shop, buyer: Person | None = None, **body: Any) -> tuple[Person, str]:
    """A buyer and the id of an order that he has paid for."""
    buyer = buyer or place.buyer(dollars=10)
    return buyer, place.order(buyer, **{"amount": PRICE, **body})


def address(buyer: Person) -> str:
    (wallet,) = [
        one
        for one in buyer.get("/wallets")["wallets"]
        if one["id"] == buyer.wallet_id  # type: ignore[attr-defined]
    ]
    found: str = wallet["evm_address"]
    return found


def units(place: Shop, buyer: Person) -> int:
    """What the buyer's wallet holds."""
    return place.world.usdc_units(address(buyer))


def run_out() -> None:
    """The review time of every delivery."""
    clock.advance(WINDOW_SECONDS)
    proofs.time_out()


def row(task_id: str) -> Task:
    with db.reading():
        return Task.get(Task.id == task_id)


def deposits(task_id: str) -> list[Escrow]:
    """Of one order, in the order in which they were planned."""
    with db.reading():
        return list(Escrow.select().where(Escrow.task_id == task_id).order_by(Escrow.attempt))


def proofs_of(task_id: str) -> list[Proof]:
    with db.reading():
        return list(Proof.select().where(Proof.task_id == task_id).order_by(Proof.id))


def rollups_of(task_id: str) -> list[Rollup]:
    with db.reading():
        of = Proof.select(Proof.rollup_id).where(Proof.task_id == task_id)
        return list(Rollup.select().where(Rollup.id.in_(of)))


def withdrawals(task_id: str) -> list[Command]:
    with db.reading():
        found = Command.select().where(Command.kind == "order.withdraw").order_by(Command.id)
        return [one for one in found if one.arguments["task_id"] == task_id]


def told(place: Shop, kind: str, task_id: str | None = None) -> list[Any]:
    """The shop's events of one kind, about one order if it is named: what they say."""
    found, after = [], 0
    while True:
        page = place.vendor.get(f"{place.path}/events?limit=100&after={after}")
        if not page["events"]:
            return [
                event["data"]
                for event in found
                if event["type"] == kind
                and (
                    task_id is None
                    or task_id in (event["subject"]["id"], event["data"].get("task_id"))
                )
            ]
        found += page["events"]
        after = page["next_after"]


def news(person: Person, kind: str) -> int:
    """How many notifications of one kind a person has."""
    rows = person.get("/notifications?limit=100")["notifications"]
    return sum(one["kind"] == kind for one in rows)


def until(task_id: str, *statuses: str) -> Task:
    """The order, once it is in one of these states."""

    def look() -> Task | None:
        task = row(task_id)
        return task if task.status in statuses else None

    found: Task = eventually(look, 30, f"{task_id} is {statuses}, not {row(task_id).status}")
    return found


def is_undone(place: Shop, buyer: Person, task_id: str, by: str, proof_id: str = "") -> None:
    """The order has ended so that every reader tells the same story."""
    for person in (buyer, place.vendor):
        task = place.task(person, task_id)
        assert (task["status"], task["order_withdrawn_at"] is not None) == ("withdrawn", True)
    task = row(task_id)
    assert (task.order_withdrawn_by, task.mailbox_id, task.escrowed_at) == (by, None, None)
    assert [one["withdrawn_by"] for one in told(place, "order.withdrawn", task_id)] == [by]
    for one in proofs_of(task_id):
        assert (one.status, one.returned, one.paid_out_at) == ("rejected", True, None)
    if proof_id:
        place.rule(buyer, proof_id).refused(409, "order_withdrawn")
        read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
        assert (read["status"], read["rejection_tag"]) == ("rejected", "other")
        assert read["can_revise"] is False
