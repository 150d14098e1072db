"""A worker's desk: what is routed to him in all gigs of a mode, and what he does with it (I-01)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import simplejson

from engine import acting, cancellation, clock, in_hand, mode_items, rows, schedules, verb_access
from engine.db import db
from engine.errors import not_found
from engine.models.account import Account
from engine.models.mailbox import Mailbox
from engine.modes import Mode, ask, installed
from engine.operations import OWNER, Caller, permit, require
from engine.plans import ModeInfo, Planner, Routed, TaskFacts, Verb
from engine.rules.working_hours import DAYS

# Through `mailbox_account_id`, `task_mailbox_id_status` and the unique `mode_item.task_id`. What
# was sent within one second is in the order of its numbers, since readers see no more of the time.
_ROUTED = """
SELECT mode_item.number, mode_item.revision, mode_item.stage, mode_item.memo, owner.display_name,
    task.id, task.status, task.priority, task.tags, task.price_units, task.price_tbd,
    task.mailbox_id, task.assignee_id, task.template_number, task.accept_by, task.subject,
    task.created_at, task.mode_fields, task.held_price_units
FROM mailbox
JOIN gig ON gig.id = mailbox.gig_id
JOIN account AS owner ON owner.id = gig.owner_id
JOIN task ON task.mailbox_id = mailbox.id
JOIN mode_item ON mode_item.task_id = task.id
WHERE mailbox.account_id = ? AND mailbox.status = 'active' AND gig.distribution IN ({names})
    AND task.status IN ('claimed', {done})
    AND (task.status = 'claimed' OR mode_item.stage IN ({stages}))
ORDER BY mode_item.rank, task.created_at / 1000, mode_item.number
"""

_FIND = """
SELECT task.id, mailbox.id FROM mode_item
JOIN task ON task.id = mode_item.task_id
JOIN mailbox ON mailbox.id = task.mailbox_id
JOIN gig ON gig.id = mailbox.gig_id
WHERE mode_item.number = ? AND mailbox.account_id = ? AND mailbox.status = 'active'
    AND gig.distribution IN ({names})
"""
_COLLEAGUES = """
SELECT DISTINCT account.number, account.display_name
FROM mailbox AS own
JOIN gig ON gig.id = own.gig_id
JOIN mailbox ON mailbox.gig_id = own.gig_id
JOIN account ON account.id = mailbox.account_id
WHERE own.account_id = ? AND own.status = 'active' AND gig.distribution IN ({names})
    AND (gig.status = 'active' OR gig.status = 'closed' AND EXISTS (
        SELECT 1 FROM task WHERE task.mailbox_id = own.id AND task.status = 'claimed'))
    AND mailbox.status = 'active' AND account.id <> own.account_id AND account.number > ?
ORDER BY account.number LIMIT ?
"""
MAX_NUMBER = 2**63 - 1


@dataclass(frozen=True)
class Colleague:
    """Somebody to whom an item may be passed, by his account's number."""

    number: int
    name: str


def listed(caller: Caller, distribution: str, flags: Collection[str]) -> list[dict[str, Any]]:
    """The items of the caller's desk in that mode, most pressing and then oldest first.

    With the stages that `flags` add. Each is as the mode shows it, and has its `revision`.
    """
    mode = ask(distribution)
    desk = mode.info.desk
    assert desk is not None, "only a mode with a desk is asked for one"
    stages = {*desk.shown, *(stage for flag in flags for stage in desk.flags[flag])}
    with db.reading():
        account = rows.one(Account, "id = ?", caller.account_id)
        assert account is not None, "who calls has an account"
        found = _routed(caller, mode, sorted(stages))
        now = clock.now()
    shown = [one for one in found if one[1].task.stage in stages]
    taken = tuple(
        one.task
        for _, one in found
        if one.task.status == "claimed" and one.task.stage not in desk.shown
    )
    schedule = schedules.of(account)
    hours = {day: tuple((begin, end) for begin, end in schedule.hours.get(day, ())) for day in DAYS}
    planner = Planner(now, schedule.zone, hours, taken)
    items = mode.desk_items([one for _, one in shown], planner)
    return [
        {**item, "revision": revision} for (revision, _), item in zip(shown, items, strict=True)
    ]


