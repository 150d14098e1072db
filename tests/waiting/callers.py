"""Callers who wait: in a thread each, or on a bare socket that can be closed."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from tests.processes import Layout, Stack
from tests.world import Answer, Gig, Person

# Several API processes, and workers of their own where the broker is shared.
LAYOUTS = {"sqlite": Layout("sqlite", serve=2), "postgres": Layout("postgres", serve=2)}
# Until a request that was sent is parked; a test holds as well if one takes longer.
PARKED_SECONDS = 0.5
# What "as soon as" may take on a machine that does other things too.
SOON_SECONDS = 3.0


class Waiting(threading.Thread):
    """A request that is under way."""

    def __init__(self, send: Callable[[], Answer]) -> None:
        super().__init__(daemon=True)
        self._send = send
        self._answer: Answer | None = None
        self._began = time.monotonic()
        self.seconds = 0.0
        self.start()

    def run(self) -> None:
        self._answer = self._send()
        self.seconds = time.monotonic() - self._began

    @property
    def answered(self) -> bool:
        return self._answer is not None

    def answer(self, seconds: float = 90) -> Answer:
        self.join(seconds)
        assert self._answer is not None, "no answer"
        return self._answer


def poll(worker: Person, gig: Gig, wait: int = 0, key: str = "", **options: Any) -> Answer:
    headers = {"idempotency-key": key} if key else {}
    path = f"{gig.path}/queue/poll?wait={wait}"
    return worker.call("POST", path, {"count": options.pop("count", 1)}, headers=headers, **options)


def waiting_poll(worker: Person, gig: Gig, wait: int, **options: Any) -> Waiting:
    return Waiting(lambda: poll(worker, gig, wait, **options))


def parked() -> None:
    time.sleep(PARKED_SECONDS)


def taken(answer: Answer) -> list[str]:
    return [task["id"] for task in answer.ok()["tasks"]]


def send_and_leave(
    stack: Stack, worker: Person, path: str, body: bytes, via: int, stay: float, **headers: str
) -> None:
    """Send a request and close the socket after so many seconds, without reading the answer."""
    port = stack.serves[via].port
    head = {"host": "muster", "x-api-key": worker.key, "content-type": "application/json"}
    head |= {"content-length": str(len(body)), **headers}
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    with socket.create_connection(("127.0.0.1", port), timeout=30) as wire:
        wire.sendall(f"POST /api{path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        time.sleep(stay)


@dataclass(frozen=True)
class Told:
    """One event of a stream."""

    id: int
    type: str


class Stream:
    """A gig's events as they come; `with` it, and read in another thread or until `events`."""

    def __init__(
        self, stack: Stack, person: Person, gig: Gig, via: int = 0, last: int | str | None = None
    ) -> None:
        port = stack.serves[via % len(stack.serves)].port
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"x-api-key": person.key, "accept": "text/event-stream"}
        if last is not None:
            headers["last-event-id"] = str(last)
        self._connection.request("GET", f"/api{gig.path}/events", headers=headers)
        self.answer = self._connection.getresponse()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()
        self.answer.close()

    def lines(self) -> Iterator[str]:
        """Until the server ends the stream, or dies."""
        while True:
            try:
                line = self.answer.readline()
            except (OSError, http.client.HTTPException, AttributeError, ValueError):
                return
            if not line:
                return
            yield line.decode().rstrip("\n")

    def told(self) -> Iterator[Told]:
        found: dict[str, str] = {}
        for line in self.lines():
            name, _, value = line.partition(": ")
            found[name] = value
            if not line and "id" in found:
                yield Told(int(found["id"]), found["event"])
                found = {}

    def take(self, count: int) -> list[Told]:
        """The next so many events."""
        found: list[Told] = []
        for one in self.told():
            found.append(one)
            if len(found) == count:
                return found
        raise AssertionError(f"the stream ended after {found}")
