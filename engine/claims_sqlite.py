"""Claiming on SQLite: plain statements, since its one writer stands alone while they run."""

from __future__ import annotations

from typing import Any

from engine import allowances, claims_postgres, clock, events, gigs, rows
from engine.claim_requests import CLASSES, CURSOR, DRAWN, ClaimRequest, Taking
from engine.claims_postgres import FIRST, in_order
from engine.db import db
from engine.models.task import Take, Task
from engine.states import target

# By the primary key (mailbox_id, task_number).
_FOR_HIM = """NOT EXISTS (
    SELECT 1 FROM exclusion
    WHERE exclusion.mailbox_id = ? AND exclusion.task_number = entry.task_number)"""

# By the primary key (shelf, sort_key, task_number).
_RESERVED = """
SELECT entry.task_number FROM queue_entry AS entry WHERE entry.shelf = ?
ORDER BY entry.sort_key, entry.task_number LIMIT ?
"""
# By the index (shelf, enqueued, sort_key).
_BEHIND = f"""
SELECT entry.sort_key, entry.task_number, {_FOR_HIM}
FROM queue_entry AS entry INDEXED BY queue_entry_shelf_enqueued_sort_key
WHERE entry.shelf = ? AND entry.enqueued >= ? AND entry.sort_key <= ?
ORDER BY entry.enqueued LIMIT ?
"""
# By the primary key.
_AHEAD = f"""
SELECT entry.sort_key, entry.task_number FROM queue_entry AS entry
WHERE entry.shelf = ? AND entry.sort_key > ? AND {_FOR_HIM}
ORDER BY entry.sort_key, entry.task_number LIMIT ?
"""
_END = "SELECT max(sort_key) FROM queue_entry WHERE shelf = ?"
# Each class's first entries, by the index (shelf, facet_id, sort_key, task_number).
_OF_CLASSES = f"""
WITH class AS MATERIALIZED ({{classes}})
SELECT near.task_number FROM class CROSS JOIN queue_entry AS near ON near.task_number IN (
    SELECT entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = ? AND entry.facet_id = class.id {{prices}} AND {_FOR_HIM}
    ORDER BY entry.sort_key, entry.task_number LIMIT ?)
ORDER BY near.sort_key, near.task_number LIMIT ?
"""
_SHUFFLED = f"""
SELECT entry.task_number FROM queue_entry AS entry
WHERE entry.shelf = ? {{condition}} AND {_FOR_HIM} ORDER BY random() LIMIT ?
"""
_TAKE = "DELETE FROM queue_entry WHERE task_number IN ({marks}) RETURNING task_number"
_MARK = """
UPDATE task SET status = ?, mailbox_id = ?, claimed_at = ?, expires_at = ?,
    held_timeout_seconds = ?, held_most_seconds = ?,
    held_price_units = CASE WHEN price_tbd THEN NULL ELSE coalesce(price_units, ?) END
WHERE number IN ({marks}) AND status = 'queued' RETURNING {columns}
"""
_MOVE = "UPDATE mailbox SET cursor_key = ?, cursor_as_of = ? WHERE id = ?"


def take(request: ClaimRequest) -> Taking:
    """Choose, take and mark, with nobody else in between; only inside `db.write`."""
    gig, mailbox = gigs.get(request.gig.id), request.mailbox
    gigs.require_open(gig)
    allowance = allowances.require(gig, mailbox)
    most = allowance.most(request.count)
    numbers = [row[0] for row in db.rows(_RESERVED, (mailbox.id, most))]
    rest = most - len(numbers)
    if request.source == CURSOR:
        numbers += _from_cursor(request, rest)
    elif request.source == CLASSES:
        numbers += _of_classes(request, rest)
    elif request.source == DRAWN:
        numbers += request.drawn[:rest]
    else:
        numbers += _shuffled(request, rest)
    now = clock.now()
    timeout = gig.task_timeout_seconds
    expires_at = None if timeout is None else now + timeout * clock.SECOND
    times = (now, expires_at, timeout, gig.max_hold_seconds)
    held_on = (target("task", "claim"), mailbox.id, *times, gig.price_units)
    taken = _mark(numbers, held_on)
    notes = [
        {"mailbox_id": mailbox.id, "at": now, "task_number": task.number, "kind": "claim"}
        for task in taken
    ]
    rows.insert(Take, *notes, tail="ON CONFLICT DO NOTHING")
    return Taking(in_order(request, taken), allowance.after(len(taken), now))


def _mark(numbers: list[int], held_on: tuple[Any, ...]) -> list[Task]:
    if not numbers:
        return []
    marks = ", ".join("?" for _ in numbers)
    gone = db.rows(_TAKE.format(marks=marks), numbers)
    marks = ", ".join("?" for _ in gone)
    statement = _MARK.format(marks=marks, columns=rows.columns(Task))
    found = db.rows(statement, (*held_on, *(number for (number,) in gone)))
    return [rows.load(Task, row) for row in found]


def _from_cursor(request: ClaimRequest, rest: int) -> list[int]:
    """As the parts of the same names in `claims_postgres.py`."""
    gig_id, mailbox = request.gig.id, request.mailbox
    key = FIRST if mailbox.cursor_key is None else mailbox.cursor_key
    late: list[tuple[int, int]] = []
    if mailbox.cursor_as_of is not None:
        most = claims_postgres.LATE_MOST
        behind = db.rows(_BEHIND, (mailbox.id, gig_id, mailbox.cursor_as_of, key, most + 1))
        if len(behind) > most:
            key = FIRST
        else:
            late = sorted((sort_key, number) for sort_key, number, for_him in behind if for_him)
    # One at least, to know where the cursor may stand.
    ahead = db.rows(_AHEAD, (gig_id, key, mailbox.id, max(1, rest - len(late))))
    if not late:
        end = ahead[0][0] - 1 if ahead else max(key, db.scalar(_END, (gig_id,)) or key)
        db.rows(_MOVE, (end, events.position(), mailbox.id))
    return [number for _, number in (late + ahead)[:rest]]


def _of_classes(request: ClaimRequest, rest: int) -> list[int]:
    classes, first = request.wanted.classes(request.gig)
    prices, second = request.wanted.prices()
    sql = _OF_CLASSES.format(classes=classes, prices=prices and f"AND {prices}")
    params = (*first, request.gig.id, *second, request.mailbox.id, rest, rest)
    return [number for (number,) in db.rows(sql, params)]


def _shuffled(request: ClaimRequest, rest: int) -> list[int]:
    condition, params = request.wanted.condition(request.gig)
    sql = _SHUFFLED.format(condition=condition and f"AND {condition}")
    found = db.rows(sql, (request.gig.id, *params, request.mailbox.id, rest))
    return [number for (number,) in found]
