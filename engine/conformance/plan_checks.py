"""A mode's plan, followed effect by effect as the engine would, but on nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from engine import plans
from engine.conformance import faults, schemas
from engine.plans import (
    PICKS,
    Assign,
    AssignAccount,
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
    SetPrice,
    Stage,
    TaskFacts,
)
from engine.states import TASK

EFFECTS = get_args(plans.Effect)
# Reasons of an exclusion; see `engine/models/task.py`.
REASONS = frozenset({"declined", "violation", "proven", "expired", "recycled"})
VERBS = frozenset(verb for _, verb in TASK)
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


def kind_problem(answer: object) -> str | None:
    """Is it a plan at all?"""
    if isinstance(answer, EFFECTS):
        name = type(answer).__name__
        return f"answered {name}(…) alone; a plan is a tuple: ({name}(…),) with the comma"
    if not isinstance(answer, tuple):
        return f"answered {answer!r}; a plan is a tuple of effects of engine/plans.py"
    for effect in answer:
        if isinstance(effect, type) and effect in EFFECTS:
            return f"answered {effect.__name__} itself; write {effect.__name__}()"
        if not isinstance(effect, EFFECTS):
            names = ", ".join(sorted(one.__name__ for one in EFFECTS))
            return f"answered {effect!r}, which is no effect. There are {names}"
    return None


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
    name = type(effect).__name__
    match effect:
        case Enqueue():
            course.hidden = False
            if course.state not in ("queued", None):
                yield f"says Enqueue() of a task that is {course.state}; only a queued one waits"
        case Assign(mailbox_id):
            if not isinstance(mailbox_id, str):
                yield f"says Assign({mailbox_id!r}); name the id of a mailbox"
            course.state, course.holder = HELD, mailbox_id
        case AssignAccount(number, called):
            if not _whole(number) or not isinstance(called, str):
                yield f"says {effect!r}; a whole number, and the body's field that it came from"
            course.state, course.holder = HELD, SOMEWHERE
        case PushTo(pick):
            if pick not in PICKS:
                yield f"says PushTo({pick!r}). " + faults.one_of(str(pick), PICKS).rstrip(".")
            course.state, course.holder, course.gave_up = None, None, True
            course.reply.setdefault("status", "forwarded")
        case PutBack():
            yield from _put_back(course)
        case MoveTask(verb):
            yield from _move(course, verb)
        case Exclude(mailbox_id, reason):
            if not isinstance(mailbox_id, str):
                yield f"says Exclude({mailbox_id!r}, …); name the id of a mailbox"
            if reason not in REASONS:
                yield f"says Exclude(…, {reason!r}). " + faults.one_of(str(reason), REASONS).rstrip(
                    "."
                )
            course.excluded.add(mailbox_id)
        case Stage(stage):
            if stage not in info.stages:
                yield f"says Stage({stage!r}), which is not among the mode's `stages`. " + (
                    faults.one_of(str(stage), info.stages).rstrip(".")
                )
            course.staged = True
            course.hidden = course.hidden and not _is_acted_on(info, stage)
        case Remember(members):
            if not isinstance(members, Mapping) or not schemas.is_json(members):
                yield f"says {effect!r}; remember a dict of JSON values, with no float in it"
            yield from _need_stage(course, name)
        case Rank(rank):
            if not _whole(rank):
                yield f"says {effect!r}; a rank is a whole number"
            yield from _need_stage(course, name)
        case Ring(bell, at):
            if bell is not None and not isinstance(bell, str):
                yield f"says {effect!r}; a bell is a name, or None for no bell"
            if not _whole(at) or (bell is not None and at <= 0):
                yield f"says {effect!r}; say when it rings, in milliseconds since 1970"
            course.hidden = course.hidden and bell is None
            yield from _need_stage(course, name)
        case SetPrice(units):
            if not _whole(units) or units < 0:
                yield f"says {effect!r}; a price is a whole number of 10⁻⁶ USDC, 0 or more"
        case HandIn(evidence):
            if not isinstance(evidence, tuple) or not all(isinstance(x, str) for x in evidence):
                yield f"says {effect!r}; the evidence is a tuple of texts: ('done',)"
            if course.state not in (HELD, None):
                yield f"says HandIn(…) of a task that is {course.state}; only its holder hands in"
            course.state, course.gave_up = "submitted", True
        case Reply(members):
            if not isinstance(members, Mapping) or not schemas.is_json(members):
                yield f"says {effect!r}; reply a dict of JSON values, with no float in it"
            else:
                course.reply.update(members)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


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
    if verb not in VERBS:
        yield f"says MoveTask({verb!r}). " + faults.one_of(str(verb), VERBS).rstrip(".")
        return
    if course.state is None:
        return
    after = TASK.get((course.state, verb))
    if after is None:
        possible = [known for state, known in TASK if state == course.state]
        yield (
            f"says MoveTask({verb!r}) of a task that is {course.state}. From there it can "
            f"{', '.join(possible) or 'go nowhere'}"
        )
        return
    if verb == "discard" and not course.task.copy:
        yield (
            "says MoveTask('discard') of a task that is no copy, so it would be lost to its "
            "sender; say PutBack()"
        )
    course.hidden = after == "queued"
    course.state, course.gave_up = after, course.state == HELD or course.gave_up
