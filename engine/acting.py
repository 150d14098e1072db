"""Using a verb of a mode's own on a task, and what its plan needs to be carried out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from engine import (
    assignments,
    cancellation,
    clock,
    events,
    gigs,
    in_hand,
    mailboxes,
    planning,
    task_facts,
    tasks,
    verb_access,
)
from engine.apply import apply
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.account import Account
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import FAULT, ask
from engine.operations import OWNER, Caller, permit, require
from engine.plans import Act, Plan, TaskFacts, Verb
from engine.rules import json_shapes

# Each time somebody else has taken the task in between.
TRIES = 20


class _Elsewhere(Exception):
    """By the time that the task was locked somebody had it whose mailbox is not."""


def act(
    caller: Caller,
    gig_id: str,
    task_id: str,
    verb: str,
    body: dict[str, Any],
    *,
    mailbox_id: str | None = None,
) -> dict[str, Any]:
    """Use a verb of the gig's mode on a task; answers what its plan replies.

    404 for a verb that the mode does not have, and for a task that the caller cannot see or, where
    only its holder may, never had; 410 `claim_lost` for one that he had, and 409 `wrong_state` for
    one that he has handed in.
    """

    def write() -> dict[str, Any]:
        gig = cancellation.hold(gig_id)
        has = permit("task.act", caller, gig)
        known = find(gig, verb, has)
        require(has, known.by)
        mailbox = _mailbox(caller, gig, task_id, mailbox_id, known, has)
        given = json_shapes.read(body, known.fields, known.required)
        now = clock.now()
        task = hold(gig, task_id, known, caller, mailbox, given, now)
        verb_access.require_usable(caller, gig, has, task, known, mailbox)
        answer = use(caller, gig, task, known, mailbox, given, now)
        cancellation.catch(gig, task, caller.account_id)
        return answer

    return db.write(write)


def find(gig: Gig, name: str, has: frozenset[str]) -> Verb:
    """A verb of the gig's mode; a 404 that names those that these roles may use, and no other."""
    verbs = ask(gig.distribution).info.verbs
    for verb in verbs:
        if verb.name == name:
            return verb
    names = ", ".join(verb.name for verb in verbs if verb.by & has)
    told = (
        f"The verbs of the mode {gig.distribution} are: {names}."
        if names
        else "There is no such verb here, or it is not yours to use. GET /api/modes lists them all."
    )
    raise Refused("not_found", told)


def _mailbox(
    caller: Caller,
    gig: Gig,
    task_id: str,
    mailbox_id: str | None,
    verb: Verb,
    has: frozenset[str],
) -> Mailbox | None:
    """The place that the caller acts from; None for an owner who may act as one, or a stranger."""
    as_owner = OWNER in has and OWNER in verb.by and not verb.holder
    if mailbox_id is None and (as_owner or not mailboxes.ids_of(caller, gig)):
        return None
    return in_hand.mailbox_of(caller, gig, task_id, mailbox_id)


def hold(
    gig: Gig,
    task_id: str,
    verb: Verb,
    caller: Caller,
    mailbox: Mailbox | None,
    given: dict[str, Any],
    now: int,
) -> Task:
    """Lock the mailboxes that the verb's plan will need, then the task; only inside `db.write`.

    The gig is held (`cancellation.hold`), and with it its turns.
    """
    asked = _asked(gig, caller, verb, mailbox, given, now)

    def planned(task: TaskFacts) -> Plan:
        # A mode is asked about a verb only where it may be used.
        held = task.status == "claimed" or not verb.holder
        return asked(task, frozenset()) if held and _starts_from(verb, task) else ()

    return locked(gig, task_id, planned, mailbox)


def _starts_from(verb: Verb, task: TaskFacts) -> bool:
    return not verb.stages or task.stage in verb.stages


