"""A task that is to wait for longer than a claim lasts, with several processes that look for it."""

from __future__ import annotations

import pytest

from engine.rules import times
from tests.processes import Layout, Starter
from tests.world import at_once, eventually

LAYOUTS = {
    "sqlite": Layout("sqlite", serve=2),
    "postgres": Layout("postgres", serve=2, worker=2, scheduler=1),
}
WAIT_SECONDS, LEASE_SECONDS, ROUNDS = 3600, 60, 3


@pytest.mark.case("F08")
@pytest.mark.rule("T-04")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_task_is_offered_to_nobody_before_its_time_and_to_one_worker_after_it(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig(task_timeout=LEASE_SECONDS)
    people = [stack.worker(gig) for _ in range(5)]

    def poll(who: int) -> list[str]:
        tasks = people[who].call("POST", f"{gig.path}/queue/poll", {"count": 5}, via=who).ok()
        return [task["id"] for task in tasks["tasks"]]

    now = times.parse_ms(stack.call("GET", "/health").ok()["timestamp"])
    at = times.iso_ms(now + WAIT_SECONDS * 1000)
    task_id = stack.task(gig, "later", not_before=at)
    # Past the time that a claim lasts, again and again.
    for _ in range(ROUNDS):
        assert at_once(5, poll) == [[]] * 5
        stack.advance(LEASE_SECONDS + 1)
    stack.advance(WAIT_SECONDS)
    found = eventually(lambda: [got for got in at_once(5, poll) if got], 30, "it is offered")
    assert found == [[task_id]]
    assert at_once(5, poll) == [[]] * 5
    assert gig.owner.get(f"{gig.path}/queue")["tasks"] == []
    for kind in ("task.submitted", "task.due", "task.claimed"):
        assert len(stack.events(gig, kind)) == 1, kind
    assert stack.rows("SELECT count(*) FROM task") == [(1,)]
    assert stack.complaints() == []
