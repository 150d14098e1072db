"""A client that costs little: keep-alive connections, each sending its one request again and again.

It runs as a process of its own, so that it shares no interpreter with what it measures:
`python -m tests.bench.load` reads a plan from standard input and answers with what it counted.
"""

from __future__ import annotations

import base64
import json
import selectors
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Request:
    """What one connection sends, to which port of this machine."""

    port: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = b""

    def encoded(self) -> bytes:
        head = {
            "host": f"127.0.0.1:{self.port}",
            "content-length": str(len(self.body)),
            **self.headers,
        }
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{k}: {v}" for k, v in head.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


@dataclass(frozen=True)
class Counted:
    """Answers with a 2xx status a second, and what they cost the client."""

    answers: int
    seconds: float
    p50_ms: float
    p95_ms: float
    p99_ms: float
    client_cpu: float
    failure: str | None = None

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


def run(requests: list[Request], seconds: float, stop_at: str = "") -> Counted:
    """One connection for each request; an answer that contains `stop_at` ends it before the time.

    Raises AssertionError for an answer that is not 2xx.
    """
    plan = {
        "seconds": seconds,
        "stop_at": stop_at,
        "requests": [
            {"port": one.port, "bytes": base64.b64encode(one.encoded()).decode()}
            for one in requests
        ],
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.load"],
        input=json.dumps(plan),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=seconds + 60,
    )
    assert done.returncode == 0, done.stderr
    counted = Counted(**json.loads(done.stdout))
    assert counted.failure is None, counted.failure
    return counted


class _Connection:
    def __init__(self, port: int, request: bytes) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.request = request
        self.got = b""
        self.sent_at = 0.0

    def send(self) -> None:
        self.got = b""
        self.sent_at = time.perf_counter()
        self.socket.sendall(self.request)

    def receive(self) -> bytes | None:
        """The whole answer once it is there; raises when the server hangs up."""
        part = self.socket.recv(262_144)
        if not part:
            raise ConnectionError("the server closed the connection")
        self.got += part
        head, found, body = self.got.partition(b"\r\n\r\n")
        if not found:
            return None
        at = head.lower().find(b"content-length:")
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        return self.got if len(body) >= length else None


def _drive(connections: list[_Connection], seconds: float, stop_at: bytes) -> dict[str, Any]:
    selector = selectors.DefaultSelector()
    for connection in connections:
        selector.register(connection.socket, selectors.EVENT_READ, connection)
    times: list[float] = []
    failure = None
    began, cpu = time.perf_counter(), time.process_time()
    until = began + seconds
    for connection in connections:
        connection.send()
    # What is under way when the time is up is waited for, and counts.
    waiting = len(connections)
    while waiting and failure is None:
        for key, _ in selector.select(1):
            answer = key.data.receive()
            if answer is None:
                continue
            now = time.perf_counter()
            if not answer.startswith(b"HTTP/1.1 2"):
                failure = answer[:600].decode(errors="replace")
                break
            if stop_at and stop_at in answer:
                until = now
            else:
                times.append(now - key.data.sent_at)
            if now < until:
                key.data.send()
            else:
                waiting -= 1
    elapsed = time.perf_counter() - began
    times.sort()
    counted = Counted(
        answers=len(times),
        seconds=elapsed,
        p50_ms=statistics.median(times) * 1000 if times else 0,
        p95_ms=times[int(len(times) * 0.95)] * 1000 if times else 0,
        p99_ms=times[int(len(times) * 0.99)] * 1000 if times else 0,
        client_cpu=(time.process_time() - cpu) / elapsed,
        failure=failure,
    )
    return asdict(counted)


def main() -> None:
    plan = json.load(sys.stdin)
    connections = [
        _Connection(one["port"], base64.b64decode(one["bytes"])) for one in plan["requests"]
    ]
    json.dump(_drive(connections, plan["seconds"], plan["stop_at"].encode()), sys.stdout)


if __name__ == "__main__":
    main()
