"""The delivery loop: sends what is due, each endpoint in a lane of its own (W-05).

One thread, one event loop, one HTTP session; the database is asked in a few threads beside it.
An endpoint has at most `per_endpoint` tries under way, one once its last try failed, and none for
a while once several failed in a row: its circuit is open, and closes with a probe that succeeds.
Rows, leases and times are the business of `engine/deliveries.py`; what is in memory here may be
lost at any moment.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

import structlog

from engine import clock, deliveries
from engine.rules.addresses import Allow
from jobs import guard
from jobs.post import Sender

T = TypeVar("T")

log = structlog.get_logger(__name__)

DATABASE_THREADS = 4
# Ids in memory; what is due beyond them waits in the database.
MOST_IDS = 5000
# Failures in a row that open an endpoint's circuit, and how long nothing is sent to it then.
CIRCUIT_FAILURES = 5
CIRCUIT_MS = 30_000
REMEMBER_FAILURES_MS = 3_600_000
# Outcomes are worth a few tries to store: one that is lost means that the event is sent again.
STORE_WAITS_SECONDS = (0.2, 1.0, 3.0, 6.0)


@dataclass
class Lane:
    """One endpoint's tries. Times are the engine's, so that a clock moved forward moves these."""

    endpoint_id: str
    waiting: deque[str] = field(default_factory=deque)
    running: set[str] = field(default_factory=set)
    failures: int = 0
    failed_at: int = 0

    def is_busy(self, now: int) -> bool:
        """It has ids in hand, or its circuit is open."""
        circuit_is_open = self.failures >= CIRCUIT_FAILURES and now < self.failed_at + CIRCUIT_MS
        return bool(self.waiting) or circuit_is_open

    def is_forgettable(self, now: int) -> bool:
        failing = self.failures > 0 and now < self.failed_at + REMEMBER_FAILURES_MS
        return not (self.waiting or self.running or failing)

    def allowance(self, per_endpoint: int) -> int:
        # One that has just failed is likely to hold whatever is sent to it until the time is up.
        return per_endpoint if self.failures == 0 else 1

    def note(self, succeeded: bool, now: int) -> None:
        if succeeded:
            self.failures = 0
            return
        self.failures += 1
        self.failed_at = now
        if self.failures >= CIRCUIT_FAILURES:
            self.waiting.clear()


class DeliveryLoop:
    """Delivers webhooks from a thread of its own until it is stopped.

    `ports` and `allow` say where to (W-04), `header_prefix` names the headers (W-03). A receiver
    has `timeout_seconds` to answer; without being woken the loop looks every `idle_seconds`.
    """

    def __init__(
        self,
        *,
        header_prefix: str = "X-Muster",
        ports: frozenset[int] = frozenset({80, 443}),
        allow: Allow = "public",
        timeout_seconds: float = 15,
        per_endpoint: int = 4,
        total: int = 100,
        idle_seconds: float = 1,
        lookups: guard.Lookups | None = None,
    ) -> None:
        self._sender = Sender(
            guard.Policy(ports, allow),
            header_prefix=header_prefix,
            timeout_seconds=timeout_seconds,
            lookups=lookups,
        )
        self._per_endpoint = per_endpoint
        self._total = total
        self._idle_seconds = idle_seconds
        self._lanes: dict[str, Lane] = {}
        self._tries: set[asyncio.Task[None]] = set()
        self._stopping = False
        self._grace_seconds = 0.0
        self._rung = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    # -- from other threads -----------------------------------------------------------------

    def start(self) -> None:
        """Begin; once for each instance."""
        if self._thread is not None:
            raise RuntimeError("the delivery loop was started before")
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._main(ready)), name="deliveries", daemon=True
        )
        self._thread.start()
        ready.wait()

    def wake(self) -> None:
        """Something may be due now. Cheap; rings that come together count as one."""
        if self._rung or self._loop is None:
            return
        self._rung = True
        try:
            self._loop.call_soon_threadsafe(self._bell.set)
        except RuntimeError:
            # It has stopped; the next process finds the row.
            return

    def stop(self, timeout: float = 20) -> None:
        """Start no more tries, give those under way `timeout` seconds, and leave the rest.

        A try that is left is made again when its lease is over, with the same id.
        """
        if self._thread is None:
            return
        self._grace_seconds = timeout
        self._stopping = True
        self._rung = False
        self.wake()
        self._thread.join(timeout + 5)

    # -- on the loop's thread ---------------------------------------------------------------

    async def _main(self, ready: threading.Event) -> None:
        self._bell = asyncio.Event()
        self._slots = asyncio.Semaphore(self._total)
        self._loop = asyncio.get_running_loop()
        ready.set()
        with ThreadPoolExecutor(DATABASE_THREADS, thread_name_prefix="deliveries-db") as threads:
            self._threads = threads
            async with self._sender:
                while not self._stopping:
                    await self._look()
                    await self._nap()
                await self._wind_down()

    async def _nap(self) -> None:
        try:
            async with asyncio.timeout(self._idle_seconds):
                await self._bell.wait()
        except TimeoutError:
            pass

    async def _look(self) -> None:
        """Fill the lanes with what is due until nothing new is found."""
        # Reset before looking: what is written from now on rings again.
        self._bell.clear()
        self._rung = False
        seen: set[str] = set()
        found = 1
        try:
            while found and not self._stopping and self._held() < MOST_IDS:
                now = await self._in_database(clock.now)
                lanes = [lane for lane in self._lanes.values() if not lane.is_forgettable(now)]
                self._lanes = {lane.endpoint_id: lane for lane in lanes}
                busy = [lane.endpoint_id for lane in lanes if lane.is_busy(now)]
                due = await self._in_database(partial(deliveries.due, but_not=busy))
                found = sum(self._add(endpoint_id, ids, seen) for endpoint_id, ids in due.items())
        except Exception as error:
            # A database that is away for a moment: the rows are still there afterwards.
            log.warning("deliveries_unreadable", error=_brief(error))

    def _held(self) -> int:
        return sum(len(lane.waiting) + len(lane.running) for lane in self._lanes.values())

    def _add(self, endpoint_id: str, ids: list[str], seen: set[str]) -> int:
        """Give a lane what it does not have; answers how many. Nothing comes twice in one look."""
        lane = self._lanes.setdefault(endpoint_id, Lane(endpoint_id))
        # Between being given out here and being leased in the database a row still looks due.
        known = seen.union(lane.running, lane.waiting)
        new = [one for one in ids if one not in known]
        seen.update(new)
        lane.waiting.extend(new)
        self._feed(lane)
        return len(new)

    def _feed(self, lane: Lane) -> None:
        while (
            lane.waiting
            and not self._stopping
            and len(lane.running) < lane.allowance(self._per_endpoint)
        ):
            delivery_id = lane.waiting.popleft()
            lane.running.add(delivery_id)
            task = asyncio.create_task(self._try(lane, delivery_id))
            self._tries.add(task)
            task.add_done_callback(self._tries.discard)

    async def _try(self, lane: Lane, delivery_id: str) -> None:
        did_something = False
        try:
            async with self._slots:
                if not self._stopping:
                    did_something = await self._deliver(lane, delivery_id)
        except Exception as error:
            # Not the endpoint's fault. The row is due again when its lease is over.
            log.warning("delivery_broke_off", delivery=delivery_id, error=_brief(error))
        finally:
            lane.running.discard(delivery_id)
            self._feed(lane)
            # There may be more of this endpoint in the database than came at once. After a try that
            # did nothing the next regular look is soon enough, or it might go round and round.
            if did_something and not lane.waiting:
                self._bell.set()

    async def _deliver(self, lane: Lane, delivery_id: str) -> bool:
        work = await self._in_database(partial(deliveries.start, delivery_id))
        if work is None:
            return False
        outcome = await self._sender.post(work)
        now = await self._store(work, outcome)
        lane.note(outcome.delivered, now)
        log.info(
            "delivery_tried",
            delivery=delivery_id,
            delivery_event=work.event,
            endpoint=lane.endpoint_id,
            host=urlsplit(work.target.url).hostname,
            attempt=work.attempt,
            status=outcome.status_code,
            error=outcome.error,
            latency_ms=outcome.latency_ms,
        )
        return True

    async def _store(self, work: deliveries.Work, outcome: deliveries.Outcome) -> int:
        def store() -> int:
            deliveries.finish(work, outcome)
            return clock.now()

        for wait in STORE_WAITS_SECONDS:
            try:
                return await self._in_database(store)
            except Exception as error:
                log.warning("outcome_unstored", delivery=work.delivery_id, error=_brief(error))
                await asyncio.sleep(wait)
        return await self._in_database(store)

    async def _in_database(self, fn: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, fn)

    async def _wind_down(self) -> None:
        if not self._tries:
            return
        _, late = await asyncio.wait(self._tries, timeout=self._grace_seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)


def _brief(error: Exception) -> str:
    """For the log. No traceback: some renderers show local variables, secrets among them."""
    return f"{type(error).__name__}: {error}"[:300]
