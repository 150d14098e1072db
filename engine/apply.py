"""Carries out a mode's plan, effect by effect, inside the caller's transaction."""

from __future__ import annotations

from typing import Any

import peewee

from engine import (
    assignments,
    entries,
    given_news,
    holding,
    mode_items,
    plan_words,
    pushing,
    spending,
    states,
    task_facts,
    verb_effects,
)
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import ask, facts
from engine.plans import (
    Assign,
    AssignAccount,
    Effect,
    Enqueue,
    Exclude,
    HandIn,
    MoveTask,
    Plan,
    PushTo,
    PutBack,
    Rank,
    Remember,
    Reply,
    Ring,
    SetPrice,
    Stage,
)

ACTOR = "engine"
_FREE = {"assignee_id": None, "reserved_for": None, **holding.NOBODY}
# A proof of these was handed in.
_DECIDED = ("submitted", "approved", "rejected")
# What comes of an effect that does not fit the task, or is none. All else is not the mode's doing.
_UNFIT = (
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    peewee.DataError,
    peewee.DoesNotExist,
    peewee.IntegrityError,
)


def apply(plan: Plan, gig: Gig, task: Task, hook: str) -> dict[str, Any]:
    """Apply the effects in order; answers the members that the plan replies with.

    `hook` is the question that it answers. The task is locked, and where the plan gives it to
    somebody or takes it from somebody, so is his mailbox; whom it names is active
    (`engine/planning.py`). A plan that does not fit is its mode's fault: 503 `mode_fault`, and
    whoever asked for it has written nothing.
    """
    answer: dict[str, Any] = {}
    for effect in plan:
        try:
            _require_fits(task, hook, effect)
            _apply(effect, gig, task, answer)
        except _UNFIT as error:
            raise ask(gig.distribution).fault(hook, error, plan, effect) from error
    return answer


def _require_fits(task: Task, hook: str, effect: Effect) -> None:
    """Of what the task is at this moment; ValueError says why an effect cannot be."""
    if isinstance(effect, Enqueue) and task.status != "queued":
        raise ValueError(f"says Enqueue() of a task that is {task.status}; only a queued one waits")
    if isinstance(effect, MoveTask):
        told = plan_words.move_problem(effect.verb, task.status)
        if told is not None:
            raise ValueError(told)
    moves = isinstance(effect, (MoveTask, PutBack, PushTo))
    if moves and hook != "rejected" and task.status in _DECIDED:
        raise ValueError(
            f"says {effect!r} of a task that is {task.status}; its proof stands, so what becomes "
            "of it is for rejected() to say"
        )
    if isinstance(effect, PutBack) and task.status not in ("claimed", *_DECIDED):
        raise ValueError(f"says PutBack() of a task that is {task.status}, which nobody has")
    if isinstance(effect, PushTo):
        if task.template_number is not None:
            raise ValueError(f"says {effect!r} of a copy, which is one worker's; say PutBack()")
        if task.status not in ("queued", "claimed", *_DECIDED):
            raise ValueError(f"says {effect!r} of a task that is {task.status}")


def _apply(effect: Effect, gig: Gig, task: Task, answer: dict[str, Any]) -> None:
    match effect:
        case Enqueue():
            # It may be there already: a task has one place.
            entries.put_again(gig, task)
        case Assign(mailbox_id):
            _give(gig, _named(gig, mailbox_id), task)
        case AssignAccount(number, field):
            _give(gig, verb_effects.of_account(gig, number, field), task)
        case PushTo():
            answer.update(pushing.place(gig, task, effect, placed))
        case PutBack():
            holding.put_back(gig, task)
        case MoveTask(verb):
            _move(gig, task, verb)
        case Exclude(mailbox_id, reason):
            holding.exclude(mailbox_id, task, reason)
        case Stage(name):
            mode_items.set_stage(gig, task, name)
        case Remember(members):
            mode_items.remember(task, dict(members))
        case Rank(rank):
            mode_items.set_rank(task, rank)
        case Ring(bell, at):
            mode_items.set_bell(task, bell, at)
        case SetPrice(units):
            verb_effects.set_price(gig, task, units)
        case HandIn(evidence):
            verb_effects.hand_in(gig, task, list(evidence))
        case Reply(members):
            answer.update(members)
        case _:
            raise ValueError(f"{effect!r} cannot be carried out")


def _move(gig: Gig, task: Task, verb: str) -> None:
    """Move a task on. What waits leaves its shelf, and what is to wait is nobody's."""
    if task.status == "queued":
        entries.withdraw(task)
    waits = states.target("task", verb) in ("queued", "unassigned")
    holding.move_on(task, verb, **(_FREE if waits else {}))
    if verb == "drop":
        spending.take_back(gig, task)


def _named(gig: Gig, mailbox_id: str) -> Mailbox:
    mailbox: Mailbox = Mailbox.get(Mailbox.id == mailbox_id, Mailbox.gig_id == gig.id)
    if mailbox.status != "active":
        raise assignments.not_active()
    return mailbox


def _give(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    holding.assign(gig, mailbox, task)
    given_news.tell(gig, mailbox.id, task, ACTOR)
    placed(gig, task)


def placed(gig: Gig, task: Task) -> None:
    """The task has come into somebody's hands: what follows of the mode's own, in `db.write`."""
    plan = ask(gig.distribution).placed(facts(gig), task_facts.of(task))
    apply(plan, gig, task, "placed")
