"""Starting, recognising and stopping one detached anvil.

It lives in a session of its own, so it outlives the server that started it, and what it knows is
in one folder: `state.json` (anvil's), `chain.json` (who runs where), `anvil.log`.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.chain.anvil import find_anvil
from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable
from engine.chain.networks import LOCAL_CHAIN_ID

START_SECONDS = 20.0  # reading a large state file takes a while
STOP_SECONDS = 20.0  # so does writing it
DUMP_SECONDS = 5  # how often anvil writes its state; a machine crash loses at most that much
EXEC_SECONDS = 1.0  # becoming another program takes microseconds, more on a loaded machine
# anvil keeps this many blocks' states in memory, to be read at an old block. Each grows with the
# length of the chain, so more of them would eat the memory of a chain that runs for days.
KEPT_STATES = 64
_BACKGROUND = 'log=$1; shift; "$@" >>"$log" 2>&1 </dev/null & echo $!'


class LocalChainError(Exception):
    """The local chain cannot be started. The message says why and what to do."""


@dataclass(frozen=True)
class Running:
    """`chain.json`: the process, where it answers, and which chain it is."""

    pid: int
    port: int
    rpc_url: str
    genesis_hash: str

    @classmethod
    def read(cls, folder: Path) -> Running | None:
        try:
            return cls(**json.loads((folder / "chain.json").read_text()))
        except (OSError, ValueError, TypeError):
            return None

    def write(self, folder: Path) -> None:
        temporary = folder / "chain.json.new"
        temporary.write_text(json.dumps(asdict(self), indent=1) + "\n")
        temporary.replace(folder / "chain.json")


def start(folder: Path, port: int, block_seconds: int) -> Running:
    """Start anvil on the folder's state and wait until it answers. Raises LocalChainError."""
    program = str(find_anvil())
    state = folder / "state.json"
    _check_state(state)
    command = [
        program, "--host", "127.0.0.1", "--port", str(port), "--chain-id", str(LOCAL_CHAIN_ID),
        # A transaction is mined when it comes, an empty block every few seconds.
        "--block-time", str(block_seconds), "--mixed-mining",
        "--state", str(state), "--state-interval", str(DUMP_SECONDS),
        "--prune-history", str(KEPT_STATES),
        # Real chains bound a transaction to 16,777,216 gas (EIP-7825); anvil only when asked.
        "--enable-tx-gas-limit", "--quiet",
    ]  # fmt: skip
    log = folder / "anvil.log"
    # The shell puts it into the background and ends, so that init and not we are its parent: it
    # leaves no zombie when it dies before us.
    launched = subprocess.run(
        ["/bin/sh", "-c", _BACKGROUND, "sh", str(log), *command],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    pid = int(launched.stdout)
    running = Running(pid, port, f"http://127.0.0.1:{port}", "")
    # Written before it answers: whoever comes after a crash here still finds the process.
    running.write(folder)
    genesis_hash = _wait_for_answer(running, folder)
    running = Running(pid, port, running.rpc_url, genesis_hash)
    running.write(folder)
    return running


def alive(running: Running, folder: Path) -> bool:
    """Is that process really the anvil of this folder? Process ids are used again."""
    command = command_line(running.pid)
    return "anvil" in command and str(folder / "state.json") in command


def answers_right(running: Running) -> bool:
    """Does it answer, and is it the chain that we know?"""
    try:
        return running.genesis_hash == genesis(running.rpc_url)
    except ChainUnavailable:
        return False


def genesis(rpc_url: str, timeout_seconds: float = 5) -> str:
    """The first block's hash: it holds the second in which the chain began."""
    chain = Chain(rpc_url, timeout_seconds)
    if chain.chain_id() != LOCAL_CHAIN_ID:
        raise ChainUnavailable(f"{rpc_url} is another chain.")
    return chain.block(0).hash


def terminate(running: Running, folder: Path) -> None:
    """SIGTERM, and wait until the state is written. Raises LocalChainError if it will not end."""
    if not alive(running, folder):
        return
    os.kill(running.pid, signal.SIGTERM)
    until = time.monotonic() + STOP_SECONDS
    while alive(running, folder):
        if time.monotonic() > until:
            raise LocalChainError(
                f"The local chain (process {running.pid}) did not stop in {STOP_SECONDS:.0f} s."
            )
        time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def command_line(pid: int) -> str:
    """What the process was started with; empty when it is gone (or a zombie)."""
    if sys.platform == "linux":
        folder = Path(f"/proc/{pid}")
        until = time.monotonic() + EXEC_SECONDS
        try:
            # While a process becomes another program its arguments read as empty.
            while not (raw := (folder / "cmdline").read_bytes()):
                if _is_zombie(folder) or time.monotonic() > until:
                    break
        except OSError:
            return ""
        return raw.replace(b"\0", b" ").decode(errors="replace")
    done = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True
    )
    return done.stdout


def _is_zombie(folder: Path) -> bool:
    # "pid (name) state …", and the name may hold anything.
    return (folder / "stat").read_text().rpartition(")")[2].split()[0] in "ZX"


def _wait_for_answer(running: Running, folder: Path) -> str:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            return genesis(running.rpc_url, timeout_seconds=2)
        except ChainUnavailable:
            if not alive(running, folder):
                raise LocalChainError(_last_words(folder)) from None
            if time.monotonic() > until:
                terminate(running, folder)
                raise LocalChainError("The local chain did not answer in time.") from None
            time.sleep(0.01)


def _last_words(folder: Path) -> str:
    try:
        said = (folder / "anvil.log").read_text(errors="replace").strip().splitlines()[-3:]
    except OSError:
        said = []
    return f"The local chain ended at once. It said: {' '.join(said) or 'nothing'}"


def _check_state(state: Path) -> None:
    """anvil writes its state in place, so a crash meanwhile leaves half a file.

    A whole one is kept as a copy; half a one is set aside and the copy takes its place. What the
    copy lacks looks like a reorganised chain afterwards.
    """
    if not state.exists():
        return
    copy = state.with_suffix(".last-start.json")
    if _is_whole(state):
        temporary = state.with_suffix(".copying")
        shutil.copyfile(state, temporary)
        temporary.replace(copy)
        return
    state.replace(state.with_suffix(".broken.json"))
    if copy.exists():
        shutil.copyfile(copy, state)


def _is_whole(state: Path) -> bool:
    """Reads the file's end only: it can be large, and a broken write is a short one."""
    with state.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        if size == 0:
            return False
        file.seek(max(0, size - 16))
        return file.read().rstrip().endswith(b"}")
