"""Asking a mode what becomes of a task, and carrying out what it says.

A plan may name who is given the task. Whoever has left by then is told to the mode, which is asked
again and names others; a lot is drawn among those who are there.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from engine import assignments, gigs, task_facts, verb_effects
from engine.apply import apply
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask
from engine.plans import Assign, AssignAccount, AssignByLot, Effect, Plan

# What a mode answers, told which mailboxes are gone.
Planned = Callable[[frozenset[str]], Plan]

# Mailboxes that one statement looks at.
CHUNK = 1000
_OF_GIG = "SELECT id FROM mailbox WHERE gig_id = ? AND id IN ({marks})"


def distribute(gig: Gig, task: Task) -> dict[str, Any]:
    """Where a task goes that was sent; answers what its sender is told. Only inside `db.write`."""
    mode, shown, seen = ask(gig.distribution), gigs.facts(gig), task_facts.of(task)
    return carry_out(gig, task, "distribute", lambda gone: mode.distribute(shown, seen, gone))


def release(gig: Gig, task: Task) -> None:
    """Where a locked task goes that is taken from its holder; only inside `db.write`."""
    mode, shown, seen = ask(gig.distribution), gigs.facts(gig), task_facts.of(task)
    carry_out(gig, task, "released", lambda gone: mode.released(shown, seen, gone))


def decline(gig: Gig, task: Task, mailbox_id: str) -> None:
    """What follows when a worker passes on a locked task; only inside `db.write`."""
    mode, shown, seen = ask(gig.distribution), gigs.facts(gig), task_facts.of(task)
    carry_out(gig, task, "declined", lambda gone: mode.declined(shown, seen, mailbox_id, gone))


def rejected(gig: Gig, task: Task, requeue: bool) -> Plan:
    """What follows when a proof of a locked task is rejected, to be applied; in `db.write`."""
    mode, shown, seen = ask(gig.distribution), gigs.facts(gig), task_facts.of(task)
    return final(gig, "rejected", lambda gone: mode.rejected(shown, seen, requeue, gone))


def carry_out(gig: Gig, task: Task, hook: str, planned: Planned) -> dict[str, Any]:
    """Apply the mode's plan to a locked task; answers what it replies. Only inside `db.write`."""
    return apply(final(gig, hook, planned), gig, task, hook)


def final(gig: Gig, hook: str, planned: Planned) -> Plan:
    """The mode's plan, in which whoever is given the task by name is active.

    Those whom the plan names are held: before the task, where the asker has seen to that
    (`acting.locked`); elsewhere after it, and a rare deadlock is run again by `db.write`.
    """
    gone: frozenset[str] = frozenset()
    while True:
        plan = planned(gone)
        named = targets(gig, plan)
        if not named:
            return plan
        active = _held_active(named)
        lost = {one for effect in plan for one in _lost(gig, effect, active)}
        if not lost:
            return tuple(_drawn(effect, active) for effect in plan)
        _refuse(gig, hook, lost, gone)
        gone |= lost


def targets(gig: Gig, plan: Plan) -> set[str]:
    """Whom a plan gives the task to by name, or by lot among them."""
    return {one for effect in plan for one in _named(gig, effect)}


def _named(gig: Gig, effect: Effect) -> set[str]:
    match effect:
        case Assign(mailbox_id):
            return {mailbox_id}
        case AssignByLot(mailbox_ids):
            return set(mailbox_ids)
        case AssignAccount(number):
            found = verb_effects.id_of_account(gig, number)
            return set() if found is None else {found}
    return set()


def _held_active(mailbox_ids: set[str]) -> set[str]:
    ordered, active = sorted(mailbox_ids), set[str]()
    for first in range(0, len(ordered), CHUNK):
        active |= assignments.hold_active(*ordered[first : first + CHUNK])
    return active


def _lost(gig: Gig, effect: Effect, active: set[str]) -> set[str]:
    """Those who would have to be active for this effect. Of a lot it is enough that one is."""
    named = _named(gig, effect)
    if isinstance(effect, AssignByLot) and named & active:
        return set()
    return named - active


def _drawn(effect: Effect, active: set[str]) -> Effect:
    if not isinstance(effect, AssignByLot):
        return effect
    among = sorted(set(effect.mailbox_ids) & active)
    return Assign(random.choice(among))  # noqa: S311 - no secret


def _refuse(gig: Gig, hook: str, lost: set[str], gone: frozenset[str]) -> None:
    """A mode's fault: it names somebody who has no place in the gig, or whom it was told of."""
    known = _of_gig(gig, lost)
    told = ", ".join(sorted(lost - known or lost))
    if lost - known:
        error = f"{hook}() gave the task to {told!r}, which is no mailbox of this gig"
    elif lost <= gone:
        error = f"{hook}() gave the task to {told}, who has left; `gone` names him"
    else:
        return
    raise ask(gig.distribution).fault(hook, ValueError(error))


def _of_gig(gig: Gig, mailbox_ids: set[str]) -> set[str]:
    ordered, found = sorted(mailbox_ids), set[str]()
    for first in range(0, len(ordered), CHUNK):
        some = ordered[first : first + CHUNK]
        statement = _OF_GIG.format(marks=", ".join("?" for _ in some))
        found |= {row[0] for row in db.rows(statement, (gig.id, *some))}
    return found
