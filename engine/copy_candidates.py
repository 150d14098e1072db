"""Which templates a worker of a solo gig may be given a copy of, in the order of the gig (S-01).

A template stays in the queue after it was taken, so a worker would have to look past all that he
has had. He does not: his mailbox keeps a cursor. Nothing at or before `cursor_key` on the gig's
shelf is left for him, but for what was put there at or after the position `cursor_as_of`, which no
poll of his can have seen whole. So he looks at those late entries, and then ahead of the cursor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine import events
from engine.db import db
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox

if TYPE_CHECKING:
    from engine.facets import Wanted

# Before every key.
START = -(1 << 63)
RESERVED, LATE, AHEAD = 0, 1, 2

# The worker's account has had no copy, this mailbox is not to be offered it, and it is not used up.
# Each look-up is of a whole primary key; OFFSET 0 keeps PostgreSQL from making a table of all
# that the worker has had instead.
_FREE = """
NOT EXISTS (
    SELECT 1 FROM copy_holder
    WHERE copy_holder.account_id = ? AND copy_holder.template_number = entry.task_number
    LIMIT 1 OFFSET 0)
AND NOT EXISTS (
    SELECT 1 FROM exclusion
    WHERE exclusion.mailbox_id = ? AND exclusion.task_number = entry.task_number
    LIMIT 1 OFFSET 0)
"""
_ROOM = """
AND EXISTS (
    SELECT 1 FROM task AS template
    WHERE template.number = entry.task_number AND template.copies < ?
    LIMIT 1 OFFSET 0)
"""
# Each part stops as soon as it has enough: the first and the last read the primary key
# (shelf, sort_key, task_number) in its order. The late ones are few and found by the index
# (shelf, enqueued, sort_key); by themselves, or the planner reads the shelf in its order instead.
_NEXT = """
WITH late AS MATERIALIZED (
    SELECT entry.* FROM queue_entry AS entry
    WHERE entry.shelf = ? AND entry.enqueued >= ? ORDER BY entry.enqueued
)
SELECT * FROM (
    SELECT {RESERVED} AS part, entry.sort_key, entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = ? AND {free}
    ORDER BY entry.sort_key, entry.task_number LIMIT ?) AS first
UNION ALL
SELECT * FROM (
    SELECT {LATE} AS part, entry.sort_key, entry.task_number FROM late AS entry
    WHERE entry.sort_key <= ? AND {free} {wanted}
    ORDER BY entry.sort_key, entry.task_number LIMIT ?) AS second
UNION ALL
SELECT * FROM (
    SELECT {AHEAD} AS part, entry.sort_key, entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = ? AND entry.sort_key > ? AND {free} {wanted}
    ORDER BY entry.sort_key, entry.task_number LIMIT ?) AS third
ORDER BY 1, 2, 3
"""
# Every template that is free has the same chance, so all of them must be looked at.
_ANY = """
SELECT * FROM (
    SELECT {RESERVED} AS part, entry.sort_key, entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = ? AND {free}
    ORDER BY entry.sort_key, entry.task_number LIMIT ?) AS first
UNION ALL
SELECT * FROM (
    SELECT {AHEAD} AS part, entry.sort_key, entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = ? AND {free} {wanted} ORDER BY random() LIMIT ?) AS second
"""
_CURSOR = """
SELECT cursor_key, cursor_as_of, (SELECT max(sort_key) FROM queue_entry WHERE shelf = ?)
FROM mailbox WHERE id = ?
"""


@dataclass(frozen=True)
class Candidates:
    """Templates by their numbers, the first to be taken first, and where the cursor goes then."""

    numbers: list[int]
    cursor: tuple[int, int] | None = None


def find(
    gig: Gig,
    mailbox: Mailbox,
    order: str,
    count: int,
    wanted: Wanted | None,
) -> Candidates:
    """Up to `count` candidates; fewer mean that there are no more.

    Only inside `db.write`, and the mailbox is held.
    """
    most = gig.max_claims_per_task
    room = "" if most is None else _ROOM
    free = _FREE + room
    free_params: list[Any] = [mailbox.account_id, mailbox.id]
    free_params += [] if most is None else [most]
    condition, wanted_params = ("", ()) if wanted is None else wanted.condition(gig)
    parts = {"RESERVED": RESERVED, "LATE": LATE, "AHEAD": AHEAD, "free": free}
    parts["wanted"] = f"AND {condition}" if condition else ""
    reserved = [mailbox.id, *free_params, count]
    if order == "random":
        drawn = [gig.id, *free_params, *wanted_params, count]
        found = db.rows(_ANY.format(**parts), (*reserved, *drawn))
        return Candidates([row[2] for row in found[:count]])
    # The position and the end of the shelf are read before anything on it: what comes after this
    # moment is late to whoever has looked.
    as_of = events.settled()
    ((key, since, end),) = db.rows(_CURSOR, (gig.id, mailbox.id))
    key, since = (START, as_of) if key is None else (key, since)
    late = [key, *free_params, *wanted_params, count + 1]
    ahead = [gig.id, key, *free_params, *wanted_params, count]
    params = (gig.id, since, *reserved, *late, *ahead)
    found = db.rows(_NEXT.format(**parts), params)
    numbers = [row[2] for row in found[:count]]
    if condition:
        # What the filter passed over is still to be found without it.
        return Candidates(numbers)
    moved = _cursor(found, count, key, START if end is None else end)
    return Candidates(numbers, None if moved is None else (moved, as_of))


def _cursor(found: list[tuple[Any, ...]], count: int, key: int, end: int) -> int | None:
    """The cursor's key once the first `count` are taken; None: it stays, with its position.

    It stops one short of the last key that was taken: others may have the same.
    """
    if len(found) < count:
        return max(key, end)
    taken, left = found[:count], found[count:]
    last = taken[-1]
    if left and left[0][0] == LATE:
        # More were late than fit. Back to the last that was taken, however far behind it is.
        return last[1] - 1 if last[0] == LATE else None
    return last[1] - 1 if last[0] == AHEAD else key


def keep_cursor(mailbox: Mailbox, cursor: tuple[int, int] | None) -> None:
    """Remember how far this mailbox has looked, once what was found is its; in `db.write`."""
    if cursor is not None:
        key, as_of = cursor
        Mailbox.update(cursor_key=key, cursor_as_of=as_of).where(Mailbox.id == mailbox.id).execute()
