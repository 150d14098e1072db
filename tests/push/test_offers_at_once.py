"""An offer that is accepted, rejected, proven and runs out at once: one of them counts (U-04)."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engine import clock, holds
from engine.db import db
from engine.models.task import Task
from tests.push.test_offers import accept, first, holder, offering, reject
from tests.world import World, at_once

ROUNDS = 15
ENDS = ("task.accepted", "task.turned_down", "task.expired")
_ENDS = """
SELECT type FROM event WHERE subject_id = ? AND type IN (?, ?, ?) AND mailbox_id = ?
"""


@pytest.mark.rule("U-04")
def test_of_accepting_rejecting_and_running_out_one_counts(world: World) -> None:
    gig, workers = offering(world)
    ended: Counter[str] = Counter()
    for _ in range(ROUNDS):
        task_id = world.task(gig)
        mine, other = first(gig, task_id, workers)
        run_out_in(task_id, random.choice((-1, 10, 10_000)))
        proof = {"task_identifier": task_id, "proofs": ["done"]}
        plays: list[Callable[[], Any]] = [
            lambda: mine.call("POST", accept(gig, task_id)).status,  # noqa: B023
            lambda: mine.call("POST", reject(gig, task_id)).status,  # noqa: B023
            lambda: mine.call("POST", f"{gig.path}/proofs", proof).status,  # noqa: B023
            lambda: holds.expire() and 200,
        ]
        accepted, rejected, proven, _ = at_once(4, lambda n: later(plays[n]))  # noqa: B023
        holds.expire()
        with db.reading():
            told = [row[0] for row in db.rows(_ENDS, (task_id, *ENDS, mine.mailbox["id"]))]
        (end,) = told
        ended[end] += 1
        if end == "task.accepted":
            # By his word, or by handing in.
            assert accepted == 200 or proven == 201
            assert rejected == 409 and holder(gig, task_id, workers) is mine
        else:
            assert accepted == 410 and proven in (409, 410)
            assert rejected == (200 if end == "task.turned_down" else 410)
            assert holder(gig, task_id, workers) is other
    assert len(ended) > 1, ended


def later(play: Callable[[], Any]) -> Any:
    time.sleep(random.uniform(0, 0.02))
    return play()


def run_out_in(task_id: str, ms: int) -> None:
    at = clock.now() + ms
    ends = Task.update(accept_by=at, expires_at=at).where(Task.id == task_id)
    db.write(ends.execute)
