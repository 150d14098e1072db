"""Many workers reach for the same queue at the same moment, through several processes."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.processes import SQLITE_MANY, Layout, Starter
from tests.world import Answer, Gig, at_once

TASKS, PEOPLE = 30, 60
LAYOUTS = {"sqlite": SQLITE_MANY, "postgres": Layout("postgres", serve=3)}
ROUNDS = [
    pytest.param(2, id="2-rounds"),
    pytest.param(20, id="20-rounds", marks=pytest.mark.soak),
]


@pytest.mark.case("F01")
@pytest.mark.rule("Q-05")
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_sixty_workers_who_poll_thirty_tasks_get_each_of_them_once(
    start_stack: Starter, name: str, rounds: int
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    people = [stack.worker(gig) for _ in range(PEOPLE)]

    for number in range(rounds):
        sent = [stack.task(gig, f"{number}:{n}") for n in range(TASKS)]

        def poll(who: int) -> Answer:
            return people[who].call("POST", f"{gig.path}/queue/poll", {"count": 1}, via=who)

        answers = at_once(PEOPLE, poll)

        assert Counter(answer.status for answer in answers) == {200: PEOPLE}
        got = {
            task["id"]: answer.json["mailbox_id"]
            for answer in answers
            for task in answer.json["tasks"]
        }
        assert Counter(answer.json["count"] for answer in answers) == {1: TASKS, 0: PEOPLE - TASKS}
        assert sorted(got) == sorted(sent)
        assert _holders(gig, sent) == got
    assert stack.complaints() == []


def _holders(gig: Gig, sent: list[str]) -> dict[str, str]:
    """The holder of each task, as the gig's owner is told."""
    tasks = [gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"] for task_id in sent]
    assert {task["status"] for task in tasks} == {"claimed"}
    return {task["id"]: task["mailbox_id"] for task in tasks}
