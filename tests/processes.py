"""Muster as it runs for real: API, worker and scheduler processes over one database.

A `Stack` is a `World` whose install lives in other processes, so people, gigs and tasks are used
alike. Its processes can be killed, told to stop, and started again on the same ports.
"""

from __future__ import annotations

import http.client
import itertools
import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import simplejson

from engine.chain.client import Chain
from engine.chain.local import LocalChain
from engine.chain.treasury import Treasury
from tests import forking
from tests.process import FORKS, MUSTER, Broken, Process, free_ports
from tests.world import ADMIN_KEY, MASTER_KEY, Answer, Gig, Person, World, chain_settings

REQUEST_SECONDS = 120


@dataclass(frozen=True)
class Layout:
    """How many processes of which kind, and over which servers."""

    backend: str
    serve: int = 1
    worker: int = 0
    scheduler: int = 0


SQLITE = Layout("sqlite")
SQLITE_MANY = Layout("sqlite", serve=3)
POSTGRES = Layout("postgres", 1, 1, 1)
SCALED = Layout("postgres", 3, 3, 2)
MATRIX = {"sqlite": SQLITE, "postgres": POSTGRES, "scaled": SCALED}


class Stack(World):
    """An install in processes of its own, and people who call its API over HTTP."""

    def __init__(
        self,
        database_url: str,
        broker_url: str,
        folder: Path,
        layout: Layout,
        chain: LocalChain | None = None,
        **more: str,
    ) -> None:
        given = {
            "STAGE": "dev",
            "DATABASE_URL": database_url,
            "BROKER_URL": broker_url,
            "ADMIN_KEY": ADMIN_KEY,
            "MASTER_KEYS": MASTER_KEY,
            "CONFIRMATIONS": "1",
            "SWEEP_SECONDS": "1",
            "REVIEW_SECONDS": "1",
            "RECONCILE_SECONDS": "2",
            "WEBHOOK_ALLOW_PRIVATE": "loopback",
            "LOG_LEVEL": "warning",
            "UPLOAD_DIR": str(folder / "uploads"),
        }
        given |= {} if chain is None else chain_settings(chain)
        ours = {f"MUSTER_{name}": value for name, value in (given | more).items()}
        others = {key: one for key, one in os.environ.items() if not key.startswith("MUSTER_")}
        self.environment = others | ours
        self.database_url, self.folder, self.chain = database_url, folder, chain
        self.layout = layout
        folder.mkdir(parents=True, exist_ok=True)
        ports = free_ports(layout.serve)
        self.serves = [Process("serve", n, folder, port) for n, port in enumerate(ports)]
        self.workers = [Process("worker", n, folder, None) for n in range(layout.worker)]
        self.schedulers = [Process("scheduler", n, folder, None) for n in range(layout.scheduler)]
        self._turn = itertools.count()

    @property
    def processes(self) -> list[Process]:
        return [*self.serves, *self.workers, *self.schedulers]

    # -- life and death ---------------------------------------------------------------------

    def start(self) -> Stack:
        """Start what does not run, and wait until all of it is ready."""
        for process in self.processes:
            if not process.running:
                process.start(self.environment, self.folder)
        for process in self.processes:
            process.wait_ready()
        return self

    def kill(self, *processes: Process) -> None:
        """SIGKILL the given ones, or all at once."""
        chosen = processes or self.processes
        for process in chosen:
            process.signal(signal.SIGKILL)
        for process in chosen:
            process.wait()

    def restart(self) -> None:
        """Kill everything and start it again."""
        self.kill()
        self.start()

    def terminate(self, *processes: Process) -> list[int]:
        """SIGTERM the given ones, or all, and wait for their end; answers the exit codes."""
        chosen = processes or self.processes
        for process in chosen:
            process.signal(signal.SIGTERM)
        return [process.wait() for process in chosen]

    def stop(self) -> None:
        """Leave nothing behind, whatever happened before."""
        for process in self.processes:
            # One that a test has stopped by SIGSTOP dies of this as well.
            process.signal(signal.SIGKILL)
        for process in self.processes:
            if process.running:
                process.wait()

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A `muster …` command beside the running processes."""
        if FORKS:
            command = [MUSTER, *arguments]
            return forking.run(command, self.environment, self.folder, REQUEST_SECONDS)
        return subprocess.run(
            [MUSTER, *arguments],
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=REQUEST_SECONDS,
        )

    def audit(self) -> None:
        """The real `muster audit` finds the books in order."""
        done = self.run("audit")
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What the database itself says, for what no reader of the API is told."""
        if self.layout.backend == "postgres":
            with psycopg.connect(self.database_url, autocommit=True) as connection:
                return list(connection.execute(sql).fetchall())
        with closing(sqlite3.connect(self.database_url.removeprefix("sqlite:///"))) as file:
            return list(file.execute(sql).fetchall())

    def complaints(self) -> list[str]:
        """Log lines of the level error: faults of ours, never of a caller or of the chain."""
        lines = []
        for process in self.processes:
            text = process.log.read_text(errors="replace") if process.log.exists() else ""
            lines += [
                f"{process.name}: {line}"
                for line in text.splitlines()
                if '"level": "error"' in line or line.startswith(("Traceback", "ERROR"))
            ]
        return lines

    def report(self) -> str:
        """The ends of all logs; shown when a test fails."""
        parts = [f"--- {one.name}\n{one.log.read_text(errors='replace')[-4000:]}"
                 for one in self.processes if one.log.exists()]  # fmt: skip
        return "\n".join(parts)

    # -- as a client ------------------------------------------------------------------------

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        raw: bytes | None = None,
        via: int | None = None,
    ) -> Answer:
        """One request to API process number `via`, or to each living one in turn.

        `Broken` if nobody listens, or if the process dies before it has answered.
        """
        sent = {"connection": "close", **(headers or {})}
        data = raw
        if body is not None:
            data = simplejson.dumps(body, use_decimal=True).encode()
            sent.setdefault("content-type", "application/json")
        chosen = self.serves
        if via is None:
            chosen, via = [one for one in chosen if one.running] or chosen, next(self._turn)
        serve = chosen[via % len(chosen)]
        assert serve.port is not None
        connection = http.client.HTTPConnection("127.0.0.1", serve.port, timeout=REQUEST_SECONDS)
        try:
            connection.request(method, "/api" + path, data, sent)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        is_json = "json" in answer.headers.get("content-type", "").replace("ndjson", "")
        parsed = simplejson.loads(text, use_decimal=True) if is_json and text else None
        return Answer(answer.status, parsed, answer.headers, text)

    def funded_wallet(self, owner: Person, dollars: int = 1000) -> str:
        wallet = owner.post("/wallets", {"label": "hot"})["wallet"]
        body = {"address": wallet["evm_address"], "usdc": str(dollars), "eth": "10"}
        self.call("POST", "/dev/faucet", body).ok()
        wallet_id: str = wallet["id"]
        return wallet_id

    def usdc_units(self, address: str) -> int:
        """What the chain itself says that an address holds."""
        assert self.chain is not None
        node = Chain(self.chain.rpc_url, timeout_seconds=30)
        return Treasury(
            node, self.chain.treasury_address, self.chain.usdc_address
        ).usdc_units(address)  # fmt: skip

    def advance(self, seconds: int, via: int | None = None) -> None:
        """Let time pass for the whole install."""
        self.call("POST", "/dev/clock/advance", {"seconds": seconds}, via=via).ok()

    def pages(self, person: Person, gig: Gig, what: str) -> list[Any]:
        """All of `proofs` or `rollups` of a gig."""
        found, cursor = [], ""
        while True:
            page = person.get(f"{gig.path}/{what}?limit=100{cursor}")
            found += page[what]
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"

    def events(self, gig: Gig, kind: str) -> list[Any]:
        """The gig's events of one type, as its owner reads them."""
        found: list[Any] = []
        after = 0
        while True:
            page = gig.owner.get(f"{gig.path}/events?limit=100&after={after}")
            if not page["events"]:
                return [event for event in found if event["type"] == kind]
            found += page["events"]
            after = page["next_after"]


