"""Brings a database to the present schema; the numbered files are in `engine/migrations`."""

from __future__ import annotations

from pathlib import Path

from playhouse.migrations import Runner

from engine import events
from engine.db import db

FOLDER = Path(__file__).parent / "migrations"
# One migrator at a time; any number may be started together.
_LOCK = 7_281_934_650


def _runner() -> Runner:
    return Runner(db.database, str(FOLDER))


def up(target: str | None = None) -> list[str]:
    """Apply what is pending, or no more than up to `target`; answers the names.

    Safe to run at once from several processes.
    """
    with db.reading():
        if db.is_postgres:
            db.rows("SELECT pg_advisory_lock(?)", (_LOCK,))
            try:
                applied: list[str] = _runner().up(target)
            finally:
                db.rows("SELECT pg_advisory_unlock(?)", (_LOCK,))
        else:
            with db.database.atomic("EXCLUSIVE"):
                applied = _runner().up(target)
    if not pending():
        events.keep_growing()
    return applied


def pending() -> list[str]:
    """Migrations that the database still lacks."""
    with db.reading():
        return [row.name for row in _runner().status() if row.path and not row.applied]
