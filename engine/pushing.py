"""Pushing a task to one of a gig's workers, or to all of them (U-01).

Whose turn it is is decided by one transaction at a time: it holds the gig's row of `rotation`,
which comes after the gig and before any mailbox in the order of locks.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from engine import assignments, available_work, clock, entries, holding, mailboxes
from engine.db import db
from engine.mailboxes import Place
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Exclusion, Task
from engine.moves import move
from engine.plans import PushTo
from engine.rules import tag_matching

ACTOR = "engine"
PUSHED = "pushed"
NO_ACTIVE, NO_MATCHING = "no_active_mailboxes", "no_matching_mailboxes"

_TURN = """
INSERT INTO rotation (gig_id, turns) VALUES (?, 1)
ON CONFLICT (gig_id) DO UPDATE SET turns = rotation.turns + 1 RETURNING turns
"""


def place(
    gig: Gig, task: Task, effect: PushTo, placed: Callable[[Gig, Task], None]
) -> dict[str, Any]:
    """Give the task to whom the pick says, or let it wait; answers the members of T-02.

    `placed` is called with the task once it is in somebody's hands.
    """
    turn = int(db.scalar(_TURN, (gig.id,)))
    query = Mailbox.select().where(Mailbox.gig_id == gig.id, Mailbox.status == "active")
    active = list(query.order_by(Mailbox.id))
    matching = [one for one in active if passes(gig, one, task)]
    fresh = task.status == "queued"
    if fresh and not matching:
        return _drop(gig, task, len(active))
    candidates = _able(gig, task, matching)
    if not fresh:
        _let_go(task)
    if not candidates:
        entries.enqueue(gig, task)
        return {"status": "waiting"}
    chosen = choose(candidates, effect.pick)
    mailboxes.hold(chosen)
    Mailbox.update(turn=turn).where(Mailbox.id == chosen.id).execute()
    give(gig, chosen, task)
    placed(gig, task)
    return {
        "status": "forwarded",
        "targets": 1,
        "message_ids": [task.id],
        "mailbox_id": chosen.id,
    }


def _able(gig: Gig, task: Task, matching: list[Mailbox]) -> list[Mailbox]:
    """Those who can be given the task now."""
    lost = {
        row.mailbox_id
        for row in Exclusion.select(Exclusion.mailbox_id).where(
            Exclusion.task_number == task.number
        )
    }
    others = [one for one in matching if one.id not in lost and one.id != task.mailbox_id]
    open_ones = [one for one in others if not one.paused]
    free = available_work.within_limits([Place(one, gig) for one in open_ones])
    return [place.mailbox for place in free]


def _let_go(task: Task) -> None:
    """Take a locked task from whoever has it or has handed it in."""
    verb = "release" if task.status == "claimed" else "return"
    holding.move_on(task, verb, assignee_id=None, reserved_for=None, **holding.NOBODY)


def passes(gig: Gig, mailbox: Mailbox, task: Task) -> bool:
    """Does the task pass the mailbox's standing filters (M-02)? As a poll's filter would (Q-04)."""
    if not tag_matching.matches(task.tags, mailbox.filter_tags, mailbox.filter_tag_match, "any"):
        return False
    if task.price_tbd:
        return bool(mailbox.filter_accept_tbd)
    price = gig.price_units if task.price_units is None else task.price_units
    least, most = mailbox.filter_price_min_units, mailbox.filter_price_max_units
    return (least is None or price >= least) and (most is None or price <= most)


def choose(candidates: list[Mailbox], pick: str) -> Mailbox:
    """One of the candidates, who are in the order of their ids."""
    match pick:
        case "in_turn":
            return min(candidates, key=lambda one: (one.turn, one.id))
        case "by_lot":
            return random.choice(candidates)  # noqa: S311 - no secret
        case "by_priority":
            weights = [one.priority for one in candidates]
            return random.choices(candidates, weights)[0]  # noqa: S311 - no secret
    raise ValueError(f"{pick!r} names no one worker")


def give(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    """Put a waiting task, which is locked, into a worker's hands and tell him (U-02)."""
    entries.withdraw(task)
    terms = holding.terms(gig, task)
    if gig.accept_timeout_seconds is not None:
        accept_by = terms["claimed_at"] + gig.accept_timeout_seconds * clock.SECOND
        terms |= {"accept_by": accept_by, "expires_at": accept_by}
    move(task, "claim", mailbox_id=mailbox.id, **terms)
    holding.remember(mailbox, task, PUSHED)
    assignments.tell(gig, mailbox.id, task, ACTOR, "task.pushed")


def _drop(gig: Gig, task: Task, active: int) -> dict[str, Any]:
    move(task, "drop")
    return {
        "status": "dropped",
        "reason": NO_MATCHING if active else NO_ACTIVE,
        "active_mailboxes": active,
        "matched": 0,
        "evaluated": {"tags": task.tags, "price": None},
    }