__all__ = ["Broken", "Layout", "Process", "Stack", "Starter"]
Starter = Callable[..., Stack]


@pytest.fixture
def start_stack(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Starter]:
    """`start_stack(layout, chain, SETTING="…")`: a running stack on a database of its own."""
    undo: list[Callable[[], None]] = []

    def start(layout: Layout, chain: LocalChain | None = None, **more: str) -> Stack:
        databases = request.getfixturevalue(layout.backend)
        url = databases.fresh()
        undo.append(lambda: databases.drop(url))
        shared = layout.backend == "postgres"
        broker = request.getfixturevalue("redis").fresh() if shared else "memory://"
        stack = Stack(url, broker, tmp_path / f"stack-{len(undo)}", layout, chain, **more)
        undo.append(stack.stop)
        undo.append(lambda: print(stack.report()))
        return stack.start()

    yield start
    for step in reversed(undo):
        step()


@pytest.fixture(params=list(MATRIX))
def layout(request: pytest.FixtureRequest) -> Layout:
    """Each way of running Muster that is promised."""
    return MATRIX[request.param]


@pytest.fixture
def stack(start_stack: Starter, layout: Layout) -> Stack:
    """A running install without a chain, in each layout."""
    return start_stack(layout)


@pytest.fixture
def paying_stack(start_stack: Starter, layout: Layout, chain: LocalChain) -> Stack:
    """A running install with a chain of its own, in each layout."""
    return start_stack(layout, chain)
