"""The same item acted on through several server processes at once, and after all were killed."""

from __future__ import annotations

import pytest

from tests.incoming.world import done, gig, item, send, use
from tests.processes import Layout, Starter
from tests.world import at_once


@pytest.mark.rule("I-03")
@pytest.mark.rule("H-07")
@pytest.mark.parametrize("backend", ["sqlite", "postgres"])
def test_one_revision_is_used_once_and_one_key_has_one_effect_across_processes(
    start_stack: Starter, backend: str
) -> None:
    stack = start_stack(Layout(backend, serve=3))
    place = gig(stack)
    worker = stack.worker(place)
    send(stack, place)
    seen = item(worker)
    plan = {"plannedStart": "2026-10-19T14:00:00"}
    answers = at_once(10, lambda _: use(worker, seen["id"], "plan", plan, etag=seen["etag"]))
    assert sorted(one.status for one in answers) == [204] + [412] * 9
    planned = item(worker)
    complete = {"body": {"response": "Done."}, "etag": planned["etag"], "key": "the one key"}
    answers = at_once(10, lambda _: use(worker, seen["id"], "complete", **complete))
    assert [done(one).status for one in answers] == [204] * 10
    acted = "SELECT count(*) FROM event WHERE type = 'task.acted'"
    assert stack.rows(acted) == [(2,)]
    told = item(worker)
    stack.restart()
    again = done(use(worker, seen["id"], "complete", **complete))
    assert again.headers["idempotency-replayed"] == "true"
    assert item(worker) == told and stack.rows(acted) == [(2,)]
    assert stack.complaints() == []
