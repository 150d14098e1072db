"""The processes that are measured: `muster serve`, and a bare Flask beside it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.world import ADMIN_KEY, MASTER_KEY

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 30
SERVE = "from web.cli import main; main()"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Server:
    """A process that listens on a port of this machine."""

    port: int
    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        """What it has used so far; steadier than any rate where others use the machine too."""
        used = psutil.Process(self.process.pid).cpu_times()
        return float(used.user + used.system)


@contextmanager
def muster_serve(database_url: str, **settings: str) -> Iterator[Server]:
    """A real server over a database that is migrated."""
    given = {
        "DATABASE_URL": database_url,
        "BROKER_URL": "memory://",
        "ADMIN_KEY": ADMIN_KEY,
        "MASTER_KEYS": MASTER_KEY,
        **settings,
    }
    port = free_port()
    environment = {f"MUSTER_{name}": value for name, value in given.items()}
    with _running(["-c", SERVE, "serve", "--port", str(port)], port, environment) as server:
        yield server


@contextmanager
def module(name: str) -> Iterator[Server]:
    """`python -m name PORT`."""
    port = free_port()
    with _running(["-m", name, str(port)], port, {}) as server:
        yield server


@contextmanager
def _running(arguments: list[str], port: int, environment: dict[str, str]) -> Iterator[Server]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("MUSTER_")}
    process = subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**inherited, **environment},
        stdout=subprocess.DEVNULL,
        # A server writes a line for each request; somewhere it must go.
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield Server(port, process)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        assert process.poll() is None, f"the server ended with code {process.returncode}"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the server did not listen in time")
