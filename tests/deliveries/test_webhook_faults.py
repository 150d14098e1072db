"""Crashes, a database that is away, and stopping (W-02, Z-04)."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import peewee
import pytest

from engine import clock, deliveries
from jobs import http

ROOT = Path(__file__).parents[2]


CRASHER = """
import os, sys, threading
from engine import deliveries
from engine.db import db
from jobs.http import DeliveryLoop
db.connect(sys.argv[1])
deliveries.finish = lambda work, outcome: os._exit(9)
DeliveryLoop(allow="loopback").start()
threading.Event().wait(20)
"""


@pytest.mark.rule("W-02")
def test_a_crash_after_the_post_leads_to_the_same_id_again(
    database: str, receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    died = subprocess.run(
        [sys.executable, "-c", CRASHER, database],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=30,
        check=False,
    )
    assert died.returncode == 9
    assert len(receiver.requests) == 1
    loop = run()
    loop.wake()
    row = world.delivery(delivery)
    assert (row.status, row.attempts) == ("delivering", 1)
    clock.advance(deliveries.LEASE_MS // 1000 + 1)
    loop.wake()
    outcomes.wait(1)
    first, second = receiver.wait_for(2)
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == delivery
    assert first.body == second.body
    row = world.delivery(delivery)
    assert (row.status, row.attempts) == ("delivered", 2)


@pytest.mark.rule("W-02")
@pytest.mark.parametrize("status", [200, 500, None])
def test_an_outcome_that_comes_after_the_lease_changes_nothing(
    status: int | None, receiver: Any, world: Any
) -> None:
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    late = deliveries.start(delivery)
    assert late is not None
    clock.advance(deliveries.LEASE_MS // 1000 + 1)
    assert deliveries.start(delivery) is not None
    deliveries.finish(late, deliveries.Outcome(status, None, 1))
    row = world.delivery(delivery)
    assert (row.status, row.attempts) == ("delivering", 2)
    assert world.attempts(delivery) == []


@pytest.mark.rule("W-02")
def test_a_database_that_is_away_for_a_moment_stops_nothing_and_repeats_nothing(
    receiver: Any, world: Any, run: Any, monkeypatch: pytest.MonkeyPatch, until: Any
) -> None:
    monkeypatch.setattr(http, "STORE_WAITS_SECONDS", (0.01,) * 4)
    failures = {"due": 3, "start": 2, "finish": 3}

    def flaky(name: str) -> Any:
        real = getattr(deliveries, name)

        def call(*given: Any, **named: Any) -> Any:
            if failures[name] > 0:
                failures[name] -= 1
                raise peewee.OperationalError("server closed the connection unexpectedly")
            return real(*given, **named)

        return call

    for name in failures:
        monkeypatch.setattr(deliveries, name, flaky(name))
    [delivery] = world.send(world.endpoint(receiver.url("/in")))
    run(idle_seconds=0.02)
    until(lambda: world.delivery(delivery).status == "delivered")
    assert failures == {"due": 0, "start": 0, "finish": 0}
    assert len(receiver.requests) == 1


@pytest.mark.rule("Z-04")
def test_stopping_lets_a_try_under_way_finish(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/slow"] = receiver.hang
    loop = run(per_endpoint=1)
    endpoint = world.endpoint(receiver.url("/slow"))
    world.send(endpoint, 3)
    receiver.wait_for(1)
    stopper = threading.Thread(target=loop.stop)
    stopper.start()
    receiver.released.set()
    stopper.join()
    # The one under way is stored; none was begun after it.
    assert len(outcomes.wait(1)) == 1
    assert world.statuses(endpoint) == {"delivered": 1, "pending": 2}
    loop.wake()
    loop.stop()


@pytest.mark.rule("Z-04")
def test_stopping_leaves_a_try_that_takes_too_long_to_its_lease(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/slow"] = receiver.hang
    loop = run()
    endpoint = world.endpoint(receiver.url("/slow"))
    world.send(endpoint)
    receiver.wait_for(1)
    began = time.monotonic()
    loop.stop(timeout=0.05)
    assert time.monotonic() - began < 3
    assert world.statuses(endpoint) == {"delivering": 1}
    assert outcomes.all == []
    with pytest.raises(RuntimeError, match="started before"):
        loop.start()


def test_a_loop_that_never_ran_can_be_rung_and_stopped() -> None:
    loop = http.DeliveryLoop()
    loop.wake()
    loop.stop()
