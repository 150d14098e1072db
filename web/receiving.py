"""Taking in a file that is put: it goes to the disk as it comes, and holds no thread meanwhile.

The route is asked twice: whether it wants these bytes, before any is read, and what it makes of
them once they are all there. In between the server writes them where the route said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol

from flask import request

from web import wsgi

# The WSGI environment's key under which the server hands a route what came in.
INTAKE = "muster.intake"
# A caller may be silent for so long, and take so long in all.
SILENT_SECONDS = 30
WHOLE_SECONDS = 900
PART_BYTES = 262_144
# What a caller has on the way already who is refused before he is read: so much is thrown away, for
# so long, so that he hears why.
MOST_REFUSED_BYTES = 16_000_000
REFUSED_SECONDS = 10
_PREFIX = "/api/uploads/"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Sink(Protocol):
    """Where a file's bytes go."""

    size: int

    def write(self, part: bytes) -> None: ...
    def drop(self) -> None: ...


@dataclass
class Intake:
    """A file between its two questions. `want`: where its bytes go, and how many at most."""

    sink: Sink | None = None
    most: int = 0
    ended: bool = False
    late: bool = False
    # It was too late, too much, or could not be written: its rest is still to come.
    unread: bool = False
    error: BaseException | None = None

    def want(self, sink: Sink, most: int) -> None:
        self.sink, self.most = sink, most


def is_file(scope: Scope) -> bool:
    """Does this request put a file?"""
    return scope["method"] == "PUT" and str(scope["path"]).startswith(_PREFIX)


def of_request() -> Intake:
    """The intake of the request at hand; where no server made one, its whole body is read now."""
    found: Intake | None = request.environ.get(INTAKE)
    return Intake() if found is None else found


def is_served() -> bool:
    """Does the server read this request's body by itself?"""
    return INTAKE in request.environ


def read_now(intake: Intake) -> None:
    """The same without such a server: read the body to its end."""
    sink = intake.sink
    assert sink is not None
    # It goes to the disk, so what a body in memory may have does not count.
    request.max_content_length = None
    while sink.size <= intake.most and (part := request.stream.read(PART_BYTES)):
        sink.write(part)
    intake.ended = True


def environ_of(scope: Scope, intake: Intake) -> dict[str, Any]:
    """The WSGI environment of a request whose body is still to come."""
    environ = wsgi.environ_of(scope, b"")
    declared = dict(scope["headers"]).get(b"content-length")
    del environ["CONTENT_LENGTH"]
    if declared is not None:
        environ["CONTENT_LENGTH"] = declared.decode("latin-1")
    return {**environ, INTAKE: intake}


async def read(receive: Receive, intake: Intake, pool: Executor) -> bool:
    """Write what comes, until it ends or is too much; False for a caller who has hung up."""
    loop, sink, parts, size, held = asyncio.get_running_loop(), intake.sink, [], 0, 0
    assert sink is not None
    until = loop.time() + WHOLE_SECONDS
    more = True
    while more and size <= intake.most:
        try:
            left = min(SILENT_SECONDS, max(0.0, until - loop.time()))
            message = await asyncio.wait_for(receive(), left)
        except TimeoutError:
            intake.late = True
            break
        if message["type"] != "http.request":
            return False
        more = message.get("more_body", False)
        part = message.get("body", b"")
        parts.append(part)
        size, held = size + len(part), held + len(part)
        if held >= PART_BYTES or not more or size > intake.most:
            try:
                await loop.run_in_executor(pool, sink.write, b"".join(parts))
            except Exception as error:
                intake.error = error
                break
            parts, held = [], 0
    intake.unread = more
    intake.ended = True
    return True


async def throw_away(receive: Receive) -> bool:
    """Read what a caller has on the way, within bounds, whose file is not wanted; was it all?"""
    loop = asyncio.get_running_loop()
    size, until = 0, loop.time() + REFUSED_SECONDS
    while size <= MOST_REFUSED_BYTES:
        try:
            message = await asyncio.wait_for(receive(), max(0.0, until - loop.time()))
        except TimeoutError:
            return False
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            return True
    return False
