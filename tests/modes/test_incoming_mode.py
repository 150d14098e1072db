"""The mode of planned work, asked without a database: facts in, plans out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from engine import modes
from engine.errors import Refused
from engine.operations import DEFAULT
from engine.plans import (
    Act,
    AssignAccount,
    Exclude,
    GigFacts,
    HandIn,
    MoveTask,
    Planner,
    PushTo,
    PutBack,
    Rank,
    Remember,
    Routed,
    Selection,
    Sent,
    Stage,
    TaskFacts,
)
from plugins import defaults, incoming
from plugins.incoming import UNPLANNED

GIG = GigFacts("GIG_1", "incoming", "fifo", 0)
PRICED = replace(GIG, price_units=2_500_000)
FIELDS = {
    "title": "Review",
    "details": None,
    "estimated_minutes": 30,
    "priority": "high",
    "suggested_start": None,
}
TASK = TaskFacts(
    "TASK_1", "queued", 1000, (), None, False, None, subject="Look", fields=FIELDS, number=9
)
MINE = replace(TASK, status="claimed", mailbox_id="MBX_1", stage="floating", memo=UNPLANNED)
# 2026-10-19T09:00:00Z, a Monday.
NOW = 1_792_400_400_000
HOUR = 3_600_000


@pytest.fixture
def mode() -> modes.Mode:
    return modes.Mode(incoming, defaults)


def act(verb: str, **given: Any) -> Act:
    return Act(verb, "MBX_1", given, NOW, zone="Europe/Berlin", number=7)


@pytest.mark.rule("I-01")
def test_what_comes_goes_to_a_worker_in_turn_and_waits_for_no_poll(mode: modes.Mode) -> None:
    assert mode.distribute(GIG, TASK) == (PushTo("in_turn"),)
    assert mode.select(GIG) == Selection(shelf="none")


@pytest.mark.rule("I-01")
def test_a_request_says_what_is_to_be_done_in_its_title_or_subject(mode: modes.Mode) -> None:
    read = mode.read_fields(GIG, Sent({"title": " Review ", "details": "All of it."}, "Look"))
    told = {"estimated_minutes": None, "priority": "normal", "suggested_start": None}
    assert read == {"title": "Review", "details": "All of it.", **told}
    assert mode.read_fields(GIG, Sent({}, "Look"))["title"] == "Look"
    assert mode.read_fields(GIG, Sent({"title": "  "}, "Look"))["title"] == "Look"
    with pytest.raises(Refused) as refused:
        mode.read_fields(GIG, Sent({"title": ""}, " "))
    assert refused.value.errors is not None and "title" in refused.value.errors


@pytest.mark.rule("I-04")
@pytest.mark.case("F10")
def test_a_proposed_start_is_local_or_has_an_offset(mode: modes.Mode) -> None:
    for start in ("2026-10-19T14:00", "2026-10-19T14:00:00", "2026-10-19T14:00:00+02:00"):
        read = mode.read_fields(GIG, Sent({"title": "Review", "suggested_start": start}))
        assert read["suggested_start"] == start
    for start in ("tomorrow", "2026-02-30T10:00", "9999-12-31T23:59:59-12:00", ""):
        with pytest.raises(Refused) as refused:
            mode.read_fields(GIG, Sent({"title": "Review", "suggested_start": start}))
        assert list(refused.value.errors or ()) == ["suggested_start"]


@pytest.mark.rule("I-02")
def test_whoever_is_given_it_finds_it_floating_at_the_rank_of_its_word(mode: modes.Mode) -> None:
    assert mode.placed(GIG, MINE) == (Stage("floating"), Rank(1), Remember(UNPLANNED))
    assert mode.placed(GIG, replace(MINE, fields={}))[1] == Rank(2)


@pytest.mark.rule("I-04")
@pytest.mark.case("F10")
def test_planning_keeps_a_moment_by_the_workers_clock_and_no_fact(mode: modes.Mode) -> None:
    def planned_at(start: str) -> Any:
        stage, remember = mode.act(GIG, MINE, act("plan", plannedStart=start))
        assert stage == Stage("planned") and isinstance(remember, Remember)
        return remember.members

    assert planned_at("2026-10-19T14:00:00") == {"planned_at": NOW + 3 * HOUR}
    # Shown twice: the first is meant.
    assert planned_at("2026-10-25T02:30") == {"planned_at": 1_792_888_200_000}
    for start, code in (
        ("2026-03-29T02:30", "no_such_local_time"),
        ("2026-10-19T14:00:00Z", "invalid"),
        ("soon", "invalid"),
    ):
        with pytest.raises(Refused) as refused:
            planned_at(start)
        assert refused.value.code == code


@pytest.mark.rule("I-02")
@pytest.mark.rule("I-04")
def test_starting_and_completing_say_what_happened(mode: modes.Mode) -> None:
    started = (Stage("inprogress"), Remember({"started_at": NOW}))
    assert mode.act(GIG, MINE, act("start")) == started
    begun = replace(MINE, stage="inprogress", memo={"started_at": NOW - HOUR - 59_999})
    for task, since, minutes in (
        (begun, NOW - HOUR - 59_999, 60),
        (replace(MINE, stage="planned"), NOW, 0),
    ):
        told = {"response": "Done.", "started_at": since, "effort_minutes": minutes}
        assert mode.act(GIG, task, act("complete", response="Done.")) == (
            Stage("completed"),
            Remember(told),
            MoveTask("complete"),
        )


@pytest.mark.rule("I-05")
def test_a_response_is_a_proof_where_the_work_pays(mode: modes.Mode) -> None:
    done = act("complete", response="Done.")
    pays = HandIn(("Done.",))
    assert mode.act(PRICED, MINE, done)[-1] == pays
    assert mode.act(GIG, replace(MINE, price_units=1), done)[-1] == pays
    assert mode.act(GIG, replace(MINE, price_tbd=True), done)[-1] == pays
    # The price was cut after he was given it.
    assert mode.act(GIG, replace(MINE, held_price_units=1), done)[-1] == pays
    assert mode.act(PRICED, replace(MINE, price_units=0), done)[-1] == MoveTask("complete")


@pytest.mark.rule("I-03")
def test_it_is_passed_to_somebody_else_and_to_nobody_himself(mode: modes.Mode) -> None:
    passed = (AssignAccount(8, "assigneeId"), Remember({"passed": True}))
    assert mode.act(GIG, MINE, act("reassign", assigneeId=8)) == passed
    with pytest.raises(Refused) as refused:
        mode.act(GIG, MINE, act("reassign", assigneeId=7))
    assert refused.value.code == "already_yours"


def test_a_verb_that_it_does_not_have_is_a_fault(mode: modes.Mode) -> None:
    with pytest.raises(Refused, match="mode_fault"):
        mode.act(GIG, MINE, act("dance"))


@pytest.mark.rule("I-05")
@pytest.mark.rule("R-04")
def test_what_leaves_its_worker_goes_on_or_back_to_the_owner_who_named_him(
    mode: modes.Mode,
) -> None:
    named = replace(MINE, assigned=True)
    passed = replace(named, memo={"passed": True})
    for task, onwards in (
        (MINE, PushTo("in_turn")),
        (named, PutBack()),
        (passed, PushTo("in_turn")),
    ):
        # Whoever has it next, or nobody, finds nothing of what he had planned or done.
        anew = (Stage("floating"), Remember(UNPLANNED), onwards)
        assert mode.released(GIG, task) == anew
        assert mode.declined(GIG, task, "MBX_1") == (Exclude("MBX_1", "declined"), *anew)
        assert mode.rejected(GIG, task, requeue=True) == (Exclude("MBX_1", "proven"), *anew)
        assert mode.rejected(GIG, task, requeue=False) == (MoveTask("reject"),)
    assert mode.declined(GIG, MINE, "MBX_2") == (Exclude("MBX_2", "declined"),)
    assert mode.rejected(GIG, TASK, requeue=True) == (MoveTask("reject"),)


def test_every_refusal_is_of_an_operation_and_says_what_to_do(mode: modes.Mode) -> None:
    refused = mode.refuses()
    assert refused.keys() <= DEFAULT.keys()
    assert all(sentence.endswith(".") for sentence in refused.values())


def test_only_its_worker_and_the_owner_read_what_it_is_about(mode: modes.Mode) -> None:
    assert mode.show(GIG, MINE, "member") == {}
    task = replace(MINE, stage="planned", memo={"planned_at": NOW})
    for reader in ("owner", "holder"):
        assert mode.show(GIG, task, reader) == {
            **FIELDS,
            "number": 9,
            "stage": "planned",
            "planned_start": "2026-10-19T09:00:00.000Z",
            "actual_start": None,
            "actual_effort_minutes": None,
            "response": None,
        }


@pytest.mark.rule("I-04")
def test_a_start_is_suggested_by_the_requester_or_by_what_is_free(mode: modes.Mode) -> None:
    days = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    hours: dict[str, tuple[tuple[str, str], ...]] = dict.fromkeys(days, ())
    hours["mon"] = (("09:00", "12:00"),)

    def suggested(task: TaskFacts, *taken: TaskFacts, **fields: Any) -> tuple[Any, Any]:
        asked = replace(task, fields={**task.fields, **fields})
        planner = Planner(NOW, "Europe/Berlin", hours, taken)
        (item,) = mode.desk_items([Routed(asked, "Alice")], planner)
        return item["suggestedStart"], item["suggestionReason"]

    none = (None, "No suggestion available")
    free = "Your first free time in your working hours"
    # It is eleven by his clock, and he works until twelve.
    assert suggested(MINE) == ("2026-10-19T11:00:00", free)
    assert suggested(MINE, estimated_minutes=90) == ("2026-10-26T09:00:00", free)
    assert suggested(MINE, estimated_minutes=181) == none
    assert suggested(MINE, estimated_minutes=None) == none
    assert suggested(replace(MINE, fields={})) == none
    planned = replace(MINE, stage="planned", memo={"planned_at": NOW})
    assert suggested(MINE, planned) == ("2026-10-19T11:30:00", free)
    begun = replace(MINE, stage="inprogress", memo={"started_at": NOW - 60_000})
    assert suggested(MINE, begun) == ("2026-10-19T11:29:00", free)
    # Without an estimate it is taken to last an hour.
    long = replace(planned, fields={})
    assert suggested(MINE, long) == ("2026-10-26T09:00:00", free)
    for other in (replace(planned, stage="answered"), replace(planned, memo={})):
        assert suggested(MINE, other) == ("2026-10-19T11:00:00", free)
    assert suggested(planned, planned) == none
    for start, shown in (
        ("2026-10-20T08:00", "2026-10-20T08:00:00"),
        ("2026-10-20T08:00:00Z", "2026-10-20T10:00:00"),
        # A time that never comes is the one at which clocks go on.
        ("2026-03-29T02:30", "2026-03-29T03:00:00"),
    ):
        assert suggested(MINE, suggested_start=start) == (shown, "Proposed by Alice")
    hours["mon"] = ()
    assert suggested(MINE) == none
