"""The database limits: the same rows and statements by clients that do nothing else."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

import psycopg

from engine import claims_postgres, claims_sqlite
from engine import rows as rows_of
from engine.claim_requests import ClaimRequest
from engine.ids import new_id
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.postgres_pool import numbered_sql
from engine.states import target
from tests.bench.install import PAYLOAD

# The rows of one submission, in one statement. `seq` is made as `engine/events.py` makes it.
_SUBMIT_POSTGRES = """
WITH made AS (
    INSERT INTO task (id, gig_id, status, subject, payload, content_type, tags, price_tbd,
                      priority, created_at)
    VALUES (%(id)s, %(gig)s, 'queued', '', %(payload)s, 'application/json', '[]', false, 1000,
            %(now)s)
    RETURNING number
), waits AS (
    INSERT INTO queue_entry (shelf, sort_key, task_number, enqueued, draw)
    SELECT %(gig)s, (1000::bigint << 29) + number, number, 0, number FROM made
), told AS (
    INSERT INTO event (seq, id, type, at, actor, gig_id, subject_kind, subject_id, data)
    VALUES (pg_current_xact_id()::text::bigint << 16, %(event)s, 'task.submitted', %(now)s,
            'webhook', %(gig)s, 'task', %(id)s, '{"status": "queued", "subject": "", "tags": []}')
)
INSERT INTO command (id, kind, status, gig_id, arguments, result, attempts, failures, run_after,
                     created_at, finished_at)
VALUES (%(command)s, 'task.submit', 'done', %(gig)s, '{}', '{"status": "queued"}', 1, 0,
        %(now)s, %(now)s, %(now)s)
