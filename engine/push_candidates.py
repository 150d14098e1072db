"""Who may be given a task that is pushed, and in which order they are tried (U-01, U-04).

All active mailboxes of a gig are read by one narrow statement, and each different filter is asked
once, so a gig with thousands of workers costs some tens of milliseconds. Limits (M-05) are looked
at in the order in which the workers would be tried, until one of them is free.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from engine import allowances, available_work, push_filters, rows
from engine.db import db
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.push_filters import Filter
from engine.rules import tag_matching

# Mailboxes whose limits are looked at together; of the first few one is usually free.
FIRST_LOOK, LARGEST_LOOK = 16, 2_000

_ACTIVE = """
SELECT id, account_id, turn, priority, paused,
    rate_limit_count, rate_limit_minutes, max_open_tasks,
    filter_tags, filter_tag_match, filter_price_min_units, filter_price_max_units,
    filter_accept_tbd
FROM mailbox WHERE gig_id = ? AND status = 'active' ORDER BY id
"""
_LOST = "SELECT task_number, mailbox_id FROM exclusion WHERE task_number IN ({marks})"


class Candidate(NamedTuple):
    """An active mailbox, as far as it says who is to be given a task. `turn`: its last one.

    `filter_tags` is the JSON text of a list.
    """

    id: str
    account_id: str
    turn: int
    priority: int
    paused: bool
    rate_limit_count: int | None
    rate_limit_minutes: int | None
    max_open_tasks: int | None
    filter_tags: str
    filter_tag_match: str
    filter_price_min_units: int | None
    filter_price_max_units: int | None
    filter_accept_tbd: bool


def active(gig_id: str) -> list[Candidate]:
    """The gig's active mailboxes, paused or not, in the order of their ids."""
    return [Candidate(*row) for row in db.rows(_ACTIVE, (gig_id,))]


def matching(gig: Gig, task: Task, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those whose standing filters (M-02) the task passes."""
    told: dict[tuple[Any, ...], bool] = {}
    found = []
    for one in candidates:
        key = one[8:]
        passes = told.get(key)
        if passes is None:
            passes = told[key] = passes_filter(gig, task, one)
        if passes:
            found.append(one)
    return found


def passes_filter(gig: Gig, task: Task, of: Candidate | Mailbox) -> bool:
    """Does the task pass the standing filter?"""
    price = gig.price_units if task.price_units is None else task.price_units
    units = None if task.price_tbd else price
    return push_filters.of(of).passes(tag_matching.text_of(task.tags), units)


def by_filter(candidates: Sequence[Candidate]) -> dict[Filter, list[Candidate]]:
    """The candidates by their standing filters; each different one is read once."""
    read: dict[tuple[Any, ...], Filter] = {}
    found: dict[Filter, list[Candidate]] = {}
    for one in candidates:
        key = one[8:]
        if key not in read:
            read[key] = push_filters.of(one)
        found.setdefault(read[key], []).append(one)
    return found


def lost(numbers: Sequence[int]) -> dict[int, set[str]]:
    """By the number of a task: the mailboxes that are not to be offered it again."""
    if not numbers:
        return {}
    marks = ", ".join("?" for _ in numbers)
    found: dict[int, set[str]] = {}
    for number, mailbox_id in db.rows(_LOST.format(marks=marks), numbers):
        found.setdefault(number, set()).add(mailbox_id)
    return found


def not_lost(task: Task, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without those who are not to be offered the task again, and without who has it now."""
    without = lost([task.number]).get(task.number, set()) | {task.mailbox_id}
    return [one for one in candidates if one.id not in without]


def in_order(candidates: Sequence[Candidate], pick: str) -> list[Candidate]:
    """The candidates in the order in which they are tried; the first who is free gets the task.

    By lot each is as likely to come before the others, or in proportion to its priority: the time
    until a lot is drawn has the rate of its priority, so whoever is passed over, the first of the
    others is each of them with its share.
    """
    keys: dict[str, Callable[[Candidate], Any]] = {
        "in_turn": lambda one: (one.turn, one.id),
        "by_lot": lambda one: random.random(),  # noqa: S311 - no secret
        "by_priority": lambda one: random.expovariate(one.priority),
        "everyone": lambda one: one.id,
    }
    return sorted(candidates, key=keys[pick])


def able(gig: Gig, candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    """Those of the candidates who may take one more (M-05), in their order; looked up lazily."""
    first, size = 0, FIRST_LOOK
    while some := candidates[first : first + size]:
        may = available_work.may_take({one.id: allowances.limits(gig, one) for one in some})
        yield from (one for one in some if one.id in may)
        first, size = first + size, min(size * 4, LARGEST_LOOK)


def hold(gig: Gig, task: Task, ids: Sequence[str]) -> list[Mailbox]:
    """Lock mailboxes, in the order of their ids, and answer those that can still be given the task.

    Who pauses, leaves, or takes something else at this moment is seen here once he has committed,
    or waits until this transaction ends, so no limit is ever passed. Only inside `db.write`.
    """
    if not ids:
        return []
    marks = ", ".join("?" for _ in ids)
    lock = " FOR NO KEY UPDATE" if db.is_postgres else ""
    found = [
        one
        for one in rows.find(Mailbox, f"id IN ({marks}) ORDER BY id{lock}", *sorted(ids))
        if one.status == "active" and not one.paused and passes_filter(gig, task, one)
    ]
    # By a statement that begins now: what was taken before the lock is counted.
    may = available_work.may_take({one.id: allowances.limits(gig, one) for one in found})
    return [one for one in found if one.id in may]
