"""Processes of `muster …`, forked from one that has imported it: a second's work is done once.

What runs is the real command line, from its entry point to the interpreter's end, in a session,
environment and folder of its own; or `python -m …` of a module that calls it. The server is one
process beside the tests and ends with them. Each child has a keeper, which is its parent and tells
how it ended.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

_server: tuple[subprocess.Popen[bytes], Path] | None = None
# What a process imports once it needs it, which costs each of them a second or two.
LATER = (
    "apscheduler.schedulers.background",
    "coincurve",
    "dramatiq.brokers.redis",
    "plugins.inbound_order",
    "plugins.inbound_proof",
    "plugins.queue",
    "plugins.queue_solo",
    "psycopg",
    "redis",
    "uvicorn",
    "web3",
)


class Forked:
    """A child, used like a `subprocess.Popen`; what it says is added to `log`.

    Its complaints are too, or go to `errors` where that is given.
    """

    def __init__(
        self,
        arguments: list[str],
        env: dict[str, str],
        cwd: Path,
        log: Path,
        errors: Path | None = None,
    ) -> None:
        self._keeper = socket.socket(socket.AF_UNIX)
        self._keeper.connect(str(_started()))
        self._told = self._keeper.makefile("rb")
        logs = [str(log), str(errors or log)]
        asked = {"arguments": arguments, "env": env, "cwd": str(cwd), "logs": logs}
        self._keeper.sendall(json.dumps(asked).encode() + b"\n")
        self.pid = int(self._told.readline())
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Its exit code, or minus the signal that ended it; None while it runs."""
        if self.returncode is None and select.select([self._keeper], [], [], 0)[0]:
            self._read()
        return self.returncode

    def wait(self, timeout: float) -> int:
        if self.returncode is None and not select.select([self._keeper], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return self._read()

    def _read(self) -> int:
        if self.returncode is None:
            self.returncode = int(self._told.readline())
            self._told.close()
            self._keeper.close()
        return self.returncode


def run(
    arguments: list[str], env: dict[str, str], cwd: Path, timeout: float
) -> subprocess.CompletedProcess[str]:
    """As `subprocess.run` does it, what was said captured as text."""
    with tempfile.TemporaryDirectory(prefix="muster-said-") as folder:
        said, errors = Path(folder) / "out", Path(folder) / "err"
        child = Forked(arguments, env, cwd, said, errors)
        try:
            code = child.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(arguments, code, said.read_text(), errors.read_text())


def _started() -> Path:
    """Where the server listens; started at the first need."""
    global _server
    if _server is None:
        path = Path(tempfile.mkdtemp(prefix="muster-fork-")) / "socket"
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == b"ready\n", "the fork server did not start"
        process.stdout.close()
        # It ends when nobody holds the other end of its input any more.
        atexit.register(process.communicate)
        _server = process, path
    return _server[1]


# ------------------------------------------------------------ the server


def _serve(path: str) -> None:
    program = importlib.import_module("web.cli")
    for name in LATER:
        importlib.import_module(name)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    gc.freeze()
    # Keepers are nobody's to wait for.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready = select.select([listener, sys.stdin], [], [])[0]
        if sys.stdin in ready:
            return
        peer = listener.accept()[0]
        if os.fork() == 0:
            listener.close()
            _keep(peer)
            if sys.argv[1] == "-m":
                del sys.argv[:2]
                runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
            else:
                program.main(prog_name="muster")
            return
        peer.close()


def _keep(peer: socket.socket) -> None:
    """Fork once more. Only the child comes back, once it is what was asked for."""
    asked = json.loads(peer.makefile("rb").readline())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        os.setsid()
        peer.sendall(f"{os.getpid()}\n".encode())
        peer.close()
        _become(asked["arguments"], asked["env"], asked["cwd"], asked["logs"])
        return
    _, status = os.waitpid(child, 0)
    peer.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(arguments: list[str], env: dict[str, str], cwd: str, logs: list[str]) -> None:
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = arguments
    opened = [os.open(os.devnull, os.O_RDONLY)]
    opened += [os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644) for log in logs]
    for target, source in enumerate(opened):
        os.dup2(source, target)
        os.close(source)


if __name__ == "__main__":
    _serve(sys.argv[1])