"""
_SUBMIT_SQLITE = (
    "INSERT INTO task (id, gig_id, status, subject, payload, content_type, tags, price_tbd, "
    "priority, created_at) VALUES (:id, :gig, 'queued', '', :payload, 'application/json', '[]', 0, "
    "1000, :now)",
    "INSERT INTO queue_entry (shelf, sort_key, task_number, enqueued, draw) "
    "VALUES (:gig, (1000 << 29) + :number, :number, 0, :number)",
    "INSERT INTO event (seq, id, type, at, actor, gig_id, subject_kind, subject_id, data) "
    "VALUES ((SELECT max(seq) + 1 FROM event), :event, 'task.submitted', :now, 'webhook', :gig, "
    "'task', :id, '{}')",
    "INSERT INTO command (id, kind, status, gig_id, arguments, result, attempts, failures, "
    "run_after, created_at, finished_at) VALUES (:command, 'task.submit', 'done', :gig, '{}', "
    '\'{"status": "queued"}\', 1, 0, :now, :now, :now)',
)

Step = Callable[[], int]


def sqlite(url: str) -> sqlite3.Connection:
    """A connection as durable as the product's."""
    connection = sqlite3.connect(
        url.removeprefix("sqlite:///"), timeout=30, isolation_level=None, check_same_thread=False
    )
    for pragma in ("journal_mode = wal", "synchronous = full", "foreign_keys = 1"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def postgres(url: str) -> psycopg.Connection[Any]:
    return psycopg.connect(url, autocommit=True)


def _values(gig_id: str) -> dict[str, Any]:
    return {
        "id": new_id("TASK"),
        "gig": gig_id,
        "payload": PAYLOAD,
        "now": time.time_ns() // 1_000_000,
        "event": new_id("EVT"),
        "command": new_id("CMD"),
    }


def submit_postgres(url: str, gig_id: str) -> Step:
    connection = postgres(url)

    def step() -> int:
        connection.execute(_SUBMIT_POSTGRES, _values(gig_id))
        return 1

    return step


def submit_sqlite(url: str, gig_id: str, together: int) -> Step:
    """`together` submissions in each commit."""
    connection = sqlite(url)

    def step() -> int:
        connection.execute("BEGIN IMMEDIATE")
        for _ in range(together):
            values = _values(gig_id)
            values["number"] = connection.execute(_SUBMIT_SQLITE[0], values).lastrowid
            for statement in _SUBMIT_SQLITE[1:]:
                connection.execute(statement, values)
        connection.execute("COMMIT")
        return together

    return step


# What the statement reads of a worker's cursor, under the lock that it needs anyway.
_HOLD = f"""
SELECT cursor_key, cursor_as_of, {claims_postgres.ONE_PLAN} FROM mailbox WHERE id = %s
FOR NO KEY UPDATE
"""


def claim_postgres(url: str, gig_id: str, mailbox_id: str, count: int) -> Step:
    """The product's own claiming statement behind the mailbox's lock, prepared, and nothing else.

    Polls, not tasks.
    """
    connection = postgres(url)
    request = ClaimRequest(Gig(id=gig_id), Mailbox(id=mailbox_id), count)
    text, names = claims_postgres._statement(request, {})
    sql = numbered_sql(text)
    raw = psycopg.RawCursor(connection)
    fixed = {
        "gig": gig_id,
        "mailbox": mailbox_id,
        "count": count,
        "most_open": None,
        "most_taken": None,
        "since": 0,
    }

    def step() -> int:
        with connection.transaction():
            ((key, as_of, _, _),) = connection.execute(
                _HOLD, (mailbox_id,), prepare=True
            ).fetchall()
            values = {
                **fixed,
                "now": time.time_ns() // 1_000_000,
                "key": claims_postgres.FIRST if key is None else key,
                "as_of": claims_postgres.LAST if as_of is None else as_of,
            }
            params = [values[name] for name in names]
            rows = raw.execute(sql, params, prepare=True).fetchall()
        got = rows[0][claims_postgres.STANDING_COLUMNS] is not None
        return 1 if got and len(rows) == count else 0

    return step


def finish_postgres(url: str, mailbox_id: str) -> Step:
    """Mark as handed in all that a mailbox holds; answers how many tasks that were."""
    connection = postgres(url)
    sql = "UPDATE task SET status = 'submitted' WHERE mailbox_id = %s AND status = 'claimed'"

    def step() -> int:
        return connection.execute(sql, (mailbox_id,), prepare=True).rowcount

    return step


# A queue in the table of tasks itself, by an index of what waits, taken in the plainest way.
PLAIN_INDEX = "CREATE INDEX bench_plain ON task (gig_id, priority, number) WHERE status = 'queued'"
_PLAIN = """
UPDATE task SET status = 'claimed', mailbox_id = %s, claimed_at = %s,
    held_price_units = coalesce(price_units, 500000)
WHERE number IN (
    SELECT number FROM task WHERE gig_id = %s AND status = 'queued'
    ORDER BY priority, number LIMIT %s FOR UPDATE SKIP LOCKED)
RETURNING {columns}
"""


def claim_plainly(url: str, gig_id: str, mailbox_id: str, count: int) -> Step:
    """No limits, nothing declined, no place to come back to: `UPDATE … SKIP LOCKED`."""
    connection = postgres(url)
    sql = _PLAIN.format(columns=rows_of.columns(Task))

    def step() -> int:
        values = (mailbox_id, time.time_ns() // 1_000_000, gig_id, count)
        rows = connection.execute(sql, values, prepare=True).fetchall()
        return 1 if len(rows) == count else 0

    return step


def claim_sqlite(url: str, gig_id: str, mailbox_id: str, count: int) -> Step:
    """The product's statements behind SQLite's own lock, one transaction a poll."""
    connection = sqlite(url)
    execute = connection.execute
    claimed = target("task", "claim")

    def step() -> int:
        now = time.time_ns() // 1_000_000
        execute("BEGIN IMMEDIATE")
        ((key, as_of),) = execute(
            "SELECT cursor_key, cursor_as_of FROM mailbox WHERE id = ?", (mailbox_id,)
        ).fetchall()
        key = claims_postgres.FIRST if key is None else key
        execute(claims_sqlite._RESERVED, (mailbox_id, count)).fetchall()
        if as_of is not None:
            most = claims_postgres.LATE_MOST + 1
            execute(claims_sqlite._BEHIND, (mailbox_id, gig_id, as_of, key, most)).fetchall()
        rows = execute(claims_sqlite._AHEAD, (gig_id, key, mailbox_id, count)).fetchall()
        if rows:
            ((position,),) = execute("SELECT coalesce(max(seq), 0) + 1 FROM event").fetchall()
            execute(claims_sqlite._MOVE, (rows[0][0] - 1, position, mailbox_id))
            numbers = [number for _, number in rows]
            marks = ", ".join("?" for _ in numbers)
            execute(claims_sqlite._TAKE.format(marks=marks), numbers).fetchall()
            mark = claims_sqlite._MARK.format(marks=marks, columns=rows_of.columns(Task))
            execute(
                mark, (claimed, mailbox_id, now, None, None, None, 500_000, *numbers)
            ).fetchall()
            note = "INSERT INTO take (mailbox_id, at, task_number, kind) VALUES (?, ?, ?, 'claim')"
            connection.executemany(note, [(mailbox_id, now, number) for number in numbers])
        execute("COMMIT")
        return 1 if len(rows) == count else 0

    return step
