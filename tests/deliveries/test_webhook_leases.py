"""One endpoint, one process: its lease, however many processes there are (W-05)."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from engine import clock, leases
from jobs import http
from tests.deliveries.webhook_receiver import answer

ROOT = Path(__file__).parents[2]
PER_ENDPOINT = 2
ANOTHER_PROCESS = f"""
import sys
from engine.db import db
from jobs.http import DeliveryLoop
db.connect(sys.argv[1])
loop = DeliveryLoop(allow="loopback", per_endpoint={PER_ENDPOINT}, idle_seconds=0.02)
loop.start()
print("ready", flush=True)
sys.stdin.read()
loop.stop()
"""


def slowly(handler: Any) -> None:
    time.sleep(0.02)
    answer()(handler)


@pytest.mark.rule("W-05")
def test_no_two_processes_send_to_one_endpoint_at_once(
    database: str, receiver: Any, world: Any, run: Any, until: Any
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ANOTHER_PROCESS, database],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(2):
            run(per_endpoint=PER_ENDPOINT, idle_seconds=0.02)
        paths = [f"/{number}" for number in range(6)]
        endpoints = [world.endpoint(receiver.url(path)) for path in paths]
        receiver.answers.update(dict.fromkeys(paths, slowly))
        for _ in range(5):
            for endpoint in endpoints:
                world.send(endpoint, 4)
        for endpoint in endpoints:
            until(lambda one=endpoint: world.statuses(one) == {"delivered": 20})
        process.communicate(timeout=20)
    assert process.returncode == 0
    assert max(receiver.most_busy.values()) <= PER_ENDPOINT
    ids = [one.headers["webhook-id"] for one in receiver.requests]
    assert len(ids) == len(set(ids)) == 120


@pytest.mark.rule("W-05")
@pytest.mark.rule("Z-04")
def test_a_process_that_stops_gives_its_endpoints_back_at_once(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    first = run()
    endpoint = world.endpoint(receiver.url("/in"))
    world.send(endpoint)
    outcomes.wait(1)
    name = http.LEASE_PREFIX + endpoint
    assert leases.holder_of(name) == first._holder
    second = run()
    world.send(endpoint)
    second.wake()
    first.stop()
    assert leases.holder_of(name) is None or leases.holder_of(name) == second._holder
    second.wake()
    outcomes.wait(2)
    assert world.statuses(endpoint) == {"delivered": 2}


@pytest.mark.rule("W-05")
def test_what_a_dead_process_held_is_free_within_a_minute(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    served = world.endpoint(receiver.url("/served"))
    world.send(served, 30)
    assert leases.hold_each([http.LEASE_PREFIX + served], "dead", 46)
    loop = run()
    # It serves what is nobody's, and leaves alone what is somebody's.
    world.send(world.endpoint(receiver.url("/free")))
    outcomes.wait(1)
    assert receiver.to("/served") == []
    clock.advance(60)
    loop.wake()
    outcomes.wait(31)
    assert world.statuses(served) == {"delivered": 30}


@pytest.mark.rule("W-05")
def test_no_try_begins_that_might_outlast_the_lease(
    receiver: Any,
    world: Any,
    run: Any,
    outcomes: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each renewal is good for a fraction of a second here; all the same everything is sent."""
    monkeypatch.setattr(http, "LEASE_SECONDS", 10.1)
    endpoint = world.endpoint(receiver.url("/in"))
    receiver.answers["/in"] = slowly
    run(per_endpoint=1)
    world.send(endpoint, 12)
    outcomes.wait(12)
    assert world.statuses(endpoint) == {"delivered": 12}


@pytest.mark.rule("W-05")
def test_an_endpoint_that_somebody_else_took_over_is_let_go(
    receiver: Any, world: Any, run: Any, outcomes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "LEASE_SECONDS", 10.3)
    endpoint = world.endpoint(receiver.url("/in"))
    receiver.answers["/in"] = receiver.hang
    loop = run(per_endpoint=1)
    world.send(endpoint, 5)
    receiver.wait_for(1)
    time.sleep(0.4)
    leases.release_all(loop._holder)
    clock.advance(1)
    assert leases.hold_each([http.LEASE_PREFIX + endpoint], "another", 46)
    receiver.released.set()
    outcomes.wait(1)
    other = world.endpoint(receiver.url("/other"))
    world.send(other)
    outcomes.wait(2)
    assert world.statuses(endpoint) == {"delivered": 1, "pending": 4}
    assert len(receiver.to("/in")) == 1


def test_many_leases_are_taken_and_renewed_in_one_statement(database: str) -> None:
    assert leases.hold_each([], "a", 10) == set()
    assert leases.hold_each(["x:1", "x:2"], "a", 10) == {"x:1", "x:2"}
    assert leases.hold_each(["x:2", "x:3"], "b", 10) == {"x:3"}
    assert leases.hold_each(["x:2", "x:3"], "a", 10) == {"x:2"}
    assert sorted(leases.held_by_others("x:", "b")) == ["x:1", "x:2"]
    assert leases.held_by_others("y", "b") == []
    clock.advance(11)
    assert leases.held_by_others("x:", "b") == []
    assert leases.hold_each(["x:1", "x:2"], "b", 10) == {"x:1", "x:2"}
    leases.release_all("b")
    assert leases.hold_each(["x:1"], "a", 10) == {"x:1"}