def use(
    caller: Caller,
    gig: Gig,
    task: Task,
    verb: Verb,
    mailbox: Mailbox | None,
    given: dict[str, Any],
    now: int,
) -> dict[str, Any]:
    """Use a verb on a task that is locked by `hold`; answers what its plan replies.

    `given` is the body as `json_shapes.read` has read it, `mailbox` the place that the caller acts
    from. 409 `wrong_stage` where the task is not at a stage that the verb starts from,
    `wrong_state` where only its holder may and it is done, and `gig_closed` for what would give it
    to somebody in a gig that is cancelled.
    """
    before = task_facts.of(task)
    if not _starts_from(verb, before):
        raise Refused(
            "wrong_stage",
            f"This task is {before.stage or 'at no stage'}, and {verb.name} is for one that is "
            f"{' or '.join(verb.stages)}.",
            stage=before.stage,
        )
    if verb.holder and not in_hand.has_now(task):
        raise Refused(
            "wrong_state",
            f"This task is {task.status}, and {verb.name} is for what is in your hands. Go on with "
            "another one.",
            status_now=task.status,
        )
    asked = _asked(gig, caller, verb, mailbox, given, now)
    plan = planning.final(gig, "act", lambda gone: asked(before, gone))
    if gig.status == "cancelled" and planning.targets(gig, plan):
        # What is in hand is finished there, by whoever has it.
        gigs.require_open(gig)
    answer = apply(plan, gig, task, "act")
    after = task_facts.of(task).stage
    events.append(
        "task.acted",
        events.Subject("task", task.id),
        actor=caller.account_id,
        gig_id=gig.id,
        mailbox_id=task.mailbox_id if mailbox is None else mailbox.id,
        data={"verb": verb.name, "from": before.stage, "to": after},
    )
    return answer or {"success": True, "stage": after}


def _asked(
    gig: Gig,
    caller: Caller,
    verb: Verb,
    mailbox: Mailbox | None,
    given: dict[str, Any],
    now: int,
) -> Callable[[TaskFacts, frozenset[str]], Plan]:
    """What the mode says to the verb, of a task as it is shown to it."""
    account = Account.get(Account.id == caller.account_id)
    place = None if mailbox is None else mailbox.id
    told = Act(verb.name, place, given, now, zone=account.timezone, number=account.number)
    mode, facts = ask(gig.distribution), gigs.facts(gig)
    return lambda task, gone: mode.act(facts, task, replace(told, gone=gone))


def locked(
    gig: Gig, task_id: str, planned: Callable[[TaskFacts], Plan], *own: Mailbox | None
) -> Task:
    """Lock the task, and before it the mailboxes that a plan needs; only inside `db.write`.

    Those are the holder's, who may lose it, whom the plan would give it to as the task is now, and
    `own`. The mode is asked again once the task is locked; a mailbox that only its second answer
    names is then locked after the task, and the rare deadlock is run again by `db.write`.
    """
    for _ in range(TRIES):
        seen = Task.get_or_none(Task.id == task_id, Task.gig_id == gig.id)
        if seen is None:
            raise not_found("task")
        held = {mailbox.id for mailbox in own if mailbox is not None}
        held |= {seen.mailbox_id} if seen.mailbox_id is not None else set()
        held |= planning.targets(gig, _guess(planned, seen))
        try:
            return db.write(lambda: _locked(gig, task_id, held))  # noqa: B023
        except _Elsewhere:
            continue
    raise Refused("try_again", "Others are taking this task just now. Try again.")


def _guess(planned: Callable[[TaskFacts], Plan], seen: Task) -> Plan:
    """What the mode would say to the task as it was seen; nothing where it would refuse."""
    try:
        return planned(task_facts.of(seen))
    except Refused as refusal:
        if refusal.code == FAULT:
            raise
        return ()


def _locked(gig: Gig, task_id: str, held: set[str]) -> Task:
    if held:
        assignments.hold_active(*held)
    task = tasks.locked(gig, task_id)
    if task.mailbox_id is not None and task.mailbox_id not in held:
        raise _Elsewhere
    return task
