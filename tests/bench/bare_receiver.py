"""Somebody else's webhook receiver: reads the body and says yes."""

from __future__ import annotations

import sys

from aiohttp import web


async def receive(request: web.Request) -> web.Response:
    await request.read()
    return web.Response(text="ok")


def main() -> None:
    app = web.Application()
    app.router.add_post("/{name}", receive)
    web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=None, print=None)


if __name__ == "__main__":
    main()
