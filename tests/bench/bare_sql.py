"""The database limits: the same rows and statements by clients that do nothing else."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import Any

import psycopg

from engine import claims
from engine import rows as rows_of
from engine.ids import new_id
from engine.models.task import Task
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
    INSERT INTO queue_entry (gig_id, sort_key, task_number)
    SELECT %(gig)s, (1000::bigint << 29) + number, number FROM made
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
    "INSERT INTO queue_entry (gig_id, sort_key, task_number) "
    "VALUES (:gig, (1000 << 29) + :number, :number)",
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


def claim_postgres(url: str, gig_id: str, mailbox_id: str, count: int) -> Step:
    """The product's own claiming statement, prepared, and nothing else. Polls, not tasks."""
    connection = postgres(url)
    columns = rows_of.columns(Task, "task")
    sql = claims._POSTGRES.format(direction="ASC", columns=columns).replace("?", "%s")
    claimed = target("task", "claim")

    def step() -> int:
        now = time.time_ns() // 1_000_000
        values = (gig_id, mailbox_id, count, gig_id, claimed, mailbox_id, now, 500_000)
        rows = connection.execute(sql, values, prepare=True).fetchall()
        return 1 if len(rows) == count else 0

    return step


def claim_sqlite(url: str, gig_id: str, mailbox_id: str, count: int) -> Step:
    """The product's statements behind SQLite's own lock, one transaction a poll."""
    connection = sqlite(url)
    pick = claims._SQLITE_PICK.format(direction="ASC")
    claimed = target("task", "claim")

    def step() -> int:
        now = time.time_ns() // 1_000_000
        connection.execute("BEGIN IMMEDIATE")
        rows = connection.execute(pick, (gig_id, mailbox_id, count)).fetchall()
        numbers = [number for _, number in rows]
        if numbers:
            marks = ", ".join("?" for _ in numbers)
            connection.execute(claims._SQLITE_TAKE.format(marks=marks), numbers)
            mark = claims._SQLITE_MARK.format(marks=marks, columns=rows_of.columns(Task))
            values = (claimed, mailbox_id, now, 500_000, *numbers)
            connection.execute(mark, values).fetchall()
        connection.execute("COMMIT")
        return 1 if len(rows) == count else 0

    return step
