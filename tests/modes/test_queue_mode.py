"""The queue mode, asked without a database: facts in, plans out."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import hookspecs, modes
from engine.plans import (
    Enqueue,
    Exclude,
    GigFacts,
    ModeInfo,
    MoveTask,
    PutBack,
    Reply,
    Selection,
    TaskFacts,
)
from plugins import defaults, queue

GIG = GigFacts("GIG_1", "queue", "fifo", 2_500_000)
TASK = TaskFacts("TASK_1", "queued", 1000, ("a",), None, False, None)
HELD = replace(TASK, status="claimed", mailbox_id="MBX_1")


@pytest.fixture
def mode() -> modes.Mode:
    return modes.Mode(queue, defaults)


@pytest.mark.rule("T-02")
def test_a_new_task_joins_the_queue_and_the_sender_hears_its_priority(mode: modes.Mode) -> None:
    assert mode.distribute(GIG, replace(TASK, priority=3)) == (
        Enqueue(),
        Reply({"status": "queued", "priority": 3}),
    )


@pytest.mark.rule("Q-01")
def test_workers_take_from_the_shared_shelf_in_the_gigs_order(mode: modes.Mode) -> None:
    assert mode.select(GIG) == Selection(shelf="queue", order="fifo", how="take")


@pytest.mark.rule("D-01")
def test_declining_a_held_task_gives_it_back_and_an_unheld_one_is_only_skipped(
    mode: modes.Mode,
) -> None:
    skip = Exclude("MBX_1", "declined")
    assert mode.declined(GIG, HELD, "MBX_1") == (skip, PutBack())
    assert mode.declined(GIG, TASK, "MBX_1") == (skip,)
    held_by_another = replace(HELD, mailbox_id="MBX_2")
    assert mode.declined(GIG, held_by_another, "MBX_1") == (skip,)


@pytest.mark.case("F04")
def test_a_task_taken_from_its_holder_waits_in_its_old_place_for_everybody(
    mode: modes.Mode,
) -> None:
    assert mode.released(GIG, HELD) == (PutBack(),)


@pytest.mark.rule("R-04")
def test_a_rejected_task_goes_back_to_all_but_the_one_who_did_it(mode: modes.Mode) -> None:
    done = replace(HELD, status="submitted")
    assert mode.rejected(GIG, done, requeue=True) == (
        Exclude("MBX_1", "proven"),
        PutBack(),
    )
    assert mode.rejected(GIG, done, requeue=False) == (MoveTask("reject"),)


class Silent:
    """A mode that answers nothing but its name."""

    @staticmethod
    @hookspecs.impl
    def describe() -> ModeInfo:
        return ModeInfo(names=("silent",), title="Silent", description="")


def test_the_defaults_answer_what_a_mode_leaves_out() -> None:
    mode = modes.Mode(Silent(), defaults)
    assert mode.refuses() == {}
    assert mode.authorities() == {}
    assert mode.select(GIG) == Selection(shelf="none")
    assert mode.distribute(GIG, TASK) == (Reply({"status": "waiting"}),)
    assert mode.declined(GIG, TASK, "MBX_1") == (Exclude("MBX_1", "declined"),)
    assert mode.released(GIG, HELD) == (PutBack(),)
    assert mode.rejected(GIG, HELD, requeue=True) == (
        Exclude("MBX_1", "proven"),
        PutBack(),
    )
    assert mode.rejected(GIG, HELD, requeue=False) == (MoveTask("reject"),)


def test_a_mode_without_a_description_is_refused_with_a_sentence() -> None:
    with pytest.raises(modes.SettingsError, match="not usable"):
        modes.install(object(), defaults, "nameless")


def test_two_modes_of_one_name_are_refused() -> None:
    class Other(Silent):
        @staticmethod
        @hookspecs.impl
        def describe() -> ModeInfo:
            return ModeInfo(names=("queue",), title="Another", description="")

    modes.install(queue, defaults)
    with pytest.raises(modes.SettingsError, match="Two installed modes"):
        modes.install(Other(), defaults)


def test_every_hook_is_answered_by_the_defaults_but_the_description() -> None:
    asked = {
        name
        for name, value in vars(hookspecs).items()
        if callable(value) and hasattr(value, f"{hookspecs.PROJECT}_spec")
    }
    answered = {
        name
        for name, value in vars(defaults).items()
        if hasattr(value, f"{hookspecs.PROJECT}_impl")
    }
    assert asked - answered == {"describe"}
    assert all(getattr(hookspecs, name).__doc__ for name in asked)
