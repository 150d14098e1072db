"""One clock for all processes, and timed work that is done once however many ring for it."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.processes import SQLITE_MANY, Layout, Stack, Starter
from tests.world import eventually

LAYOUTS = {"sqlite": SQLITE_MANY, "postgres": Layout("postgres", 2, 2, 3)}
PROOFS = 20
HOUR = 3600


def _now(stack: Stack, via: int) -> datetime:
    told = stack.call("GET", "/health", via=via).ok()["timestamp"]
    return datetime.fromisoformat(told)


@pytest.mark.case("F09")
@pytest.mark.rule("H-10")
@pytest.mark.rule("R-05")
@pytest.mark.parametrize("name", LAYOUTS)
def test_the_clock_moves_everywhere_and_overdue_proofs_are_approved_once_each(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig(price="1", review_timeout=HOUR)
    worker = stack.worker(gig)
    proofs = []
    for _ in range(PROOFS):
        task_id = stack.task(gig)
        body = {"task_identifier": task_id, "proofs": ["done"]}
        proofs.append(worker.post(f"{gig.path}/proofs", body)["proof"]["id"])
    before = _now(stack, via=1)

    stack.advance(HOUR + 1, via=0)

    assert _now(stack, via=1) - before > timedelta(seconds=HOUR)

    def told() -> list[Any]:
        found = stack.events(gig, "proof.approved")
        return found if len(found) >= PROOFS else []

    # Killing the one that rings moves the bell; the others go on with what is due.
    stack.kill((stack.schedulers or stack.serves)[-1])
    eventually(told, 60, "all are approved")
    # Every process has rung again since; what they did twice would be there by now.
    stack.advance(HOUR)
    last = stack.task(gig)
    worker.post(f"{gig.path}/proofs", {"task_identifier": last, "proofs": ["done"]})
    stack.advance(HOUR + 1)
    events = eventually(lambda: told() if len(told()) > PROOFS else [], 60, "the last one too")

    assert len(events) == PROOFS + 1
    counted = Counter(event["subject"]["id"] for event in events)
    assert set(counted.values()) == {1}
    assert set(proofs) < set(counted)
    assert {event["data"]["auto"] for event in events} == {True}
    assert stack.complaints() == []
