"""The scheduler rings and does nothing else (architecture 7).

APScheduler ticks once a second. Whoever holds the lease compares each job's newest slot with the
one clock and rings for a new one, once, however many schedulers there are. A slot missed while all
were down is rung at the next start, and a clock that was moved forward rings every job.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import structlog
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from engine import clock, commands, escrows, leases, reconcile, slots
from engine.settings import Settings

LEASE = "scheduler"
LEASE_SECONDS = 5
TICK_SECONDS = 1
FORGET_SECONDS = 3600
FILES_SECONDS = 600

log = structlog.get_logger()


class Scheduler:
    def __init__(self, settings: Settings, holder: str, ring: Callable[[str], None]) -> None:
        self._holder = holder
        self._ring = ring
        self._every = {
            "sweep": settings.SWEEP_SECONDS,
            "review": settings.REVIEW_SECONDS,
            "reconcile": settings.RECONCILE_SECONDS,
            "forget": FORGET_SECONDS,
            "files": FILES_SECONDS,
        }
        self._follow_seconds = settings.FOLLOW_SECONDS
        self._settlement = CronTrigger.from_crontab(settings.SETTLEMENT_CRON, timezone=UTC)
        self._ticks = 0
        self._background = BackgroundScheduler(timezone=UTC)
        self._background.add_job(
            self._tick, "interval", seconds=TICK_SECONDS, max_instances=1, coalesce=True
        )

    def start(self) -> None:
        self._ring("boot")
        self._background.start()

    def stop(self) -> None:
        self._background.shutdown(wait=True)
        leases.release(LEASE, self._holder)

    def _tick(self) -> None:
        try:
            self.tick()
        except Exception as error:
            # A database that is away for a moment must not end the bell.
            log.warning("scheduler.tick_failed", error=str(error))

    def tick(self) -> None:
        """Ring for every slot that has begun, if this scheduler leads."""
        if not leases.hold(LEASE, self._holder, LEASE_SECONDS):
            return
        now = clock.now()
        for job, seconds in self._every.items():
            self._ring_slot(job, now // (seconds * clock.SECOND))
        self._ring_settlement(now)
        self._ticks += 1
        if self._ticks % self._follow_seconds == 0 and _is_under_way():
            self._ring("follow")

    def _ring_slot(self, job: str, slot: int) -> None:
        newest = slots.last(job)
        if (newest is None or newest < slot) and slots.claim(job, slot):
            self._ring(job)

    def _ring_settlement(self, now: int) -> None:
        at = datetime.fromtimestamp(now / clock.SECOND, UTC)
        newest = slots.last("settle")
        # Without a past, yesterday's slot counts as rung: a new install owes nothing yet.
        since = at if newest is None else datetime.fromtimestamp(newest, UTC)
        due = _latest_slot(self._settlement, since, at)
        if newest is None and due is None:
            slots.claim("settle", int(at.timestamp()))
        elif due is not None and slots.claim("settle", int(due.timestamp())):
            self._ring("settle")


def _is_under_way() -> bool:
    """Is there something of ours on the chain, or that somebody is about to send to it?"""
    return commands.has_waiting() or not reconcile.idle() or escrows.may_arrive()


def _latest_slot(trigger: CronTrigger, after: datetime, until: datetime) -> datetime | None:
    """The newest cron time in (after, until]; many missed ones are one."""
    found = None
    # The rarest cron time comes once a year; there is no need to walk through a longer gap.
    begin = max(after, until - timedelta(days=367)) + timedelta(microseconds=1)
    at = trigger.get_next_fire_time(None, begin)
    while at is not None and at <= until:
        found = at
        at = trigger.get_next_fire_time(at, at + timedelta(microseconds=1))
    return found
