"""Scheduled slots: each of a job is rung once, whoever rings (architecture 7)."""

from __future__ import annotations

from engine import clock
from engine.db import db
from engine.models.meta import JobRun

KEPT_MS = clock.DAY_SECONDS * clock.SECOND


def last(job: str) -> int | None:
    """The newest slot that was rung, or None."""
    with db.reading():
        row = JobRun.select().where(JobRun.job == job).order_by(JobRun.slot.desc()).first()
    return None if row is None else int(row.slot)


def claim(job: str, slot: int) -> bool:
    """True for exactly one of those who ring this slot. What is older than a day is forgotten."""

    def write() -> bool:
        newest = JobRun.select().where(JobRun.job == job, JobRun.slot >= slot).exists()
        if newest:
            return False
        made = JobRun.insert(job=job, slot=slot, rung_at=clock.now()).on_conflict_ignore()
        rows = list(made.returning(JobRun.slot).execute())
        JobRun.delete().where(JobRun.job == job, JobRun.rung_at < clock.now() - KEPT_MS).execute()
        return bool(rows)

    return db.write(write)
