"""Serving the application over HTTP, and stopping when told."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from types import FrameType

import h11
import simplejson
import uvicorn
from flask import Flask
from uvicorn.protocols.http.h11_impl import H11Protocol

from engine.errors import Refused, SettingsError
from web import errors
from web.front import Front

KEEP_ALIVE_SECONDS = 75
# What is under way when the server is told to stop may take this long.
GRACE_SECONDS = 30
MAX_HEADER_BYTES = 65_536
BACKLOG = 2048

_TOO_LARGE = Refused(
    "headers_too_large", "The request's path and headers are too large. Send less of them."
)
_NOT_HTTP = Refused("invalid", "This is not a request of HTTP/1.1 that can be understood here.")


class _Protocol(H11Protocol):
    """What never reaches the application is refused in the shape of all refusals (H-04)."""

    def send_400_response(self, msg: str) -> None:
        hint = getattr(sys.exc_info()[1], "error_status_hint", 400)
        told = errors.members(_TOO_LARGE if hint == 431 else _NOT_HTTP)
        body = simplejson.dumps(told).encode()
        headers = [
            ("content-type", errors.CONTENT_TYPE),
            ("content-length", str(len(body))),
            ("connection", "close"),
        ]
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            head = h11.Response(status_code=told["status"], headers=headers)
            for event in (head, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


class Server(uvicorn.Server):
    """An HTTP server that lets its waiting callers go when it is told to stop."""

    def __init__(self, front: Front, listening: socket.socket, trusted_proxies: str) -> None:
        super().__init__(
            uvicorn.Config(
                front,
                # Python's own, whatever else is installed beside this.
                loop="asyncio",
                http=_Protocol,
                ws="none",
                lifespan="on",
                interface="asgi3",
                log_level="error",
                access_log=False,
                server_header=False,
                date_header=True,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=GRACE_SECONDS,
                h11_max_incomplete_event_size=MAX_HEADER_BYTES,
                backlog=BACKLOG,
                # Limits are kept by address, so anybody else's header must not count (H-12).
                proxy_headers=bool(trusted_proxies),
                forwarded_allow_ips=trusted_proxies,
            )
        )
        self._front, self._listening = front, listening

    @property
    def effective_port(self) -> int:
        return int(self._listening.getsockname()[1])

    def serve_until_told(self) -> None:
        # What is loaded by now stays, so no collection need walk through it while callers wait.
        gc.collect()
        gc.freeze()
        self.run(sockets=[self._listening])

    def stop(self) -> None:
        """From any thread."""
        self._front.hub.stop()
        self.should_exit = True

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._front.hub.stop()
        super().handle_exit(sig, frame)


def listen(app: Flask, host: str, port: int, threads: int, trusted_proxies: str = "") -> Server:
    """Bind the port; a sentence when it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns TCP_NODELAY on only where the protocol is named. Without it an answer's body is
    # held back until the caller has acknowledged its head, which he does 40 ms later.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        raise SettingsError(
            f"Port {port} on {host} cannot be used ({error.strerror}). Choose another by --port."
        ) from error
    return Server(Front(app, threads), listening, trusted_proxies)


def stop_on_signals() -> list[bool]:
    """SIGTERM and SIGINT end the process in order; answers the flag that they set."""
    told: list[bool] = []

    def stop(_number: int, _frame: FrameType | None) -> None:
        if not told:
            told.append(True)
            raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    return told
