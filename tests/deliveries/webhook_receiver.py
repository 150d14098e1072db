"""An HTTP server on loopback that behaves as well or as badly as a test asks."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PATIENCE_SECONDS = 60


@dataclass
class Got:
    """A request as it came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


Answer = Callable[[BaseHTTPRequestHandler], None]


def answer(status: int = 200, body: bytes = b"ok", **headers: str) -> Answer:
    """A plain answer; `retry_after="5"` becomes the header Retry-After."""

    def write(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return write


class Receiver:
    """An HTTP server that keeps what it is sent and answers each path as it is told."""

    def __init__(self) -> None:
        self.requests: list[Got] = []
        self.answers: dict[str, Answer | list[Answer]] = {}
        self.changed = threading.Condition()
        self.released = threading.Event()
        self.busy: dict[str, int] = {}
        self.most_busy: dict[str, int] = {}
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        # Closing waits for the handlers, so no socket is left open behind a test.
        self.server.daemon_threads = False
        self.server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def to(self, path: str) -> list[Got]:
        with self.changed:
            return [one for one in self.requests if one.path == path]

    def wait_for(self, count: int, path: str | None = None) -> list[Got]:
        def enough() -> bool:
            return sum(path in (None, one.path) for one in self.requests) >= count

        with self.changed:
            assert self.changed.wait_for(enough, PATIENCE_SECONDS), self.requests
            return [one for one in self.requests if path in (None, one.path)]

    def hang(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer nothing until the test is over or says `released.set()`."""
        self.released.wait(PATIENCE_SECONDS * 3)
        answer()(handler)

    def close(self) -> None:
        self.released.set()
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def _pick(self, path: str) -> Answer:
        known = self.answers.get(path, answer())
        if callable(known):
            return known
        return known.pop(0) if len(known) > 1 else known[0]

    def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                path = self.path
                with receiver.changed:
                    receiver.requests.append(Got(self.command, path, headers, body))
                    busy = receiver.busy[path] = receiver.busy.get(path, 0) + 1
                    receiver.most_busy[path] = max(busy, receiver.most_busy.get(path, 0))
                    pick = receiver._pick(path)
                    receiver.changed.notify_all()
                try:
                    pick(self)
                except OSError:
                    self.close_connection = True
                finally:
                    with receiver.changed:
                        receiver.busy[path] -= 1

            do_GET = do_HEAD = do_POST = do_PUT = handle_any

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
