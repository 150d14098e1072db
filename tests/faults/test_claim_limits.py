"""One worker polls many times at once, through several processes: his limits hold (M-05)."""

from __future__ import annotations

import pytest

from tests.processes import Layout, Stack, Starter
from tests.world import Answer, at_once

AT_ONCE, ROUNDS, LIMIT, TASKS = 16, 3, 7, 60
LAYOUTS = {"sqlite": Layout("sqlite", serve=2), "postgres": Layout("postgres", serve=2)}
LIMITS = {
    "rate": {"default_rate_limit_count": LIMIT, "default_rate_limit_minutes": 60},
    "cap": {"default_max_open_tasks": LIMIT},
}


@pytest.mark.rule("M-05")
@pytest.mark.rule("Q-05")
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_sixteen_polls_through_two_processes_stay_within_a_limit(
    start_stack: Starter, name: str, limit: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    for _ in range(ROUNDS):
        _one_round(stack, LIMITS[limit])
    assert stack.complaints() == []


def _one_round(stack: Stack, limits: dict[str, int]) -> None:
    gig = stack.gig(**limits)
    worker, other = stack.worker(gig), stack.worker(gig)
    sent = [stack.task(gig, str(n)) for n in range(TASKS // 3)]

    def poll(who: int) -> Answer:
        return worker.call("POST", f"{gig.path}/queue/poll", {"count": 1 + who % 3}, via=who)

    answers = at_once(AT_ONCE, poll)

    assert {answer.status for answer in answers} <= {200, 429}
    taken = [task["id"] for one in answers if one.status == 200 for task in one.json["tasks"]]
    assert len(taken) == len(set(taken)) == LIMIT
    rest = other.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]
    assert len(rest) == LIMIT
    assert {task["id"] for task in rest} <= set(sent) - set(taken)
