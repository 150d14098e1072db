"""What a plan may say: its effects and their words, before anything of it is carried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, get_args

from engine import plans
from engine.plans import (
    MOVES,
    PICKS,
    REASONS,
    Assign,
    AssignAccount,
    AssignByLot,
    Exclude,
    HandIn,
    ModeInfo,
    MoveTask,
    PushTo,
    Rank,
    Remember,
    Reply,
    Ring,
    SetPrice,
    Stage,
)
from engine.rules.names import one_of
from engine.states import TASK

EFFECTS = get_args(plans.Effect)
# Each of these gives the task to somebody.
GIVING = (Assign, AssignAccount, AssignByLot, PushTo)
# What to say instead of a move that is the engine's.
_INSTEAD = {
    "assign": "Assign(…) gives a task to somebody",
    "claim": "Assign(…) gives a task to somebody",
    "submit": "HandIn(…) hands in",
    "discard": "PutBack() ends a copy, with its template, and loses no other task to its sender",
    "forward": "PushTo('everyone') gives a copy to each worker",
}


def kind_problem(answer: object) -> str | None:
    """Is it a plan at all?"""
    if isinstance(answer, EFFECTS):
        name = type(answer).__name__
        return f"answered {name}(…) alone; a plan is a tuple: ({name}(…),) with the comma"
    if not isinstance(answer, (tuple, list)):
        return f"answered {answer!r}; a plan is a tuple of effects of engine/plans.py"
    for effect in answer:
        if isinstance(effect, type) and effect in EFFECTS:
            return f"answered {effect.__name__} itself; write {effect.__name__}()"
        if not isinstance(effect, EFFECTS):
            names = ", ".join(sorted(one.__name__ for one in EFFECTS))
            return f"answered {effect!r}, which is no effect. There are {names}"
    return None


def problems(info: ModeInfo, hook: str, plan: Sequence[Any]) -> Iterator[str]:
    """What no task could have done with it, each as the rest of a sentence."""
    told = kind_problem(plan)
    if told is not None:
        yield told
        return
    for effect in plan:
        if hook == "placed" and isinstance(effect, GIVING):
            yield (
                f"says {effect!r}; it is somebody's now, and placed() says what of the mode's own "
                "follows. Name another where you gave it to him"
            )
        told = _problem(info, effect)
        if told is not None:
            yield told


def move_problem(verb: object, state: str | None = None) -> str | None:
    """Is it no move for a mode to make, or none from this state of a task?"""
    if verb not in MOVES:
        if verb in {known for _, known in TASK}:
            instead = _INSTEAD.get(str(verb), f"a mode may say {', '.join(MOVES)}")
            return f"says MoveTask({verb!r}), which is for the engine to make; {instead}"
        return f"says MoveTask({verb!r}). " + one_of(str(verb), MOVES).rstrip(".")
    if state is None or (state, verb) in TASK:
        return None
    possible = [move for move in MOVES if (state, move) in TASK]
    can = f"From `{state}` it can: {', '.join(possible)}" if possible else "It can go nowhere"
    return f"says MoveTask({verb!r}) of a task that is {state}. {can}"


def _problem(info: ModeInfo, effect: plans.Effect) -> str | None:
    told: str | None = None
    match effect:
        case Assign(mailbox_id) if not isinstance(mailbox_id, str):
            told = f"says Assign({mailbox_id!r}); name the id of a mailbox"
        case AssignByLot(ids) if not isinstance(ids, tuple) or not ids or not _texts(ids):
            told = f"says {effect!r}; name a tuple of at least one mailbox's id"
        case AssignAccount(number, name) if not _whole(number) or not isinstance(name, str):
            told = f"says {effect!r}; a whole number, and the body's field that it came from"
        case PushTo(pick) if pick not in PICKS:
            told = f"says PushTo({pick!r}). The picks are: {', '.join(PICKS)}"
        case MoveTask(verb):
            told = move_problem(verb)
        case Exclude(mailbox_id, _) if not isinstance(mailbox_id, str):
            told = f"says Exclude({mailbox_id!r}, …); name the id of a mailbox"
        case Exclude(_, reason) if reason not in REASONS:
            told = f"says Exclude(…, {reason!r}). {one_of(str(reason), REASONS)}".rstrip(".")
        case Stage(name) if name not in info.stages:
            told = (
                f"says Stage({name!r}), which is not among the mode's `stages`. "
                + one_of(str(name), info.stages)
            ).rstrip(".")
        case Remember(members) if not isinstance(members, Mapping) or not is_json(members):
            told = f"says {effect!r}; remember a dict of JSON values, with no float in it"
        case Rank(rank) if not _whole(rank):
            told = f"says {effect!r}; a rank is a whole number"
        case Ring(bell, _) if bell is not None and not isinstance(bell, str):
            told = f"says {effect!r}; a bell is a name, or None for no bell"
        case Ring(bell, at) if not _whole(at) or (bell is not None and at <= 0):
            told = f"says {effect!r}; say when it rings, in milliseconds since 1970"
        case SetPrice(units) if not _whole(units) or units < 0:
            told = f"says {effect!r}; a price is a whole number of 10⁻⁶ USDC, 0 or more"
        case HandIn(evidence) if not isinstance(evidence, tuple) or not _texts(evidence):
            told = f"says {effect!r}; the evidence is a tuple of texts: ('done',)"
        case Reply(members) if not isinstance(members, Mapping) or not is_answer(members):
            told = f"says {effect!r}; reply a dict of JSON values, with no float in it"
    return told


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _texts(value: tuple[object, ...]) -> bool:
    return all(isinstance(one, str) for one in value)


def is_json(value: object, *more: type) -> bool:
    """Is this what JSON can say, with no float and no date in it? `more` are further kinds."""
    if value is None or isinstance(value, (str, bool, int, *more)):
        return True
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and is_json(one, *more) for name, one in value.items())
    return isinstance(value, (list, tuple)) and all(is_json(one, *more) for one in value)


def is_answer(value: object) -> bool:
    """The same, of what is answered and not kept: amounts of dollars are Decimals there."""
    return is_json(value, Decimal)
