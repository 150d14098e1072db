"""One `muster …` process: started, signalled, and listened to."""

from __future__ import annotations

import http.client
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.forking import Forked

MUSTER = str(Path(sys.executable).with_name("muster"))
START_SECONDS = 90
STOP_SECONDS = 60
# The long rounds start the program itself.
FORKS = not os.environ.get("MUSTER_SOAK")
# What a process says once it does its work.
READY = {"worker": "Muster works.", "scheduler": "Muster schedules."}
# Below the ports that outgoing connections take, so that a port stays free while nobody listens.
PORTS = range(18_000, 30_000)
# What may happen to a request when its server dies.
Broken = (OSError, http.client.HTTPException)


class Process:
    """One `muster …` in a process group of its own, its words kept in a file."""

    def __init__(self, kind: str, number: int, folder: Path, port: int | None) -> None:
        self.kind, self.number, self.port = kind, number, port
        self.name = f"{kind}-{number}"
        self.log = folder / f"{self.name}.log"
        # What it is started with; a fault may put another program before Muster.
        self.program = [MUSTER]
        self._popen: subprocess.Popen[bytes] | Forked | None = None
        self._said_before = 0

    def start(self, environment: dict[str, str], folder: Path) -> None:
        port = [] if self.port is None else ["--port", str(self.port)]
        command = [*self.program, self.kind, *port]
        with self.log.open("ab") as log:
            self._said_before = log.tell()
            if FORKS:
                self._popen = Forked(command, environment, folder, self.log)
                return
            self._popen = subprocess.Popen(
                command,
                env=environment,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def running(self) -> bool:
        return self._popen is not None and self._popen.poll() is None

    @property
    def pid(self) -> int:
        assert self._popen is not None
        return self._popen.pid

    def wait_ready(self) -> None:
        until = time.monotonic() + START_SECONDS
        while not self._ready():
            assert self.running, f"{self.name} ended at its start:\n{self.said()[-3000:]}"
            assert time.monotonic() < until, f"{self.name} is not ready:\n{self.said()[-3000:]}"
            time.sleep(0.05)

    def _ready(self) -> bool:
        if self.port is None:
            return READY[self.kind] in self.said()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
            try:
                connection.request("GET", "/api/modes")
                return connection.getresponse().status == 200
            finally:
                connection.close()
        except Broken:
            return False

    def said(self) -> str:
        """What it has said since it was last started."""
        return self.log.read_bytes()[self._said_before :].decode(errors="replace")

    def signal(self, number: signal.Signals) -> None:
        if self.running:
            os.killpg(self.pid, number)

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        """Its exit code, once it has ended."""
        assert self._popen is not None
        return self._popen.wait(seconds)


def free_ports(count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        # Not the seeded generator: of several runs at once each must find ports of its own.
        port = secrets.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found
