"""Where a worker would find work by a poll now (M-03).

An answer is exact: it looks at what a poll looks at, and takes nothing. However many places a page
has, it costs a few statements: two for the limits, and one for each way of choosing tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from engine import allowances, clock, gigs
from engine.allowances import Limits
from engine.db import db
from engine.mailboxes import Place
from engine.models.gig import Gig
from engine.modes import ask
from engine.plans import Selection

# By the primary key (mailbox_id, task_number).
_NOT_EXCLUDED = """
NOT EXISTS (
    SELECT 1 FROM exclusion
    WHERE exclusion.mailbox_id = mailbox.id AND exclusion.task_number = entry.task_number
    LIMIT 1 OFFSET 0)"""
# No copy for this account yet, and not as many as there may be; both by primary keys.
_NO_COPY = """
NOT EXISTS (
    SELECT 1 FROM copy_holder
    WHERE copy_holder.account_id = mailbox.account_id
      AND copy_holder.template_number = entry.task_number
    LIMIT 1 OFFSET 0)
AND (gig.max_claims_per_task IS NULL OR EXISTS (
    SELECT 1 FROM task AS template
    WHERE template.number = entry.task_number AND template.copies < gig.max_claims_per_task
    LIMIT 1 OFFSET 0))"""
_ANY = "TRUE"
# Below every key, and of 64 bits in the eyes of both databases, so that the index is used.
_FIRST = -(2**63) + 1
# What an ordered queue has for a worker lies ahead of his cursor, or came in behind it since he
# looked (`engine/claims.py`).
_AHEAD = f"entry.sort_key > coalesce(mailbox.cursor_key, {_FIRST})"

# Each part is read by an index, in its order, to the first entry that suits. OFFSET 0 keeps
# PostgreSQL from building a table of all entries instead.
_FINDS = """
SELECT mailbox.id FROM mailbox JOIN gig ON gig.id = mailbox.gig_id
WHERE mailbox.id IN ({marks}) AND (
    EXISTS (
        SELECT 1 FROM queue_entry AS entry
        WHERE entry.shelf = mailbox.id AND {kept}
        ORDER BY entry.sort_key, entry.task_number LIMIT 1 OFFSET 0)
    OR EXISTS (
        SELECT 1 FROM queue_entry AS entry
        WHERE entry.shelf = mailbox.gig_id AND {ahead} AND {free}
        ORDER BY entry.sort_key, entry.task_number LIMIT 1 OFFSET 0)
    OR EXISTS (
        SELECT 1 FROM queue_entry AS entry
        WHERE entry.shelf = mailbox.gig_id AND entry.enqueued >= mailbox.cursor_as_of AND {free}
        ORDER BY entry.enqueued LIMIT 1 OFFSET 0))
"""
_OPEN = """
SELECT mailbox_id, count(*) FROM task
WHERE mailbox_id IN ({marks}) AND status = 'claimed' GROUP BY mailbox_id
"""
# Each mailbox has a window of its own.
_USED = """
WITH seen (mailbox_id, since) AS (VALUES {pairs})
SELECT seen.mailbox_id, count(*) FROM seen
JOIN take ON take.mailbox_id = seen.mailbox_id AND take.at > seen.since AND take.kind <> 'assigned'
GROUP BY seen.mailbox_id
"""


def polls(gig: Gig) -> bool:
    """Does the gig's mode hand out work by polls?"""
    return _selection(gig) is not None


def _selection(gig: Gig) -> Selection | None:
    """How a poll of the gig chooses; None where it has no polls."""
    mode = ask(gig.distribution)
    if "queue.poll" in mode.refuses():
        return None
    selection = mode.select(gigs.facts(gig))
    return None if selection.shelf == "none" else selection


def finds(places: Sequence[Place]) -> dict[str, bool | None]:
    """By mailbox id: would a poll without a filter give it a task now?

    None where the gig's mode has no polls. The mailboxes are active.
    """
    chosen = {place.mailbox.id: _selection(place.gig) for place in places}
    with db.reading():
        able = within_limits(
            [one for one in places if chosen[one.mailbox.id] and one.gig.status == "active"]
        )
        # What makes one statement differ from another.
        groups: dict[tuple[bool, bool], list[str]] = defaultdict(list)
        for place in able:
            selection = chosen[place.mailbox.id]
            assert selection is not None
            groups[selection.how == "copy", selection.order == "random"].append(place.mailbox.id)
        found = {one for way, ids in groups.items() for one in _finding(*way, ids)}
    return {
        mailbox_id: None if selection is None else mailbox_id in found
        for mailbox_id, selection in chosen.items()
    }


def _finding(copies: bool, at_random: bool, ids: list[str]) -> set[str]:
    free = f"{_NOT_EXCLUDED} AND {_NO_COPY}" if copies else _NOT_EXCLUDED
    sql = _FINDS.format(
        marks=_marks(ids),
        # Whoever is named for a task is offered it, whatever he has declined before.
        kept=free if copies else _ANY,
        ahead=_ANY if at_random else _AHEAD,
        free=free,
    )
    return {row[0] for row in db.rows(sql, ids)}


def within_limits(places: list[Place]) -> list[Place]:
    """Those that may take one more (M-05)."""
    may = may_take({one.mailbox.id: allowances.limits(one.gig, one.mailbox) for one in places})
    return [place for place in places if place.mailbox.id in may]


def may_take(limits: Mapping[str, Limits]) -> set[str]:
    """The same for mailboxes by their ids, each with its limits."""
    now = clock.now()
    capped = [one for one, limit in limits.items() if limit.max_open_tasks is not None]
    rated = [one for one, limit in limits.items() if limit.count is not None]
    held: dict[str, int] = {}
    used: dict[str, int] = {}
    if capped:
        held = dict(db.rows(_OPEN.format(marks=_marks(capped)), capped))
    if rated:
        pairs = ", ".join("(?, ?)" for _ in rated)
        since = [value for one in rated for value in (one, limits[one].since(now))]
        used = dict(db.rows(_USED.format(pairs=pairs), since))

    def may(mailbox_id: str) -> bool:
        limit = limits[mailbox_id]
        most_open, most_taken = limit.max_open_tasks, limit.count
        return (most_open is None or held.get(mailbox_id, 0) < most_open) and (
            most_taken is None or used.get(mailbox_id, 0) < most_taken
        )

    return {mailbox_id for mailbox_id in limits if may(mailbox_id)}


def _marks(ids: list[str]) -> str:
    return ", ".join("?" for _ in ids)
