"""A receiver that is slow, or asks to be left alone (W-02, W-05, F17)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock
from jobs import lanes
from tests.deliveries.webhook_receiver import PATIENCE_SECONDS, answer
from tests.world import eventually


@pytest.mark.rule("W-05")
@pytest.mark.case("F17")
def test_forty_events_one_receiver_answering_too_late(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    """Of five receivers one takes what it is sent and answers when the time is over."""

    def too_late(handler: Any) -> None:
        receiver.released.wait(PATIENCE_SECONDS)
        answer()(handler)

    receiver.answers["/slow"] = too_late
    loop = run(timeout_seconds=3)
    slow = world.endpoint(receiver.url("/slow"))
    healthy = [world.endpoint(receiver.url(f"/{n}")) for n in range(4)]
    wanted = {endpoint: set(world.send(endpoint, 8)) for endpoint in [slow, *healthy]}
    # The healthy wait for nobody: the slow one answers no earlier than they are all served.
    served = [{"delivered": 8}] * 4
    eventually(lambda: [world.statuses(one) for one in healthy] == served, PATIENCE_SECONDS)
    outcomes.wait(32 + lanes.CIRCUIT_FAILURES)
    for number, endpoint in enumerate(healthy):
        got = [one.headers["webhook-id"] for one in receiver.to(f"/{number}")]
        assert len(got) == 8 and set(got) == wanted[endpoint]
    # It is tried again in its own time, under the same ids, and the log agrees with what came.
    receiver.released.set()
    receiver.answers["/slow"] = answer()
    clock.advance(60)
    loop.wake()
    late = outcomes.wait(32 + lanes.CIRCUIT_FAILURES + 8)
    assert world.statuses(slow) == {"delivered": 8}
    got = [one.headers["webhook-id"] for one in receiver.to("/slow")]
    assert set(got) == wanted[slow]
    assert len(got) == len(late) - 32
    for delivery in wanted[slow]:
        tries = world.attempts(delivery)
        assert len(tries) == got.count(delivery) == world.delivery(delivery).attempts
        assert tries[-1].status_code == 200
        assert all("3 seconds" in one.error for one in tries[:-1])


@pytest.mark.rule("W-02")
@pytest.mark.rule("W-05")
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_keeps_everything_from_the_receiver(
    status: int, receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = [answer(status, retry_after="1000"), answer()]
    loop = run(per_endpoint=1)
    endpoint = world.endpoint(receiver.url("/in"))
    world.send(endpoint, 5)
    outcomes.wait(1)
    other = world.endpoint(receiver.url("/other"))
    for seconds in (0, 990):
        clock.advance(seconds)
        world.send(endpoint)
        world.send(other)
        loop.wake()
        outcomes.wait(3 if seconds else 2)
        assert len(receiver.to("/in")) == 1
    clock.advance(200)
    loop.wake()
    outcomes.wait(10)
    assert world.statuses(endpoint) == {"delivered": 7}


@pytest.mark.rule("W-02")
def test_retry_after_with_any_other_status_holds_back_that_delivery_only(
    receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    receiver.answers["/in"] = [answer(500, retry_after="1000"), answer()]
    run()
    endpoint = world.endpoint(receiver.url("/in"))
    world.send(endpoint)
    outcomes.wait(1)
    world.send(endpoint)
    outcomes.wait(2)
    assert world.statuses(endpoint) == {"delivered": 1, "pending": 1}


@pytest.mark.rule("W-09")
@pytest.mark.parametrize("why", ["asked to wait", "circuit"])
def test_setting_the_url_again_ends_the_waiting(
    why: str, receiver: Any, world: Any, run: Any, outcomes: Any
) -> None:
    failing = answer(503, retry_after="80000") if why == "asked to wait" else answer(500)
    receiver.answers["/in"] = failing
    run(per_endpoint=1)
    endpoint = world.endpoint(receiver.url("/in"))
    world.send(endpoint, lanes.CIRCUIT_FAILURES)
    count = 1 if why == "asked to wait" else lanes.CIRCUIT_FAILURES
    outcomes.wait(count)
    world.send(endpoint)
    receiver.answers["/in"] = answer()
    world.set_url(endpoint, receiver.url("/in"))
    outcomes.wait(count + 1)
    assert world.statuses(endpoint)["delivered"] >= 1
