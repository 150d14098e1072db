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
    pushing,
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


def apply(plan: Plan, gig: Gig, task: Task) -> dict[str, Any]:
    """Apply the effects in order; answers the members that the plan replies with.

    The task is locked, and where the plan gives it to somebody or takes it from somebody, so is his
    mailbox, before it. A plan that does not fit is its mode's fault: 503 `mode_fault`, and whoever
    asked for it has written nothing.
    """
    try:
        return _apply(plan, gig, task)
    except _UNFIT as error:
        raise ask(gig.distribution).fault("plan", error) from error


def _apply(plan: Plan, gig: Gig, task: Task) -> dict[str, Any]:
    answer: dict[str, Any] = {}
    for effect in plan:
        match effect:
            case Enqueue():
                entries.enqueue(gig, task)
            case Assign(mailbox_id):
                _give(gig, _named(gig, mailbox_id), task)
            case AssignAccount(number, field):
                _give(gig, verb_effects.of_account(gig, number, field), task)
            case PushTo():
                answer.update(pushing.place(gig, task, effect, placed))
            case PutBack():
                holding.put_back(gig, task)
            case MoveTask(verb):
                _move(task, verb)
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
                raise ValueError(f"{effect!r} is no effect")
    return answer


def _move(task: Task, verb: str) -> None:
    """Move a task on. What waits leaves its shelf, and what is to wait is nobody's."""
    if task.status == "queued":
        entries.withdraw(task)
    waits = states.target("task", verb) in ("queued", "unassigned")
    holding.move_on(task, verb, **(_FREE if waits else {}))


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
    apply(ask(gig.distribution).placed(facts(gig), task_facts.of(task)), gig, task)
