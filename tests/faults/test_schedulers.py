"""Two schedulers, of which one is killed again and again: every slot is rung, and once."""

from __future__ import annotations

import random
import time

import pytest

from tests.processes import Layout, Stack, Starter

SLOT_SECONDS = 10
LAYOUT = Layout("postgres", serve=1, worker=1, scheduler=2)
JOBS = ("sweep", "review")


def _rung(stack: Stack, job: str) -> list[int]:
    return [
        row[0] for row in stack.rows(f"SELECT slot FROM job_run WHERE job = '{job}' ORDER BY 1")
    ]


@pytest.mark.rule("Y-08")
@pytest.mark.case("F09")
@pytest.mark.parametrize(
    ("kills", "pause_seconds"),
    [(2, 12), pytest.param(10, 60, marks=pytest.mark.soak)],
    ids=["2-kills", "10-kills"],
)
def test_every_slot_is_rung_once_whichever_scheduler_dies(
    start_stack: Starter, kills: int, pause_seconds: int
) -> None:
    every = {"SWEEP_SECONDS": str(SLOT_SECONDS), "REVIEW_SECONDS": str(SLOT_SECONDS)}
    stack = start_stack(LAYOUT, **every)
    schedulers = [one for one in stack.processes if one.kind == "scheduler"]
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for _ in range(kills):
        time.sleep(pause_seconds)
        stack.kill(chance.choice(schedulers))
        stack.start()
    time.sleep(SLOT_SECONDS)
    for job in JOBS:
        slots = _rung(stack, job)
        assert slots == list(range(slots[0], slots[0] + len(slots))), (job, seed)
        assert len(slots) >= kills * pause_seconds // SLOT_SECONDS, (job, seed)
