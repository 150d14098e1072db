"""The front: an ASGI application around the Flask one, in which a caller that waits is cheap.

Flask answers each request at once, in a thread. With an answer that something later could better
(an empty poll, a command under way) it offers to wait (`web/waiting.py`). The front then parks the
request, which costs a coroutine and no thread, and asks Flask again when a topic is told, or sends
the answer it has when the time is up. Nothing is asked any more for a caller who has hung up.
"""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from flask import Flask

from web.hub import Hub
from web.waiting import SLOT, Slot

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Answer = tuple[int, list[tuple[str, str]], bytes]

MAX_BODY_BYTES = 10_000_000
HEARTBEAT_SECONDS = 15
HEARTBEAT = b": still here\n\n"


class Front:
    """One per server process. `hub` must be told what happens."""

    def __init__(self, app: Flask, hub: Hub, threads: int) -> None:
        self._app, self._hub = app, hub
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="request")

    def close(self) -> None:
        self._pool.shutdown(wait=True)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        body, whole = await _read(receive)
        gone = asyncio.Event()
        watcher = asyncio.create_task(_watch(receive, gone))
        try:
            await self._serve(_environ(scope, body, whole), gone, send)
        finally:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher

    async def _serve(self, environ: dict[str, Any], gone: asyncio.Event, send: Send) -> None:
        loop = asyncio.get_running_loop()
        slot, deadline = Slot(gone=gone.is_set), 0.0
        while True:
            since = self._hub.position
            answer = await self._ask(environ, slot)
            if slot.resumed and not slot.exhausted:
                self._hub.pass_on(slot.topics)
            if slot.stream:
                await self._stream(environ, slot, answer, since, gone, send)
                return
            deadline = deadline or loop.time() + slot.seconds
            left = deadline - loop.time()
            if not slot.topics or not await self._hub.wait(slot.topics, since, left, gone):
                break
            slot = Slot(resume=slot.resume, resumed=True, gone=gone.is_set)
        if not gone.is_set():
            await _send(send, answer)

    async def _stream(
        self,
        environ: dict[str, Any],
        slot: Slot,
        answer: Answer,
        since: int,
        gone: asyncio.Event,
        send: Send,
    ) -> None:
        """Send the beginning, and then what each further call adds, until the caller goes."""
        status, headers, body = answer
        await _start(send, status, [pair for pair in headers if pair[0] != "content-length"])
        while not gone.is_set() and not self._hub.closed:
            await send({"type": "http.response.body", "body": body, "more_body": True})
            body = b""
            while not body and not gone.is_set() and not self._hub.closed:
                wait = min(slot.seconds, HEARTBEAT_SECONDS)
                if not await self._hub.wait(slot.topics, since, wait, gone) and (
                    wait == HEARTBEAT_SECONDS
                ):
                    body = HEARTBEAT
                    break
                slot = Slot(resume=slot.resume, resumed=True, gone=gone.is_set)
                since = self._hub.position
                _, _, body = await self._ask(environ, slot)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _ask(self, environ: dict[str, Any], slot: Slot) -> Answer:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, _call, self._app, {**environ, SLOT: slot})


def _call(app: Flask, environ: dict[str, Any]) -> Answer:
    """One WSGI call, its whole answer in hand."""
    told: list[tuple[str, list[tuple[str, str]]]] = []
    environ["wsgi.input"] = io.BytesIO(environ["muster.body"])

    def begin(status: str, headers: list[tuple[str, str]], _: Any = None) -> Any:
        told.append((status, headers))

    chunks = app.wsgi_app(environ, begin)
    try:
        body = b"".join(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()
    status, headers = told[-1]
    return int(status.split(" ", 1)[0]), [(k.lower(), v) for k, v in headers], body


async def _read(receive: Receive) -> tuple[bytes, bool]:
    """(the body, is it whole); one that is too large or broken off is read no further."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"", False
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY_BYTES:
            return b"", False
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts), True


async def _watch(receive: Receive, gone: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()


async def _start(send: Send, status: int, headers: list[tuple[str, str]]) -> None:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})


async def _send(send: Send, answer: Answer) -> None:
    status, headers, body = answer
    await _start(send, status, headers)
    await send({"type": "http.response.body", "body": body})


def _environ(scope: Scope, body: bytes, whole: bool) -> dict[str, Any]:
    """The WSGI environment of an ASGI scope (PEP 3333)."""
    host, port = scope.get("server") or ("localhost", 80)
    # A body that is not whole is as long as it says, so that Flask refuses it for its size.
    length = len(body) if whole else MAX_BODY_BYTES + 1
    environ: dict[str, Any] = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port or 0),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "REMOTE_ADDR": (scope.get("client") or ("", 0))[0],
        "CONTENT_LENGTH": str(length),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "muster.body": body,
    }
    for raw_name, raw_value in scope["headers"]:
        name = raw_name.decode("latin-1").replace("-", "_").upper()
        # An underscore in a header's name would pass for a hyphen here, and forge it.
        if b"_" in raw_name or name in ("CONTENT_LENGTH", "TRANSFER_ENCODING"):
            continue
        key = name if name == "CONTENT_TYPE" else f"HTTP_{name}"
        value = raw_value.decode("latin-1")
        environ[key] = f"{environ[key]},{value}" if key in environ else value
    return environ
