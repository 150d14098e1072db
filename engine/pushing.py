"""Pushing a task to one of a gig's workers, or a copy of it to all of them (U-01, U-04).

Whose turn it is is decided by one transaction at a time: it holds the gig's turns
(`engine/turns.py`), which come after the gig and before any mailbox in the order of locks.

No task waits for ever beside a worker who is free. Whoever lets a task wait looks again after his
commit, and so does whoever has freed a worker, after his own (`engine/waiting_delivery.py`). Of the
two commits one is the later, and whoever looks after that one sees both.
"""

from __future__ import annotations

from typing import Any

from engine import (
    commands,
    entries,
    fan_out,
    freeing,
    giving,
    giving_out,
    holding,
    push_candidates,
    spending,
    stranded,
    turns,
)
from engine.deliveries import money_field
from engine.fan_out import Placed
from engine.giving import give as give
from engine.models.gig import Gig
from engine.models.task import Task
from engine.moves import move
from engine.plans import PushTo
from engine.push_candidates import Candidate

EVERYONE = "everyone"
NO_ACTIVE, NO_MATCHING = "no_active_mailboxes", "no_matching_mailboxes"


def place(gig: Gig, task: Task, effect: PushTo, placed: Placed) -> dict[str, Any]:
    """Give the task to whom the pick says, or let it wait; answers the members of T-02.

    `placed` is called with each task that has come into somebody's hands. A new task that no active
    worker's filters let pass is dropped; any other waits until somebody can be given it. So does
    what comes back to a gig that hands out nothing more (G-08), and what is not due yet (T-04).
    """
    turn = turns.take(gig.id)
    active = push_candidates.active(gig.id)
    matching = push_candidates.matching(gig, task, active)
    offered = entries.shelf_of(task) == gig.id and gig.status == "active"
    if task.status != "queued":
        matching = push_candidates.not_lost(task, matching)
        _let_go(task)
        if offered and not matching:
            stranded.tell(gig, task)
    else:
        # A plan or an earlier one may have put it on the shelf.
        entries.withdraw(task)
        if offered and not matching:
            return _drop(gig, task, len(active))
    if offered and turns.are_kept(gig.id):
        # Many are being given an older one.
        return _wait(gig, task)
    if offered and giving_out.waits(gig.id):
        return _behind_others(gig, task, placed)
    unpaused = [one for one in matching if not one.paused] if offered else []
    return _give(gig, task, unpaused, effect.pick, turn, placed) or _wait(gig, task)


def _give(
    gig: Gig, task: Task, candidates: list[Candidate], pick: str, turn: int, placed: Placed
) -> dict[str, Any] | None:
    if pick == EVERYONE:
        given = fan_out.to_all(gig, task, candidates, placed, commands.unused_of(task.id))
        if isinstance(given, list):
            return fan_out.forwarded(task) if given else None
        return {"status": "forwarded", "command_id": given.id}
    mailbox = giving.to_one(gig, task, candidates, pick, turn)
    if mailbox is None:
        return None
    placed(gig, task)
    return _forwarded(task)


def _forwarded(task: Task) -> dict[str, Any]:
    return {
        "status": "forwarded",
        "targets": 1,
        "message_ids": [task.id],
        "mailbox_id": task.mailbox_id,
    }


def _wait(gig: Gig, task: Task) -> dict[str, Any]:
    entries.enqueue(gig, task)
    freeing.look_again(gig.id)
    return {"status": "waiting"}


def _behind_others(gig: Gig, task: Task, placed: Placed) -> dict[str, Any]:
    """Others wait, so whoever is free gets the oldest of them, and this one comes after those.

    A send looks at the oldest few only, and the bell sees to the rest.
    """
    waiting = _wait(gig, task)
    # One, so that no second mailbox is locked after a task.
    giving_out.give_out(gig, placed, most=1, pages=1)
    now = Task.get(Task.number == task.number)
    for name, value in now.__data__.items():
        setattr(task, name, value)
    if task.status == "forwarded":
        return fan_out.forwarded(task)
    return _forwarded(task) if task.status == "claimed" else waiting


def _let_go(task: Task) -> None:
    """Take a locked task from whoever has it or has handed it in."""
    verb = "release" if task.status == "claimed" else "return"
    holding.move_on(task, verb, assignee_id=None, reserved_for=None, **holding.NOBODY)


def _drop(gig: Gig, task: Task, active: int) -> dict[str, Any]:
    """Nobody could ever be given it; the day's spending has its price back (G-04)."""
    move(task, "drop")
    spending.take_back(gig, task)
    price = gig.price_units if task.price_units is None else task.price_units
    return {
        "status": "dropped",
        "reason": NO_MATCHING if active else NO_ACTIVE,
        "active_mailboxes": active,
        "matched": 0,
        "evaluated": {
            "tags": task.tags,
            "price": "tbd" if task.price_tbd else money_field(price),
        },
    }
