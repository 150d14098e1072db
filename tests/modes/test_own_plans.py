"""Plans: whom they name, where they leave a task, and what is said of those that do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine import bells, clock, modes
from engine.db import db
from engine.models.task import QueueEntry
from engine.plans import (
    MOVES,
    Assign,
    AssignByLot,
    Effect,
    Enqueue,
    MoveTask,
    PushTo,
    PutBack,
    Reply,
    Ring,
    Stage,
)
from engine.states import TASK
from jobs import actors
from plugins import defaults
from tests.contract.scene import everything
from tests.modes import told_mode
from tests.world import Answer, Gig, Person, World

pytestmark = pytest.mark.rule("G-03")
SENT = Reply({"status": "sent"})
# What takes a task from its holder, by the question that is asked then.
WAYS = ("declined", "released", "rejected")


@pytest.fixture(autouse=True)
def told() -> Iterator[None]:
    modes.install(told_mode, defaults)
    yield
    told_mode.ANSWERS.clear()
    told_mode.GONE.clear()


def place_of(person: Person) -> str:
    return str(person.mailbox["id"])  # type: ignore[attr-defined]


def gone_worker(world: World, gig: Gig) -> str:
    """The mailbox of a worker who has left."""
    worker = world.worker(gig)
    worker.call("DELETE", f"{gig.path}/mailboxes/{place_of(worker)}").ok()
    return place_of(worker)


def read(gig: Gig, task_id: str) -> Any:
    return gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]


def held(world: World, gig: Gig, worker: Person) -> str:
    task_id = world.task(gig)
    (taken,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    assert taken["id"] == task_id
    return task_id


def take_away(gig: Gig, worker: Person, task_id: str, way: str) -> Answer:
    if way == "declined":
        return worker.call("POST", f"{gig.path}/queue/{task_id}/decline", {})
    if way == "released":
        return gig.owner.call("POST", f"{gig.path}/tasks/{task_id}/recycle", {})
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]
    body = {"action": "reject", "rejection_tag": "incomplete", "requeue": True}
    return gig.owner.call("PATCH", f"{gig.path}/proofs/{proof['id']}", body)


def away(task: Any) -> tuple[Effect, ...]:
    """The moves that make the task nobody's."""
    move = {"claimed": "release", "submitted": "return"}.get(task.status)
    return () if move is None else (MoveTask(move),)


def test_whoever_has_left_is_told_when_a_task_is_sent(world: World) -> None:
    gig = world.gig(distribution="told")
    lost, there = gone_worker(world, gig), world.worker(gig)
    told_mode.ANSWERS["distribute"] = lambda task, gone: (
        Assign(lost if lost not in gone else place_of(there)),
        SENT,
    )
    task_id = world.send(gig).ok()["message_id"]
    assert read(gig, task_id)["mailbox_id"] == place_of(there)
    assert [frozenset(), {lost}] == told_mode.GONE


@pytest.mark.parametrize("way", WAYS)
def test_whoever_has_left_is_told_when_a_task_is_taken_away(world: World, way: str) -> None:
    gig = world.gig(distribution="told")
    lost, one, other = gone_worker(world, gig), world.worker(gig), world.worker(gig)
    task_id = held(world, gig, one)
    told_mode.ANSWERS[way] = lambda task, gone: (
        *away(task),
        Assign(lost if lost not in gone else place_of(other)),
    )
    take_away(gig, one, task_id, way).ok()
    now = read(gig, task_id)
    assert (now["status"], now["mailbox_id"]) == ("claimed", place_of(other))
    assert [frozenset(), {lost}] == told_mode.GONE


@pytest.mark.parametrize("way", WAYS)
def test_a_mode_that_names_him_all_the_same_is_at_fault_and_nothing_is_done(
    world: World, way: str
) -> None:
    gig = world.gig(distribution="told")
    lost, one = gone_worker(world, gig), world.worker(gig)
    task_id = held(world, gig, one)
    told_mode.ANSWERS[way] = lambda task, gone: (*away(task), Assign(lost))
    with capture_logs() as logs:
        take_away(gig, one, task_id, way).refused(503, "mode_fault")
    assert read(gig, task_id)["mailbox_id"] == place_of(one)
    (fault,) = [one for one in logs if one["event"] == "mode.fault"]
    assert fault["error"] == f"{way}() gave the task to {lost}, who has left; `gone` names him"


