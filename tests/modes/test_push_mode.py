"""The modes that push, asked without a database: facts in, plans out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import modes
from engine.operations import DEFAULT
from engine.plans import (
    PICKS,
    Exclude,
    GigFacts,
    MoveTask,
    PushTo,
    PutBack,
    Selection,
    TaskFacts,
)
from plugins import defaults, push

PICK_OF = {
    "round_robin": "in_turn",
    "random": "by_lot",
    "priority_weighted": "by_priority",
    "free_for_all": "everyone",
}
GIG = GigFacts("GIG_1", "round_robin", "fifo", 2_500_000)
TO_ALL = replace(GIG, distribution="free_for_all")
TASK = TaskFacts("TASK_1", "queued", 1000, ("a",), None, False, None)
HELD = replace(TASK, status="claimed", mailbox_id="MBX_1")
COPY = replace(HELD, copy=True)
HANDED_IN = replace(HELD, status="submitted")


@pytest.fixture
def mode() -> modes.Mode:
    return modes.Mode(push, defaults)


@pytest.mark.rule("U-01")
def test_each_strategy_is_a_distribution_with_a_pick_of_its_own(mode: modes.Mode) -> None:
    assert mode.info.names == tuple(PICK_OF)
    assert set(PICK_OF.values()) == set(PICKS)
    for name, pick in PICK_OF.items():
        assert mode.distribute(replace(GIG, distribution=name), TASK) == (PushTo(pick),)


@pytest.mark.rule("U-01")
def test_nothing_is_polled_and_only_a_free_for_all_has_copies(mode: modes.Mode) -> None:
    assert mode.select(GIG) == Selection(shelf="none", how="take")
    assert mode.select(TO_ALL) == Selection(shelf="none", how="copy")


@pytest.mark.rule("T-02")
@pytest.mark.rule("U-01")
def test_a_queues_operations_are_refused_each_with_what_to_do_instead(mode: modes.Mode) -> None:
    refused = mode.refuses(GIG)
    assert {"queue.poll", "queue.claim", "queue.decline", "task.priority"} <= refused.keys()
    assert refused.keys() <= DEFAULT.keys()
    assert all(sentence.endswith(".") for sentence in refused.values())
    # No priority, no availability: a 400 for whoever sends one.
    assert mode.info.query == ()


@pytest.mark.rule("U-04")
def test_what_its_worker_rejects_or_reports_goes_to_another(mode: modes.Mode) -> None:
    skip = Exclude("MBX_1", "declined")
    assert mode.declined(GIG, HELD, "MBX_1") == (skip, PushTo("in_turn"))
    assert mode.declined(TO_ALL, COPY, "MBX_1") == (skip, PutBack())
    # One that another has, or nobody: it stays where it is.
    assert mode.declined(GIG, HELD, "MBX_2") == (Exclude("MBX_2", "declined"),)
    assert mode.declined(GIG, TASK, "MBX_1") == (skip,)


@pytest.mark.rule("Q-07")
@pytest.mark.rule("U-04")
def test_what_is_taken_from_its_worker_goes_to_another(mode: modes.Mode) -> None:
    assert mode.released(GIG, HELD) == (PushTo("in_turn"),)
    assigned = replace(HELD, assigned=True)
    # Its owner named whom he wants it done by, and told him more than others are told.
    assert mode.released(GIG, assigned) == (PutBack(),)
    # A copy ends with its worker, and what was given to one is not copied to all.
    assert mode.released(TO_ALL, COPY) == (PutBack(),)
    assert mode.released(TO_ALL, assigned) == (PutBack(),)


@pytest.mark.rule("R-04")
def test_rejected_work_goes_to_somebody_else_unless_it_is_not_to(mode: modes.Mode) -> None:
    proven = Exclude("MBX_1", "proven")
    assert mode.rejected(GIG, HANDED_IN, requeue=True) == (proven, PushTo("in_turn"))
    assert mode.rejected(TO_ALL, replace(COPY, status="submitted"), requeue=True) == (
        proven,
        PutBack(),
    )
    assert mode.rejected(GIG, HANDED_IN, requeue=False) == (MoveTask("reject"),)
    assert mode.rejected(GIG, replace(HANDED_IN, mailbox_id=None), requeue=True) == (
        MoveTask("reject"),
    )


@pytest.mark.rule("G-03")
@pytest.mark.rule("U-04")
def test_a_gig_may_say_how_long_a_worker_has_to_accept(mode: modes.Mode) -> None:
    assert mode.info.settings.keys() == {"accept_timeout_seconds"}
