"""The claiming statement of PostgreSQL, put together from named parts.

All parts see one snapshot, taken when the statement begins: after the mailbox was locked.
`OFFSET 0` keeps the planner from turning "not excluded" into a join of whole tables, and what is
sorted in an index's own order with a LIMIT is read through that index and no further.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from engine import allowances, clock, entries, events, gigs, rows
from engine.allowances import Allowance, Limits, Open, Rate
from engine.claim_requests import CLASSES, CURSOR, DRAWN, SHUFFLED, ClaimRequest, Taking
from engine.db import db
from engine.errors import Refused
from engine.models.task import Task
from engine.states import target

# Keys and positions are signed whole numbers of 64 bits; a worker without a cursor has seen none.
FIRST, LAST = -(2**63), 2**63 - 1
# So much that came in behind a cursor is looked through; past that the shelf is, from its head.
LATE_MOST = 1000
# Entries of each class that a filtered poll looks at: its own, and those that others are taking.
NEAR = 60

# Values of a statement before this one; they hold until the transaction ends.
ONE_PLAN = """set_config('plan_cache_mode', 'force_generic_plan', true),
    set_config('enable_seqscan', 'off', true)"""

# By the primary key (mailbox_id, task_number).
_FOR_HIM = """NOT EXISTS (
        SELECT 1 FROM exclusion
        WHERE exclusion.mailbox_id = :mailbox AND exclusion.task_number = entry.task_number
        OFFSET 0)"""

# What he may take (M-05). A limit that is NULL limits nothing, and is not counted for.
_ALLOWANCE = """
live AS MATERIALIZED (
    -- A cancellation finds taken what was taken before it; what waits then is its own.
    SELECT gig.price_units, gig.task_timeout_seconds, gig.max_hold_seconds FROM gig
    WHERE gig.id = :gig AND gig.status = 'active'
), standing AS MATERIALIZED (
    -- By the index of a task's holder and state, and by the primary key of `take`.
    SELECT EXISTS (SELECT 1 FROM live) AS is_open, spent.used, spent.oldest,
        CASE WHEN :most_open::bigint IS NOT NULL THEN (
            SELECT count(*) FROM task WHERE task.mailbox_id = :mailbox AND task.status = 'claimed'
        ) END AS held
    FROM (
        SELECT count(*) AS used, min(take.at) AS oldest FROM take
        WHERE :most_taken::bigint IS NOT NULL
          AND take.mailbox_id = :mailbox AND take.at > :since::bigint AND take.kind <> 'assigned'
    ) AS spent
), allowed AS MATERIALIZED (
    SELECT CASE WHEN is_open THEN greatest(0, least(
        :count::bigint, :most_open::bigint - held, :most_taken::bigint - used)) ELSE 0 END AS most
    FROM standing
)"""

# What is reserved for him, first. He was named for it, whatever he has declined before.
_RESERVED = """
reserved AS MATERIALIZED (
    -- By the primary key (shelf, sort_key, task_number).
    SELECT entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = :mailbox
    ORDER BY entry.sort_key, entry.task_number
    LIMIT (SELECT most FROM allowed)
    FOR UPDATE SKIP LOCKED
)"""

# Candidates in their order, each locked only when its turn comes and it is still to be had.
_EACH_IN_TURN = """
    SELECT entry.task_number FROM {candidates} AS candidate
    CROSS JOIN LATERAL (
        -- By the unique index on task_number.
        SELECT entry.task_number FROM queue_entry AS entry
        WHERE entry.task_number = candidate.task_number AND entry.shelf = :gig
        FOR UPDATE SKIP LOCKED
    ) AS entry
    LIMIT {most}"""
_REST = "(SELECT most FROM allowed) - (SELECT count(*) FROM reserved)"

_FROM_CURSOR = f"""
behind AS MATERIALIZED (
    -- By the index (shelf, enqueued, sort_key).
    SELECT entry.sort_key, entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = :gig AND entry.enqueued >= :as_of::bigint
      AND entry.sort_key <= :key::bigint
    ORDER BY entry.enqueued LIMIT {{late_most}} + 1
), start AS MATERIALIZED (
    SELECT count(*) > {{late_most}} AS anew FROM behind
), late AS MATERIALIZED (
    SELECT entry.sort_key, entry.task_number FROM behind AS entry
    WHERE NOT (SELECT anew FROM start) AND {_FOR_HIM}
    ORDER BY entry.sort_key, entry.task_number
), front AS MATERIALIZED (
    -- The first ahead of the cursor that is for him; by the primary key.
    SELECT entry.sort_key FROM queue_entry AS entry
    WHERE entry.shelf = :gig
      AND entry.sort_key > (SELECT CASE WHEN anew THEN {FIRST} ELSE :key::bigint END FROM start)
      AND {_FOR_HIM}
    ORDER BY entry.sort_key, entry.task_number LIMIT 1
), taken_late AS MATERIALIZED ({_EACH_IN_TURN.format(candidates="late", most=_REST)}
), taken_ahead AS MATERIALIZED (
    -- By the primary key.
    SELECT entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = :gig AND entry.sort_key >= (SELECT sort_key FROM front) AND {_FOR_HIM}
    ORDER BY entry.sort_key, entry.task_number
    LIMIT {_REST} - (SELECT count(*) FROM taken_late)
    FOR UPDATE SKIP LOCKED
), shared AS MATERIALIZED (
    SELECT task_number FROM taken_late UNION ALL SELECT task_number FROM taken_ahead
), moved AS (
    UPDATE mailbox SET cursor_as_of = {events.SETTLED}, cursor_key = coalesce(
        (SELECT sort_key - 1 FROM front),
        -- Nothing on the shelf is for him; what comes in at its end is ahead.
        greatest(:key::bigint, (
            SELECT entry.sort_key FROM queue_entry AS entry WHERE entry.shelf = :gig
            ORDER BY entry.sort_key DESC, entry.task_number DESC LIMIT 1)))
    WHERE mailbox.id = :mailbox AND NOT EXISTS (SELECT 1 FROM late)
)"""
_SEEN_FROM_CURSOR = "EXISTS (SELECT 1 FROM late) OR EXISTS (SELECT 1 FROM front)"

# Per class of a filter its first entries, by the index (shelf, facet_id, sort_key, task_number).
_OF_CLASSES = f"""
class AS MATERIALIZED ({{classes}}),
candidates AS MATERIALIZED (
    SELECT near.sort_key, near.task_number FROM class
    CROSS JOIN LATERAL (
        SELECT entry.sort_key, entry.task_number FROM queue_entry AS entry
        WHERE entry.shelf = :gig AND entry.facet_id = class.id {{prices}} AND {_FOR_HIM}
        ORDER BY entry.sort_key, entry.task_number LIMIT {NEAR}
    ) AS near
    ORDER BY near.sort_key, near.task_number
)"""
_DRAWN = """
candidates AS MATERIALIZED (
    SELECT drawn.task_number FROM unnest(:drawn::bigint[])
        WITH ORDINALITY AS drawn (task_number, place)
    ORDER BY drawn.place
)"""
# All of the shelf, by the primary key.
_SHUFFLED = f"""
candidates AS MATERIALIZED (
    SELECT entry.task_number FROM queue_entry AS entry
    WHERE entry.shelf = :gig {{condition}} AND {_FOR_HIM}
    ORDER BY random()
)"""
_SHARED = f"""
shared AS MATERIALIZED ({_EACH_IN_TURN.format(candidates="candidates", most=_REST)}
)"""
_SEEN = "EXISTS (SELECT 1 FROM candidates)"

_TAKE = """
gone AS (
    -- By the unique index on task_number.
    DELETE FROM queue_entry AS entry
    WHERE entry.task_number = ANY (ARRAY(
        SELECT task_number FROM reserved UNION ALL SELECT task_number FROM shared))
    RETURNING entry.task_number
), marked AS (
    -- By the primary key. An entry whose task does not wait any more hands out nothing; IS TRUE
    -- keeps that from being looked for by an index of states.
    UPDATE task SET status = '{claimed}', mailbox_id = :mailbox, claimed_at = :now::bigint,
        expires_at = :now::bigint + live.task_timeout_seconds * {second},
        held_timeout_seconds = live.task_timeout_seconds,
        held_most_seconds = live.max_hold_seconds,
        held_price_units = CASE WHEN task.price_tbd THEN NULL
            ELSE coalesce(task.price_units, live.price_units) END
    FROM live
    WHERE task.number = ANY (ARRAY(SELECT task_number FROM gone))
      AND (task.status = 'queued') IS TRUE
    RETURNING {columns}
), noted AS (
    INSERT INTO take (mailbox_id, at, task_number, kind)
    SELECT :mailbox, :now::bigint, marked.number, 'claim' FROM marked ON CONFLICT DO NOTHING
)
SELECT standing.is_open, standing.used, standing.oldest, standing.held, allowed.most,
    (SELECT entry.task_number FROM queue_entry AS entry WHERE entry.shelf = :mailbox
        ORDER BY entry.sort_key, entry.task_number LIMIT 1) IS NOT NULL OR {seen}, marked.*
