"""The delivery loop: sends what is due, each endpoint in a lane of its own (W-05).

One thread, one event loop, one HTTP session; the database is asked in a few threads beside it.
An endpoint has at most `per_endpoint` tries under way, one once its last try failed, and none for
a while once several failed in a row: its circuit is open, and closes with a probe that succeeds.
No two processes serve one endpoint: whoever does holds the lease `endpoint:<id>`, and begins no try
that might outlast it. Rows and times are the business of `engine/deliveries.py`; what is in memory
here may be lost at any moment.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar
from urllib.parse import urlsplit

import structlog

from engine import clock, deliveries, endpoints, leases
from engine.ids import new_token
from engine.rules.addresses import Allow
from jobs import guard
from jobs.lanes import Lane
from jobs.post import Sender

T = TypeVar("T")

log = structlog.get_logger(__name__)

DATABASE_THREADS = 4
# Ids in memory; what is due beyond them waits in the database.
MOST_IDS = 5000
# An endpoint's lease, in seconds beyond what one try may take: how long it is taken for, when it is
# renewed, and with how much left the last try begins.
LEASE_SECONDS, RENEW_SECONDS, LAST_TRY_SECONDS = 30, 20, 10
LEASE_PREFIX = "endpoint:"
# Outcomes are worth a few tries to store: one that is lost means that the event is sent again.
STORE_WAITS_SECONDS = (0.2, 1.0, 3.0, 6.0)


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
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{new_token(8)}"
        self._timeout_seconds = timeout_seconds
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
                await self._give_back()

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
                due = await self._due()
                await self._lease(due)
                found = sum(self._add(endpoint_id, ids, seen) for endpoint_id, ids in due.items())
        except Exception as error:
            # A database that is away for a moment: the rows are still there afterwards.
            log.warning("deliveries_unreadable", error=_brief(error))

    async def _due(self) -> dict[str, list[str]]:
        """What is due to endpoints that are not busy here and that nobody else serves."""
        now = await self._in_database(clock.now)
        lanes = [lane for lane in self._lanes.values() if not lane.is_forgettable(now)]
        self._lanes = {lane.endpoint_id: lane for lane in lanes}
        shut = {lane.endpoint_id: lane for lane in lanes if lane.is_shut(now)}
        if shut:
            enabled = await self._in_database(partial(endpoints.enabled_at, list(shut)))
            for endpoint_id, at in enabled.items():
                if at >= shut[endpoint_id].failed_at:
                    shut[endpoint_id].reopen()
        busy = [lane.endpoint_id for lane in lanes if lane.is_busy(now)]
        others = partial(leases.held_by_others, LEASE_PREFIX, self._holder)
        foreign = [name.removeprefix(LEASE_PREFIX) for name in await self._in_database(others)]
        return await self._in_database(partial(deliveries.due, but_not=[*busy, *foreign]))

    async def _lease(self, due: dict[str, list[str]]) -> None:
        """Take or renew the leases of what is to be sent; drop what somebody else serves now."""
        working = {one.endpoint_id for one in self._lanes.values() if one.waiting or one.running}
        lanes = [self._lanes.setdefault(one, Lane(one)) for one in working.union(due)]
        short = [one for one in lanes if not self._is_ours(one, RENEW_SECONDS)]
        # Counted from before the database was asked, so that here it is over first.
        until = time.monotonic() + self._timeout_seconds + LEASE_SECONDS
        seconds = int(self._timeout_seconds) + LEASE_SECONDS + 1
        names = [LEASE_PREFIX + one.endpoint_id for one in short]
        ours = await self._in_database(partial(leases.hold_each, names, self._holder, seconds))
        for lane in short:
            if LEASE_PREFIX + lane.endpoint_id in ours:
                lane.leased_until = until
                self._feed(lane)
            else:
                lane.waiting.clear()
                due.pop(lane.endpoint_id, None)

    def _is_ours(self, lane: Lane, spare_seconds: float) -> bool:
        """Its lease outlasts a try that begins now, with some time to spare."""
        return time.monotonic() + self._timeout_seconds + spare_seconds < lane.leased_until

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
            and self._is_ours(lane, LAST_TRY_SECONDS)
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
                if not self._stopping and self._is_ours(lane, LAST_TRY_SECONDS):
                    did_something = await self._deliver(lane, delivery_id)
        except Exception as error:
            # Not the endpoint's fault. The row is due again when its lease is over.
            log.warning("delivery_broke_off", delivery=delivery_id, error=_brief(error))
        finally:
            lane.running.discard(delivery_id)
            self._feed(lane)
            # There may be more of this endpoint in the database than came at once, and what still
            # waits here may wait for its lease. After a try that did nothing the next regular look
            # is soon enough, or it might go round and round.
            if did_something and not (lane.waiting and self._is_ours(lane, LAST_TRY_SECONDS)):
                self._bell.set()

    async def _deliver(self, lane: Lane, delivery_id: str) -> bool:
        work = await self._in_database(partial(deliveries.start, delivery_id))
        if work is None:
            return False
        outcome = await self._sender.post(work)
        now = await self._store(work, outcome)
        lane.note(outcome, now)
        log.info(
            "delivery_tried",
            delivery=delivery_id,
            delivery_event=work.event,
            endpoint=lane.endpoint_id,
            host=None if work.target.write_only else urlsplit(work.target.url).hostname,
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

    async def _give_back(self) -> None:
        """Let others serve our endpoints at once."""
        try:
            await self._in_database(partial(leases.release_all, self._holder))
        except Exception as error:
            log.warning("leases_kept", error=_brief(error))


def _brief(error: Exception) -> str:
    """For the log. No traceback: some renderers show local variables, secrets among them."""
    return f"{type(error).__name__}: {error}"[:300]