def test_what_a_rejection_moves_back_is_to_be_done_again(world: World) -> None:
    gig = world.gig(distribution="told")
    one = world.worker(gig)
    task_id = held(world, gig, one)
    told_mode.ANSWERS["rejected"] = lambda task, gone: (MoveTask("return"), Enqueue())
    assert take_away(gig, one, task_id, "rejected").ok()["requeued"] is True
    assert read(gig, task_id)["status"] == "queued"


def test_a_lot_is_drawn_among_those_who_are_there(world: World) -> None:
    gig = world.gig(distribution="told")
    lost = gone_worker(world, gig)
    there = {place_of(world.worker(gig)) for _ in range(2)}
    told_mode.ANSWERS["distribute"] = lambda task, gone: (AssignByLot((lost, *there)), SENT)
    ids = [world.send(gig).ok()["message_id"] for _ in range(30)]
    # That the lot falls on one of two 30 times is as likely as 1 in 500 million.
    assert {read(gig, task_id)["mailbox_id"] for task_id in ids} == there
    assert set(told_mode.GONE) == {frozenset()}

    told_mode.ANSWERS["distribute"] = lambda task, gone: (
        (AssignByLot((lost,)), SENT) if lost not in gone else (Enqueue(), SENT)
    )
    assert read(gig, world.send(gig).ok()["message_id"])["status"] == "queued"


def test_what_waits_on_the_shelf_is_pushed_or_put_there_again_as_well_as_anything(
    world: World,
) -> None:
    gig = world.gig(distribution="told")
    told_mode.ANSWERS["distribute"] = lambda task, gone: (
        Enqueue(),
        Enqueue(),
        Stage("here"),
        Ring("again", task.created_at + 1000),
        SENT,
    )
    told_mode.ANSWERS["rang"] = lambda task, gone: (
        (Enqueue(), Stage("there"), Ring("again", task.created_at + 2000))
        if task.stage == "here"
        else (PushTo("in_turn"),)
    )
    task_id = world.send(gig).ok()["message_id"]
    worker = world.worker(gig)
    for _ in range(2):
        assert entries() == 1
        clock.advance(1)
        actors.sweep()
    assert (entries(), read(gig, task_id)["mailbox_id"]) == (0, place_of(worker))


def entries() -> int:
    with db.reading():
        return QueueEntry.select().count()


@pytest.mark.rule("G-04")
def test_what_a_mode_drops_may_be_spent_again(world: World) -> None:
    gig = world.gig(distribution="told", price=5, webhook_daily_spend=5)
    told_mode.ANSWERS["distribute"] = lambda task, gone: (
        MoveTask("drop"),
        Reply({"status": "dropped", "reason": "not_today"}),
    )
    for _ in range(3):
        assert world.send(gig).ok()["reason"] == "not_today"


@pytest.mark.rule("H-05")
@pytest.mark.parametrize(
    ("plan", "error"),
    [
        (
            (MoveTask("release"),),
            "says MoveTask('release') of a task that is queued. From `queued` it can: hand_back, "
            "drop",
        ),
        (
            (MoveTask("publish"),),
            "says MoveTask('publish'), which is for the engine to make; a mode may say release, "
            "return, hand_back, reject, complete, drop",
        ),
        ((PutBack(),), "says PutBack() of a task that is queued, which nobody has"),
        ((Stage("here"), Assign("MBX_NOBODY")), "no mailbox of this gig"),
    ],
)
def test_a_plan_that_does_not_fit_is_logged_with_its_question_and_the_line_of_it(
    world: World, plan: tuple[Effect, ...], error: str
) -> None:
    gig = world.gig(distribution="told")
    told_mode.ANSWERS["distribute"] = lambda task, gone: (
        Enqueue(),
        Stage("here"),
        Ring("x", task.created_at),
        SENT,
    )
    task_id = world.send(gig).ok()["message_id"]
    before = everything()
    told_mode.ANSWERS["rang"] = lambda task, gone: plan
    with capture_logs() as logs:
        assert bells.ring() == 0
    told = [one for one in logs if one["event"] == "mode.fault"]
    line = told_mode.rang.__code__.co_firstlineno
    assert [(one["hook"], one["function"]) for one in told] == [
        ("rang", f"told_mode.py, line {line}")
    ]
    assert error in told[0]["error"]
    assert read(gig, task_id)["status"] == "queued"
    changed = {name for name, rows in everything().items() if rows != before[name]}
    assert changed == {"mode_item"}


def test_moves_of_a_mode_are_moves_of_a_task() -> None:
    assert set(MOVES) <= {verb for _, verb in TASK}
