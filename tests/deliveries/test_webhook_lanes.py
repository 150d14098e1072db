"""Lanes and circuits: nobody waits for another's receiver (W-05, F17)."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
import structlog

from engine import clock, deliveries, endpoints, wake
from engine.db import db
from engine.models.delivery import Delivery
from jobs import guard, lanes, post
from tests.deliveries.webhook_receiver import answer


@pytest.mark.rule("W-05")
@pytest.mark.case("F17")
def test_one_hanging_endpoint_delays_no_other(
    receiver: Any, world: Any, run: Any, outcomes: Any, until: Any
) -> None:
    receiver.answers["/slow"] = receiver.hang
    run()
    slow = world.endpoint(receiver.url("/slow"))
    healthy = [world.endpoint(receiver.url(f"/{n}")) for n in range(4)]
    for endpoint in [slow, *healthy]:
        world.send(endpoint, 8)
    outcomes.wait(32)
    for number, endpoint in enumerate(healthy):
        got = receiver.to(f"/{number}")
        assert len(got) == len({one.headers["webhook-id"] for one in got}) == 8
        assert world.statuses(endpoint) == {"delivered": 8}
    until(lambda: len(receiver.to("/slow")) == 4)
    assert world.statuses(slow) == {"delivering": 4, "pending": 4}
    assert receiver.most_busy["/slow"] == 4
    receiver.released.set()
    outcomes.wait(40)
    assert world.statuses(slow) == {"delivered": 8}
    assert receiver.most_busy["/slow"] == 4


@pytest.mark.rule("W-05")
def test_a_long_backlog_of_one_endpoint_does_not_hide_what_is_due_to_others(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/slow"] = receiver.hang
    slow = world.endpoint(receiver.url("/slow"))
    world.send(slow, 500)
    [delivery] = world.send(world.endpoint(receiver.url("/healthy")))
    run().wake()
    outcomes.wait(1)
    assert world.delivery(delivery).status == "delivered"


@pytest.mark.rule("W-05")
def test_a_circuit_opens_after_repeated_failure_and_probes_again(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = answer(500)
    endpoint = world.endpoint(receiver.url("/in"))
    world.send(endpoint, 12)
    loop = run()
    loop.wake()
    outcomes.wait(lanes.CIRCUIT_FAILURES)
    other = world.endpoint(receiver.url("/other"))
    # What is delivered afterwards shows that the loop has looked meanwhile.
    world.send(other)
    outcomes.wait(lanes.CIRCUIT_FAILURES + 1)
    assert len(receiver.to("/in")) == lanes.CIRCUIT_FAILURES
    with db.reading():
        untried = Delivery.select().where(Delivery.attempts == 0, Delivery.status == "pending")
        assert untried.count() == 12 - lanes.CIRCUIT_FAILURES
    # The probe fails: one try, and the circuit is open again.
    clock.advance(lanes.CIRCUIT_MS // 1000 + 1)
    loop.wake()
    outcomes.wait(lanes.CIRCUIT_FAILURES + 2)
    world.send(other)
    outcomes.wait(lanes.CIRCUIT_FAILURES + 3)
    assert len(receiver.to("/in")) == lanes.CIRCUIT_FAILURES + 1
    # The probe succeeds: everything goes.
    receiver.answers["/in"] = answer(200)
    clock.advance(3600)
    loop.wake()
    outcomes.wait(lanes.CIRCUIT_FAILURES + 3 + 12)
    assert world.statuses(endpoint) == {"delivered": 12}


@pytest.mark.rule("W-05")
def test_no_more_tries_at_once_than_the_total(
    receiver: Any, world: Any, run: Any, outcomes: Any, until: Any
) -> None:
    receiver.answers["/slow"] = receiver.hang
    run(total=2, per_endpoint=4)
    endpoint = world.endpoint(receiver.url("/slow"))
    world.send(endpoint, 6)
    until(lambda: len(receiver.to("/slow")) == 2)
    # What waits for its turn is not leased, so another process may have it.
    assert world.statuses(endpoint) == {"delivering": 2, "pending": 4}
    receiver.released.set()
    outcomes.wait(6)
    assert receiver.most_busy["/slow"] == 2


@pytest.mark.rule("W-02")
def test_without_a_bell_the_loop_finds_what_is_due(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    endpoint = world.endpoint(receiver.url("/in"))
    run(idle_seconds=0.05)
    wake.silence()
    world.send(endpoint)
    outcomes.wait(1)
    assert len(receiver.requests) == 1


@pytest.mark.rule("W-02")
def test_many_deliveries_each_go_once(receiver: Any, world: Any, run: Any, outcomes: Any) -> None:
    loops = [run(), run(idle_seconds=0.05)]
    endpoints = [world.endpoint(receiver.url(f"/{n}")) for n in range(5)]
    for endpoint in endpoints:
        world.send(endpoint, 60)
    for loop in loops:
        loop.wake()
    outcomes.wait(300)
    ids = [one.headers["webhook-id"] for one in receiver.requests]
    assert len(ids) == len(set(ids)) == 300


def test_rings_that_come_together_count_as_one(world: Any, run: Any, until: Any) -> None:
    looks: list[float] = []
    real = deliveries.due

    def due(*given: Any, **named: Any) -> Any:
        looks.append(time.monotonic())
        return real(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deliveries, "due", due)
        loop = run()
        until(lambda: len(looks) == 1)
        for _ in range(10_000):
            loop.wake()
        loop.stop()
    assert len(looks) < 1000


def test_the_sender_needs_its_session() -> None:
    sender = post.Sender(guard.Policy(frozenset({80}), "loopback"))
    work = deliveries.Work(
        "DLV_1", 1, 1, "e", "{}", endpoints.Target("E", "http://127.0.0.1/", ("s",))
    )
    outcome = asyncio.run(sender.post(work))
    assert outcome.error == "The try broke off inside Muster (RuntimeError)."


@pytest.mark.rule("W-03")
def test_logs_show_no_secret_and_no_query(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    with structlog.testing.capture_logs() as logs:
        loop = run()
        endpoint = world.endpoint(receiver.url("/in?token=hunter2"))
        [delivery] = world.send(endpoint, text="private words")
        outcomes.wait(1)
        loop.stop()
    assert [one["delivery"] for one in logs if one["event"] == "delivery_tried"] == [delivery]
    for hidden in ("hunter2", "whsec_", "private words", world.secret(endpoint)):
        assert hidden not in repr(logs)
