"""The solo queue mode, asked without a database: facts in, plans out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import modes
from engine.plans import (
    ORDERS,
    Enqueue,
    Exclude,
    GigFacts,
    MoveTask,
    PutBack,
    Reply,
    Selection,
    TaskFacts,
)
from plugins import defaults, queue_solo

GIG = GigFacts("GIG_1", "queue_solo", "fifo", 2_500_000)
TEMPLATE = TaskFacts("TASK_1", "queued", 1000, ("a",), None, False, None)
COPY = replace(TEMPLATE, id="TASK_2", status="claimed", mailbox_id="MBX_1")


@pytest.fixture
def mode() -> modes.Mode:
    return modes.Mode(queue_solo, defaults)


@pytest.mark.rule("S-01")
def test_a_new_task_joins_the_queue_and_stays_there_for_everybody(mode: modes.Mode) -> None:
    assert mode.distribute(GIG, replace(TEMPLATE, priority=3)) == (
        Enqueue(),
        Reply({"status": "queued", "priority": 3}),
    )


@pytest.mark.rule("S-01")
@pytest.mark.rule("Q-01")
def test_a_worker_gets_a_copy_in_the_gigs_order(mode: modes.Mode) -> None:
    for order in ORDERS:
        asked = replace(GIG, queue_order=order)
        assert mode.select(asked) == Selection(shelf="queue", order=order, how="copy")


@pytest.mark.rule("D-01")
def test_a_copy_that_is_passed_on_is_let_go_of(mode: modes.Mode) -> None:
    skip = Exclude("MBX_1", "declined")
    assert mode.declined(GIG, COPY, "MBX_1") == (skip, PutBack())
    assert mode.declined(GIG, TEMPLATE, "MBX_1") == (skip,)


@pytest.mark.rule("R-04")
def test_a_rejection_gives_the_slot_back_unless_it_is_told_not_to(mode: modes.Mode) -> None:
    proven = replace(COPY, status="submitted")
    assert PutBack() in mode.rejected(GIG, proven, requeue=True)
    assert mode.rejected(GIG, proven, requeue=False) == (MoveTask("reject"),)


@pytest.mark.rule("G-03")
def test_the_mode_names_the_setting_that_bounds_what_a_task_may_cost(mode: modes.Mode) -> None:
    assert mode.info.names == ("queue_solo",)
    assert "max_claims_per_task" in mode.info.settings
