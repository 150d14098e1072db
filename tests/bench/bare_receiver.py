"""Somebody else's webhook receiver: reads the body and says yes, or is one of the bad ones."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from datetime import datetime

from aiohttp import web

SLOW_SECONDS = 20
LATENCIES: list[float] = []


async def receive(request: web.Request) -> web.Response:
    await request.read()
    return web.Response(text="ok")


async def timed(request: web.Request) -> web.Response:
    """Remember how long ago the event happened, in milliseconds."""
    sent = datetime.fromisoformat(json.loads(await request.read())["sent_at"])
    LATENCIES.append((time.time() - sent.timestamp()) * 1000)
    return web.Response(text="ok")


async def latencies(_: web.Request) -> web.Response:
    told = list(LATENCIES)
    LATENCIES.clear()
    return web.json_response(told)


async def slow(request: web.Request) -> web.Response:
    await request.read()
    await asyncio.sleep(SLOW_SECONDS)
    return web.Response(text="late")


async def drip(request: web.Request) -> web.StreamResponse:
    """A header now and then, and never the end of them."""
    await request.read()
    transport = request.transport
    assert transport is not None
    transport.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(SLOW_SECONDS):
        if transport.is_closing():
            break
        transport.write(f"x-{number}: still here\r\n".encode())
        await asyncio.sleep(1)
    transport.close()
    return web.Response()


def main() -> None:
    app = web.Application()
    app.router.add_get("/latencies", latencies)
    app.router.add_post("/timed/{name}", timed)
    app.router.add_post("/slow", slow)
    app.router.add_post("/drip", drip)
    app.router.add_post("/{name}", receive)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)


if __name__ == "__main__":
    main()