FROM standing CROSS JOIN allowed LEFT JOIN marked ON true
"""
STANDING_COLUMNS = 6

_NAME = re.compile(r"(?<!:):([a-z]\w*)")


def take(request: ClaimRequest) -> Taking:
    """Run the statement; the mailbox is locked, and `request.mailbox` was read under that lock."""
    mailbox, now = request.mailbox, clock.now()
    limits = allowances.limits(request.gig, mailbox)
    values: dict[str, Any] = {
        "gig": request.gig.id,
        "mailbox": mailbox.id,
        "count": request.count,
        "now": now,
        "most_open": limits.max_open_tasks,
        "most_taken": limits.count,
        "since": limits.since(now),
        "key": FIRST if mailbox.cursor_key is None else mailbox.cursor_key,
        "as_of": LAST if mailbox.cursor_as_of is None else mailbox.cursor_as_of,
        "drawn": list(request.drawn),
    }
    sql, names = _statement(request, values)
    found = db.rows(sql, [values[name] for name in names])
    is_open, used, oldest, held, most, seen = found[0][:STANDING_COLUMNS]
    if most == 0:
        _refuse(request, is_open)
    taken = [
        rows.load(Task, row[STANDING_COLUMNS:])
        for row in found
        if row[STANDING_COLUMNS] is not None
    ]
    allowance = _allowance(limits, used, oldest, held).after(len(taken), now)
    return Taking(in_order(request, taken), allowance, not taken and seen)


def _statement(request: ClaimRequest, values: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The statement for what is asked; the filter's parameters are added to `values`."""
    if request.source == CLASSES:
        classes = _named(*request.wanted.classes(request.gig), "class", values)
        prices = _named(*request.wanted.prices(), "price", values)
        return _compose(CLASSES, classes, prices and f"AND {prices}", request.waits)
    if request.source == SHUFFLED:
        condition = _named(*request.wanted.condition(request.gig), "wanted", values)
        return _compose(SHUFFLED, condition and f"AND {condition}", "", request.waits)
    return _compose(request.source, str(LATE_MOST), "", request.waits)


