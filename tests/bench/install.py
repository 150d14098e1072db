"""An install to be measured: its database, a gig, workers, and tasks put there in bulk."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from engine.db import db
from engine.rules.queue_order import ARRIVAL_BITS, DEFAULT_PRIORITY
from tests.services import Postgres, Sqlite
from tests.world import Gig, Person, World

PAYLOAD = '{"order": "A-1001", "text": "' + "Say whether the shop in the photo is open. " * 6 + '"}'
KINDS = ("sqlite", "postgres")
NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}


@contextmanager
def database(kind: str) -> Iterator[str]:
    """The URL of a new database on a server (or in a folder) of its own."""
    server = Sqlite() if kind == "sqlite" else Postgres()
    try:
        yield server.fresh()
    finally:
        server.stop()


@dataclass
class Bench:
    """An install in this process over a database that servers share, with a gig and workers."""

    url: str
    world: World
    gig: Gig
    workers: list[Person]

    def mailbox_id(self, number: int) -> str:
        mailbox: dict[str, Any] = self.workers[number % len(self.workers)].mailbox  # type: ignore[attr-defined]
        return str(mailbox["id"])


@contextmanager
def installed(url: str, workers: int = 0, **more: Any) -> Iterator[Bench]:
    world = World(url, "memory://", **more)
    try:
        gig = world.gig(title="Bench", price="0.50")
        yield Bench(url, world, gig, [world.worker(gig) for _ in range(workers)])
    finally:
        world.stop()


_SERIES = {
    False: "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) ",
    True: "WITH n(i) AS (SELECT generate_series(1, ?)) ",
}
_TASKS = """
INSERT INTO task (id, gig_id, status, subject, payload, content_type, tags, price_tbd, priority,
                  created_at)
{series} SELECT ? || i, ?, 'queued', 'a task', ?, 'application/json', '[]', {no}, ?, 0 FROM n
"""
_ENTRIES = f"""
INSERT INTO queue_entry (shelf, sort_key, task_number, enqueued, draw)
SELECT gig_id, (priority << {ARRIVAL_BITS}) + number, number, 0, {{draw}} FROM task
WHERE gig_id = ? AND id LIKE ?
"""
_DRAW = {True: "(random() * 4611686018427387903)::bigint", False: "abs(random() / 2)"}


def stock(gig_id: str, wanted: int) -> None:
    """Bring a gig's queue up to so many waiting tasks, and the database's statistics with it."""

    def write() -> None:
        waiting = int(db.scalar("SELECT count(*) FROM queue_entry WHERE shelf = ?", (gig_id,)))
        missing = wanted - waiting
        if missing <= 0:
            return
        prefix = f"TASK_{secrets.token_hex(6)}_"
        sql = _TASKS.format(series=_SERIES[db.is_postgres], no="false" if db.is_postgres else "0")
        db.rows(sql, (missing, prefix, gig_id, PAYLOAD, DEFAULT_PRIORITY))
        db.rows(_ENTRIES.format(draw=_DRAW[db.is_postgres]), (gig_id, prefix + "%"))

    db.write(write)
    with db.reading():
        if db.is_postgres:
            # So that every contender finds the tables alike, not the dead rows of the one before.
            db.rows("VACUUM (ANALYZE) queue_entry")
            db.rows("VACUUM (ANALYZE) task")
        else:
            db.rows("PRAGMA wal_checkpoint(TRUNCATE)")
