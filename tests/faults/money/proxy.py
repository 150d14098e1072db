"""A front before the chain's node that can lose answers, refuse, or hang, as networks do."""

from __future__ import annotations

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SEND = "eth_sendRawTransaction"
PASS, LOSE_ANSWERS, REFUSE, HANG = "pass", "lose answers", "refuse", "hang"


class Proxy:
    """Set `mode` at any time; it holds for the requests that come from then on.

    `LOSE_ANSWERS` passes transactions on and tells nobody what became of that, `REFUSE` closes
    every connection, `HANG` holds on to every request until the mode is another one.
    """

    def __init__(self, target: str) -> None:
        self.mode = PASS
        self.lost = 0
        self.refused = 0
        self._count = threading.Lock()
        self._stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler(target))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self, target: str) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                mode = proxy.mode
                while mode == HANG and not proxy._stopped.wait(0.05):
                    if proxy.mode != HANG:
                        # Whoever asked has long given up.
                        mode = REFUSE
                if mode in (REFUSE, HANG):
                    proxy.count(refused=1)
                    self.close_connection = True
                    return
                answer = proxy.passed_on(target, body)
                if mode == LOSE_ANSWERS and json.loads(body)["method"] == SEND:
                    proxy.count(lost=1)
                    self.close_connection = True
                    return
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        return Handler

    def count(self, lost: int = 0, refused: int = 0) -> None:
        with self._count:
            self.lost += lost
            self.refused += refused

    def passed_on(self, target: str, body: bytes) -> bytes:
        request = urllib.request.Request(target, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as reply:
            return bytes(reply.read())