def _named(sql: str, params: tuple[Any, ...], name: str, values: dict[str, Any]) -> str:
    """SQL with `?` as SQL with names, under which its parameters are added to `values`."""
    for number, value in enumerate(params):
        sql = sql.replace("?", f":{name}{number}", 1)
        values[f"{name}{number}"] = value
    return sql


@cache
def _compose(source: str, first: str, second: str, waits: bool) -> tuple[str, tuple[str, ...]]:
    """The whole statement with `?`, and the names of its parameters in their order."""
    shelf = {
        CURSOR: _FROM_CURSOR.format(late_most=first),
        CLASSES: f"{_OF_CLASSES.format(classes=first, prices=second)}, {_SHARED}",
        DRAWN: f"{_DRAWN}, {_SHARED}",
        SHUFFLED: f"{_SHUFFLED.format(condition=first)}, {_SHARED}",
    }[source]
    marks = _TAKE.format(
        claimed=target("task", "claim"),
        second=clock.SECOND,
        columns=rows.columns(Task, "task"),
        seen=_SEEN_FROM_CURSOR if source == CURSOR else _SEEN,
    )
    named = f"WITH {_ALLOWANCE}, {_RESERVED}, {shelf}, {marks}"
    if waits:
        named = named.replace(" SKIP LOCKED", "")
    return _NAME.sub("?", named), tuple(_NAME.findall(named))


def _refuse(request: ClaimRequest, is_open: bool) -> None:
    if not is_open:
        gigs.require_open(gigs.get(request.gig.id))
        raise Refused("try_again", "This gig was just opened again. Poll once more.")
    allowances.require(request.gig, request.mailbox)


def _allowance(limits: Limits, used: int, oldest: int | None, held: int | None) -> Allowance:
    """What was counted before the taking."""
    rate = opened = None
    if limits.count is not None:
        rate = Rate(limits.count, limits.minutes, limits.rate_source, used, oldest, oldest)
    if limits.max_open_tasks is not None:
        opened = Open(limits.max_open_tasks, limits.open_source, held or 0)
    return Allowance(rate, opened)


def in_order(request: ClaimRequest, taken: list[Task]) -> list[Task]:
    """Own reservations first, then the queue's order, or that of the draw.

    RETURNING has no order of its own.
    """
    place = {number: at for at, number in enumerate(request.drawn)}

    def key(task: Task) -> tuple[int, ...]:
        shared = task.reserved_for != request.mailbox.id
        drawn = place.get(task.number, 0)
        return (shared, drawn, entries.key_of(request.gig, task), task.number)

    return sorted(taken, key=key)