def _routed(caller: Caller, mode: Mode, stages: list[str]) -> list[tuple[str, Routed]]:
    """What is in the caller's hands, or done by him and of these stages, with its revision."""
    names, done = mode.info.names, in_hand.DONE
    statement = _ROUTED.format(names=_marks(names), done=_marks(done), stages=_marks(stages))
    params = [caller.account_id, *names, *done, *stages]
    return [_loaded(row) for row in db.rows(statement, params)]


def _marks(values: Collection[str]) -> str:
    return ", ".join("?" for _ in values)


def _loaded(row: tuple[Any, ...]) -> tuple[str, Routed]:
    (number, revision, stage, memo, requester), of_task = row[:5], row[5:]
    (task_id, status, priority, tags, price_units, price_tbd, mailbox_id), rest = (
        of_task[:7],
        of_task[7:],
    )
    assignee_id, template_number, accept_by, subject, created_at, fields, held_price = rest
    facts = TaskFacts(
        task_id,
        status,
        priority,
        tuple(simplejson.loads(tags)),
        price_units,
        bool(price_tbd),
        mailbox_id,
        assigned=assignee_id is not None,
        copy=template_number is not None,
        offered=accept_by is not None,
        subject=subject,
        created_at=created_at,
        fields=simplejson.loads(fields or "{}", use_decimal=True),
        number=number,
        stage=stage,
        memo=simplejson.loads(memo, use_decimal=True),
        held_price_units=held_price,
    )
    return revision, Routed(facts, requester)


def verbs(info: ModeInfo) -> list[Verb]:
    """Those that are used on a desk: a worker's, not what only the gig's owner may."""
    return [verb for verb in info.verbs if verb.by - {OWNER}]


def act_on(
    caller: Caller,
    distribution: str,
    number: int,
    verb: Verb,
    given: dict[str, Any],
    allowed: frozenset[str] | None,
) -> None:
    """Use a verb on an item of the caller's own desk that is as he has read it (I-03).

    `given` is the body as `json_shapes.read` has read it; `allowed` are revisions, None any. In
    this order: 404 where the item is not his, what `verb_access.require_usable` refuses, 412 where
    it has changed, 409 `wrong_stage`, and then what the mode itself refuses.
    """
    mode = ask(distribution)

    def write() -> None:
        task_id, mailbox = _find(caller, mode, number)
        gig = cancellation.hold(mailbox.gig_id)
        has = permit("task.act", caller, gig)
        require(has, verb.by)
        now = clock.now()
        task = acting.hold(gig, task_id, verb, caller, mailbox, given, now)
        item = mode_items.of(task.id)
        if task.mailbox_id != mailbox.id or item is None:
            raise not_found("item")
        verb_access.require_usable(caller, gig, has, task, verb, mailbox)
        mode_items.require_revision(item, allowed)
        acting.use(caller, gig, task, verb, mailbox, given, now)
        cancellation.catch(gig, task, caller.account_id)

    db.write(write)


def _find(caller: Caller, mode: Mode, number: int) -> tuple[str, Mailbox]:
    """The task of an item on the caller's desk, and the place that has it; 404 for any other."""
    found = []
    if number <= MAX_NUMBER:
        statement = _FIND.format(names=_marks(mode.info.names))
        found = db.rows(statement, (number, caller.account_id, *mode.info.names))
    if not found:
        raise not_found("item")
    ((task_id, mailbox_id),) = found
    return task_id, Mailbox.get(Mailbox.id == mailbox_id)


def colleagues(caller: Caller, limit: int, after: tuple[int] | None) -> list[Colleague]:
    """Who else works in the caller's gigs of modes with a desk, in the order of their numbers.

    Of those gigs in which something can be passed on: the active, and the closed in which he has
    work in hand.
    """
    names = [name for name, mode in installed().items() if mode.info.desk is not None]
    statement = _COLLEAGUES.format(names=_marks(names))
    behind = 0 if after is None else after[0]
    with db.reading():
        found = db.rows(statement, (caller.account_id, *names, behind, limit))
    return [Colleague(number, name) for number, name in found]
