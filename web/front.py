"""The front: an ASGI application around the Flask one, in which a caller that waits is cheap.

Flask answers each request at once, in a thread. With an answer that something later could better
(an empty poll, a command under way) it offers to wait (`web/waiting.py`). The front then parks the
request, which costs a coroutine and no thread, and asks Flask again when a topic is told, or sends
the answer it has when the time is up. Nothing is asked any more for a caller who has hung up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from flask import Flask

from engine import topics
from web import receiving, wsgi
from web.hub import Hub
from web.waiting import HEARTBEAT_SECONDS, Slot

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

HEARTBEAT = b": still here\n\n"


class Front:
    """One per server process. It hears topics from the moment the server starts."""

    def __init__(self, app: Flask, threads: int) -> None:
        self.hub = Hub()
        self._app = app
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="request")
        self._listener = topics.Listener(self.hub.tell)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Start and stop with the server."""
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.hub.open()
                self._listener.start()
                await send({"type": "lifespan.startup.complete"})
            else:
                await asyncio.to_thread(self._listener.stop)
                self._pool.shutdown(wait=True)
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if receiving.is_file(scope):
            await self._receive(scope, receive, send)
            return
        body = await wsgi.read_body(scope, receive)
        if body is None:
            return
        gone = asyncio.Event()
        watcher = asyncio.create_task(_watch(receive, gone))
        try:
            await self._serve(wsgi.environ_of(scope, body), gone, send)
        finally:
            watcher.cancel()
            with suppress(asyncio.CancelledError):
                await watcher

    async def _receive(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A file, whose bytes go to the disk as they come."""
        intake = receiving.Intake()
        environ = receiving.environ_of(scope, intake)
        answer = await self._ask(environ, Slot())
        if intake.sink is None:
            is_read = await receiving.throw_away(receive)
        else:
            try:
                if not await receiving.read(receive, intake, self._pool):
                    return
                answer = await self._ask(environ, Slot())
            finally:
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self._pool, intake.sink.drop)
            is_read = not intake.unread
            if intake.unread and not intake.late:
                is_read = await receiving.throw_away(receive)
        # Nobody reads the rest, so nothing else comes by this connection.
        headers = answer.headers if is_read else [*answer.headers, ("connection", "close")]
        await _start(send, answer.status, headers)
        await send({"type": "http.response.body", "body": answer.body})

    async def _serve(self, environ: dict[str, Any], gone: asyncio.Event, send: Send) -> None:
        loop = asyncio.get_running_loop()
        slot, deadline = Slot(gone=gone.is_set), 0.0
        parked_on: tuple[str, ...] = ()
        while True:
            since = self.hub.position
            try:
                answer = await self._ask(environ, slot)
            finally:
                if not slot.exhausted:
                    self.hub.pass_on(parked_on)
            for topic in slot.released:
                await loop.run_in_executor(self._pool, topics.tell_now, topic)
            if slot.stream:
                await self._stream(environ, slot, answer, since, gone, send)
                return
            deadline = deadline or loop.time() + slot.seconds
            left = deadline - loop.time()
            if not slot.topics or not await self.hub.wait(slot.topics, since, left, gone):
                break
            parked_on = slot.topics
            slot = Slot(resume=slot.resume, resumed=True, gone=gone.is_set)
        if answer.parts is not None:
            await self._send_parts(answer, answer.parts, gone, send)
        elif not gone.is_set():
            await _start(send, answer.status, answer.headers)
            await send({"type": "http.response.body", "body": answer.body})

    async def _send_parts(
        self, answer: wsgi.Answer, parts: wsgi.Parts, gone: asyncio.Event, send: Send
    ) -> None:
        """Make a part once the one before it was sent; none for a caller who has hung up."""
        loop = asyncio.get_running_loop()
        try:
            await _start(send, answer.status, answer.headers)
            while not gone.is_set():
                part = await loop.run_in_executor(self._pool, parts.more)
                if part is None:
                    await send({"type": "http.response.body", "body": b""})
                    break
                await send({"type": "http.response.body", "body": part, "more_body": True})
        finally:
            await loop.run_in_executor(self._pool, parts.close)

    async def _stream(
        self,
        environ: dict[str, Any],
        slot: Slot,
        answer: wsgi.Answer,
        since: int,
        gone: asyncio.Event,
        send: Send,
    ) -> None:
        """Send the beginning, then what each further call adds, until either side goes."""
        headers = [pair for pair in answer.headers if pair[0] != "content-length"]
        await _start(send, answer.status, headers)
        body = answer.body
        while True:
            if body:
                await send({"type": "http.response.body", "body": body, "more_body": True})
            told = await self.hub.wait(slot.topics, since, slot.seconds, gone)
            if gone.is_set() or self.hub.closed:
                break
            silent = not told and slot.seconds >= HEARTBEAT_SECONDS
            slot = Slot(resume=slot.resume, resumed=True, gone=gone.is_set)
            since = self.hub.position
            further = await self._ask(environ, slot)
            if further.status != answer.status:
                # The key was revoked, say: the stream ends, and its resumption is told why.
                break
            body = further.body or (HEARTBEAT if silent else b"")
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _ask(self, environ: dict[str, Any], slot: Slot) -> wsgi.Answer:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, wsgi.call, self._app, environ, slot)


async def _watch(receive: Receive, gone: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    gone.set()


async def _start(send: Send, status: int, headers: list[tuple[str, str]]) -> None:
    raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": status, "headers": raw})
