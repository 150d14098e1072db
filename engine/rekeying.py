"""Giving all entries of a gig new keys, after its order or its ageing has changed (Q-01, Q-08).

The keys are numbers in an index, so each entry gets a new one, as if it were put there anew. The
first are done in the transaction of the change; a command does the others, some at a time, and
looks once more a while later: a task that was being sent at that moment may have got a key of the
order before.
"""

from __future__ import annotations

from typing import Any

from engine import clock, commands, entries, events, rows
from engine.db import db
from engine.models.command import Command
from engine.models.gig import Gig
from engine.rules.queue_order import ARRIVAL_BITS, EPOCH_MS

KIND = "queue.rekey"
CHUNK = 500
# Within the lease of a command's step.
CHUNKS_AT_ONCE = 100
# Longer than any transaction may stand still (`db.IDLE_IN_TRANSACTION_MS`).
LOOK_AGAIN_SECONDS = 90.0

# The gig's own shelf, and what is reserved for one of its mailboxes.
_SHELVES = ("entry.shelf = ?", "entry.shelf IN (SELECT id FROM mailbox WHERE gig_id = ?)")
# The head of a shelf, by the primary key.
_HEAD = """
SELECT entry.task_number FROM queue_entry AS entry WHERE {shelf}
ORDER BY entry.sort_key, entry.task_number LIMIT ?
"""
# What has been there since before the change, by the index (shelf, enqueued, sort_key).
_OLD = """
SELECT entry.task_number FROM queue_entry AS entry WHERE {shelf} AND entry.enqueued < ?
ORDER BY entry.enqueued LIMIT ?
"""
# All that is there; read once or twice, at the end.
_WRONG = """
SELECT entry.task_number FROM queue_entry AS entry JOIN task ON task.number = entry.task_number
WHERE {shelf} AND entry.sort_key <> {key} LIMIT ?
"""
_REKEY = """
UPDATE queue_entry AS entry SET sort_key = {key}, enqueued = ? FROM task
WHERE task.number = entry.task_number AND entry.task_number IN ({marks})
"""


def rekey(gig: Gig) -> None:
    """Give the entries of a gig whose order or ageing has changed their new keys.

    Only inside `db.write`, in the transaction of the change, which holds the gig.
    """
    before = events.position()
    for shelf in _SHELVES:
        _give_keys(gig, _some(_HEAD.format(shelf=shelf), gig.id))
    commands.record(KIND, {"before": before}, account_id=None, gig_id=gig.id)


@commands.handler(KIND)
def step(command: Command) -> commands.Outcome:
    """Go on with what has the position of before the change, then look for what slipped through."""
    gig_id = str(command.gig_id)
    before = command.arguments["before"]
    for _ in range(CHUNKS_AT_ONCE):
        if not db.write(lambda: _next(gig_id, before)):
            break
    else:
        return commands.Wait(0)
    with db.reading():
        waited = (clock.now() - command.created_at) / clock.SECOND
    if waited < LOOK_AGAIN_SECONDS:
        return commands.Wait(LOOK_AGAIN_SECONDS - waited)
    while db.write(lambda: _next(gig_id, None)):
        pass
    return commands.Done({})


def _next(gig_id: str, before: int | None) -> int:
    """Some entries from before the change, or with a wrong key; how many?"""
    held = " FOR NO KEY UPDATE" if db.is_postgres else ""
    (gig,) = rows.find(Gig, f"id = ?{held}", gig_id)
    for shelf in _SHELVES:
        if before is None:
            found = _some(_WRONG.format(shelf=shelf, key=key_sql(gig)), gig.id)
        else:
            found = _some(_OLD.format(shelf=shelf), gig.id, before)
        if found:
            _give_keys(gig, found)
            return len(found)
    return 0


def _some(sql: str, *params: Any) -> list[int]:
    return [row[0] for row in db.rows(sql, (*params, CHUNK))]


def _give_keys(gig: Gig, numbers: list[int]) -> None:
    there = sorted(entries.hold(*numbers))
    if there:
        marks = ", ".join("?" for _ in there)
        sql = _REKEY.format(key=key_sql(gig), marks=marks)
        db.rows(sql, (events.position(), *there))


def key_sql(gig: Gig) -> str:
    """`rules.queue_order.sort_key` in SQL, on a row of `task`."""
    if gig.queue_aging_seconds:
        key = f"task.priority * {gig.queue_aging_seconds * 1000} + task.created_at - {EPOCH_MS}"
    else:
        key = f"(task.priority << {ARRIVAL_BITS}) + task.number"
    return f"-({key})" if gig.queue_order == "lifo" else f"({key})"
