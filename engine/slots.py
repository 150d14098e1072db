"""Scheduled slots: each of a job is rung once, whoever rings (architecture 7)."""

from __future__ import annotations

from engine import clock
from engine.db import db
from engine.models.meta import JobRun


def last(job: str) -> int | None:
    """The newest slot that was rung, or None."""
    with db.reading():
        row = JobRun.select().where(JobRun.job == job).order_by(JobRun.slot.desc()).first()
    return None if row is None else int(row.slot)


def claim(job: str, slot: int) -> bool:
    """True for exactly one of those who ring this slot. Older slots are forgotten with it."""

    def write() -> bool:
        newest = JobRun.select().where(JobRun.job == job, JobRun.slot >= slot).exists()
        if newest:
            return False
        made = JobRun.insert(job=job, slot=slot, rung_at=clock.now()).on_conflict_ignore()
        rows = list(made.returning(JobRun.slot).execute())
        JobRun.delete().where(JobRun.job == job, JobRun.slot < slot).execute()
        return bool(rows)

    return db.write(write)
