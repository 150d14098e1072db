"""Many workers open one link at the same moment, through several processes (C-01)."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.processes import Layout, Starter
from tests.world import Answer, at_once

PEOPLE, MOST = 20, 3
LAYOUTS = {"sqlite": Layout("sqlite", serve=2), "postgres": Layout("postgres", serve=2)}


@pytest.mark.rule("C-01")
@pytest.mark.rule("S-01")
@pytest.mark.parametrize("name", LAYOUTS)
def test_of_twenty_who_open_one_link_as_many_get_it_as_may(start_stack: Starter, name: str) -> None:
    stack = start_stack(LAYOUTS[name])
    shared = stack.gig()
    solo = stack.gig(distribution="queue_solo", max_claims_per_task=MOST)
    for gig, most, reason in ((shared, 1, "taken"), (solo, MOST, "exhausted")):
        people = [stack.worker(gig) for _ in range(PEOPLE)]
        task_id = stack.task(gig)
        path = f"{gig.path}/queue/{task_id}/claim"

        def claim(who: int, path: str = path, people: list = people) -> Answer:  # type: ignore[type-arg]
            return people[who].call("POST", path, {}, via=who)

        answers = at_once(PEOPLE, claim)

        assert Counter(one.status for one in answers) == {200: most, 409: PEOPLE - most}
        assert {one.json["reason"] for one in answers if one.status == 409} == {reason}
        won = [one.json for one in answers if one.status == 200]
        assert {one["already_held"] for one in won} == {False}
        assert len({one["task"]["id"] for one in won}) == most
        # Whoever opens it again is told the same.
        again = at_once(PEOPLE, claim)
        for first, second in zip(answers, again, strict=True):
            assert second.status == first.status
            if first.status == 200:
                assert second.json == {**first.json, "already_held": True}
    assert stack.complaints() == []
