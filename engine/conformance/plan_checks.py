"""A mode's plan, followed effect by effect as the engine would, but on nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from engine import plan_words, plans
from engine.plans import (
    Assign,
    AssignAccount,
    AssignByLot,
    Enqueue,
    Exclude,
    HandIn,
    ModeInfo,
    MoveTask,
    PushTo,
    PutBack,
    Rank,
    Remember,
    Reply,
    Ring,
    Stage,
    TaskFacts,
)
from engine.states import TASK

HELD, SOMEWHERE = "claimed", "somewhere"


@dataclass
class Course:
    """Where a task is while its plan is carried out, and what was done with it by then.

    `state` is None once that depends on who is there (`PushTo`).
    """

    task: TaskFacts
    state: str | None
    holder: str | None
    staged: bool
    reply: dict[str, Any] = field(default_factory=dict)
    excluded: set[str] = field(default_factory=set)
    gave_up: bool = False
    # It was made to wait by a bare move, and nothing yet leads anybody to it.
    hidden: bool = False


def follow(info: ModeInfo, task: TaskFacts, plan: plans.Plan) -> tuple[Course, list[str]]:
    """Where the plan leaves the task, and what in it could not be carried out."""
    course = Course(task, task.status, task.mailbox_id, task.stage is not None)
    found: list[str] = []
    for effect in plan:
        found += _step(info, course, effect)
    if course.hidden:
        found.append(
            "moves the task to where no worker finds it; PutBack() puts it into its place as well"
        )
    return course, found


def _is_acted_on(info: ModeInfo, stage: str) -> bool:
    """Does a verb lead on from this stage, for whom nobody has given the task?"""
    return any(stage in verb.stages for verb in info.verbs if not verb.holder)


def _step(info: ModeInfo, course: Course, effect: plans.Effect) -> Iterator[str]:
    """What the effect does to the task; its words are known (`engine/plan_words.py`)."""
    name = type(effect).__name__
    match effect:
        case Enqueue():
            course.hidden = False
            if course.state not in ("queued", None):
                yield f"says Enqueue() of a task that is {course.state}; only a queued one waits"
        case Assign(mailbox_id):
            course.state, course.holder = HELD, mailbox_id
        case AssignAccount() | AssignByLot():
            course.state, course.holder = HELD, SOMEWHERE
        case PushTo():
            course.state, course.holder, course.gave_up = None, None, True
            course.reply.setdefault("status", "forwarded")
        case PutBack():
            yield from _put_back(course)
        case MoveTask(verb):
            yield from _move(course, verb)
        case Exclude(mailbox_id):
            course.excluded.add(mailbox_id)
        case Stage(stage):
            course.staged = True
            course.hidden = course.hidden and not _is_acted_on(info, stage)
        case Ring(bell):
            course.hidden = course.hidden and bell is None
            yield from _need_stage(course, name)
        case Remember() | Rank():
            yield from _need_stage(course, name)
        case HandIn():
            if course.state not in (HELD, None):
                yield f"says HandIn(…) of a task that is {course.state}; only its holder hands in"
            course.state, course.gave_up = "submitted", True
        case Reply(members):
            course.reply.update(members)


def _need_stage(course: Course, name: str) -> Iterator[str]:
    if not course.staged:
        yield f"says {name}(…) of a task that has no stage yet; say Stage(…) before it"


def _put_back(course: Course) -> Iterator[str]:
    if course.state in ("queued", "unassigned"):
        yield "says PutBack() of a task that nobody has; leave it out"
    waits = "unassigned" if course.task.assigned else "queued"
    given_up = "discarded" if course.state == HELD else "rejected"
    course.state = given_up if course.task.copy else waits
    course.holder, course.gave_up = None, True


def _move(course: Course, verb: str) -> Iterator[str]:
    if course.state is None:
        return
    problem = plan_words.move_problem(verb, course.state)
    if problem is not None:
        yield problem
        return
    after = TASK[(course.state, verb)]
    course.hidden = after == "queued"
    course.state, course.gave_up = after, course.state == HELD or course.gave_up
