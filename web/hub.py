"""Who waits for what, in one server process.

A topic is told from any thread; waiters are coroutines of one event loop. Most topics wake all who
wait. A queue's topic wakes a few, in the order in which they came; each of them, once it was asked
again, passes on to the next, unless it saw that nothing is left. So a task that arrives does not
wake a thousand pollers, and one whom it does not suit does not keep it from the others.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any

QUEUE_PREFIX = "queue:"
EVERYTHING = "*"
# Waiters of one queue that are asked again at the same time.
ABREAST = 4
# Topics whose last position is remembered, for those who are just about to wait.
REMEMBERED = 10_000


class Waiter:
    """One parked request. `since` is the position up to which it has seen its topics."""

    def __init__(self, since: int) -> None:
        self.since = since
        self.woken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def wake(self, told: bool) -> bool:
        if self.woken.done():
            return False
        self.woken.set_result(told)
        return True


class Hub:
    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._position = 0
        self._last: OrderedDict[str, int] = OrderedDict()
        self._forgotten = 0
        self._waiting: dict[str, OrderedDict[Waiter, None]] = {}
        self._closed = False

    def open(self) -> None:
        """Bind to the running loop."""
        self._loop = asyncio.get_running_loop()

    @property
    def position(self) -> int:
        """Grows with every topic told; compare to know whether something was missed."""
        return self._position

    @property
    def closed(self) -> bool:
        return self._closed

    @property
    def waiting(self) -> int:
        return sum(len(waiters) for waiters in self._waiting.values())

    def tell(self, topic: str) -> None:
        """Something happened on a topic (`*`: perhaps on any). From any thread; never blocks."""
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._told, topic)

    def stop(self) -> None:
        """Let everybody go with the answer that he has; nobody waits any more. From any thread."""
        self._closed = True
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        for waiters in self._waiting.values():
            for waiter in waiters:
                waiter.wake(False)

    async def wait(
        self, topics: tuple[str, ...], since: int, seconds: float, gone: asyncio.Event
    ) -> bool:
        """True when a topic was told after `since`. False when there is no use in waiting on: the
        time is up, the caller has gone, or the server closes."""
        if self._closed or seconds <= 0:
            return False
        if any(self._last_of(topic) > since for topic in topics):
            return True
        waiter = Waiter(since)
        for topic in topics:
            self._waiting.setdefault(topic, OrderedDict())[waiter] = None
        hung_up = asyncio.create_task(gone.wait())
        try:
            either: set[asyncio.Future[Any]] = {waiter.woken, hung_up}
            await asyncio.wait(either, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            hung_up.cancel()
            for topic in topics:
                self._leave(topic, waiter)
        told = waiter.woken.done() and waiter.woken.result()
        if told and gone.is_set():
            self.pass_on(topics)
            return False
        return told

    def pass_on(self, topics: tuple[str, ...]) -> None:
        """One who was woken has been asked and there may be more: wake the next of each queue."""
        for topic in topics:
            if topic.startswith(QUEUE_PREFIX):
                self._wake(topic, 1)

    def _last_of(self, topic: str) -> int:
        return max(self._last.get(topic, 0), self._last.get(EVERYTHING, 0), self._forgotten)

    def _leave(self, topic: str, waiter: Waiter) -> None:
        waiters = self._waiting.get(topic)
        if waiters is not None:
            waiters.pop(waiter, None)
            if not waiters:
                del self._waiting[topic]

    def _told(self, topic: str) -> None:
        self._position += 1
        self._last[topic] = self._position
        self._last.move_to_end(topic)
        if len(self._last) > REMEMBERED:
            _, self._forgotten = self._last.popitem(last=False)
        for each in list(self._waiting) if topic == EVERYTHING else [topic]:
            queue = each.startswith(QUEUE_PREFIX)
            self._wake(each, ABREAST if queue else len(self._waiting.get(each, ())))

    def _wake(self, topic: str, count: int) -> None:
        """Wake up to `count` who have not seen the topic's last position, longest waiting first.

        Who has been asked meanwhile stands behind the others, so the search ends at him.
        """
        for waiter in list(self._waiting.get(topic, ())):
            if count == 0 or waiter.since >= self._last_of(topic):
                return
            if waiter.wake(True):
                count -= 1
