"""Three ways in which a task may stay with a worker who is gone: each comes to an end (F04)."""

from __future__ import annotations

import time

import pytest

from tests.engine.holding import act, claim, poll
from tests.processes import Stack
from tests.world import Gig, Person, eventually

LEASE_SECONDS = 30
# As long as a process needs to start again, or less.
SHORT_SECONDS = 2


def _goes_to(worker: Person, gig: Gig, task_id: str) -> None:
    assert eventually(lambda: poll(gig, worker)) == [task_id]


@pytest.mark.case("F04")
@pytest.mark.rule("Q-07")
@pytest.mark.rule("Z-04")
def test_whatever_became_of_its_holder_a_task_is_the_next_ones_after_its_time(
    stack: Stack,
) -> None:
    gig, quick = stack.gig(task_timeout=LEASE_SECONDS), stack.gig(task_timeout=SHORT_SECONDS)
    forgetful, removed, other = (stack.worker(gig) for _ in range(3))
    cut_off = stack.worker(quick)
    stack.worker(quick, other)

    # He is about, and does nothing about this task.
    first = stack.task(gig)
    assert claim(gig, forgetful) == first
    for _ in range(3):
        stack.advance(LEASE_SECONDS // 2)
        poll(gig, forgetful)
        forgetful.get(f"{gig.path}/tasks/{first}")
    _goes_to(other, gig, first)

    # He has been shut out, with what he held.
    second = stack.task(gig)
    assert claim(gig, removed) == second
    done = stack.run("accounts", "deactivate", removed.email)
    assert done.returncode == 0, done.stderr
    assert claim(gig, other) == second

    # Everything is killed while he holds it, and comes back when his time is over.
    third = stack.task(quick)
    assert claim(quick, cut_off) == third
    since = time.monotonic()
    stack.kill()
    time.sleep(max(0, since + SHORT_SECONDS - time.monotonic()))
    stack.start()
    _goes_to(other, quick, third)

    for worker, where, task_id in ((forgetful, gig, first), (cut_off, quick, third)):
        act(where, worker, task_id, "heartbeat").refused(410, "claim_lost")
        act(where, worker, task_id, "proof").refused(410, "claim_lost")
    act(gig, removed, second, "proof").refused(401)
    assert stack.complaints() == []
