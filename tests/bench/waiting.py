"""What a thousand waiting callers cost one server process on PostgreSQL, and how soon they hear."""

from __future__ import annotations

import selectors
import socket
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import psycopg

from engine import submissions
from engine.forms import Form
from tests.bench import load, processes
from tests.bench.install import PAYLOAD, Bench, database, installed
from tests.bench.load import Request
from tests.bench.measure import Effort, Findings, Row
from tests.bench.processes import Server
from tests.services import Redis

CALLERS = 1000
WORKERS = 20
CONNECTIONS = 8
WAIT_SECONDS = 60
IDLE_SECONDS = 5.0
SETTLE_SECONDS = 2.5
# So late may an idle connection's transactions appear in the server's counts.
COUNTED_SECONDS = 11
TASKS = 30
MEGABYTE = 1024 * 1024


def measure(effort: Effort) -> Findings:
    findings, broker = Findings(), Redis()
    try:
        with (
            database("postgres") as url,
            installed(url, workers=WORKERS) as bench,
            processes.muster_serve(url, BROKER_URL=broker.fresh()) as server,
        ):
            callers = effort.scaled(CALLERS)
            _idle(bench, server, callers, findings)
            _ordinary(bench, server, callers, effort, findings)
            _heard(bench, server, callers, findings)
    finally:
        broker.stop()
    return findings


@contextmanager
def _waiting(bench: Bench, server: Server, count: int) -> Iterator[list[socket.socket]]:
    """So many polls that wait, each on a connection of its own."""
    opened: list[socket.socket] = []
    try:
        for number in range(count):
            worker = bench.workers[number % WORKERS]
            path = f"/api/gigs/{bench.gig.id}/queue/poll?wait={WAIT_SECONDS}"
            head = {"content-type": "application/json", "x-api-key": worker.key}
            one = socket.create_connection(("127.0.0.1", server.port))
            opened.append(one)
            one.sendall(Request(server.port, "POST", path, head, b'{"count": 1}').encoded())
        _until_quiet(server)
        yield opened
    finally:
        for one in opened:
            one.close()
        _until_quiet(server)


def _until_quiet(server: Server) -> None:
    time.sleep(SETTLE_SECONDS)
    while True:
        before = server.cpu_seconds()
        time.sleep(0.5)
        if server.cpu_seconds() - before < 0.05:
            return


def _transactions(url: str) -> int:
    """What the server has counted in this database, asked from another one."""
    head, _, name = url.partition("?")[0].rpartition("/")
    query = url.partition("?")[2]
    elsewhere = f"{head}/postgres" + (f"?{query}" if query else "")
    with psycopg.connect(elsewhere, autocommit=True) as connection:
        found = connection.execute(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = %s", (name,)
        ).fetchone()
    assert found is not None
    return int(found[0])


def _idle(bench: Bench, server: Server, callers: int, findings: Findings) -> None:
    process = psutil.Process(server.process.pid)

    def idle() -> tuple[int, float, float]:
        time.sleep(COUNTED_SECONDS)
        before, cpu = _transactions(bench.url), server.cpu_seconds()
        time.sleep(IDLE_SECONDS)
        used = (server.cpu_seconds() - cpu) / IDLE_SECONDS
        time.sleep(COUNTED_SECONDS)
        return _transactions(bench.url) - before, used, process.memory_info().rss / MEGABYTE

    _until_quiet(server)
    alone = idle()
    with _waiting(bench, server, callers):
        together = idle()
    for name, (statements, cpu, memory) in (("nobody", alone), (f"{callers} polls", together)):
        findings.notes.append(
            f"{name} waiting, {IDLE_SECONDS + COUNTED_SECONDS:.0f} s in which nothing arrives: "
            f"{statements} transactions in the database, {cpu:.1%} of one core, "
            f"{memory:.0f} MB resident"
        )


def _ordinary(
    bench: Bench, server: Server, callers: int, effort: Effort, findings: Findings
) -> None:
    """Ordinary requests of another gig, with and without the callers who wait."""
    gig = bench.world.gig(title="Another")
    path = f"/api/inbound/webhook/{gig.id}?token={gig.token}"
    head = {"content-type": "application/json"}
    requests = [
        Request(server.port, "POST", path, head, PAYLOAD.encode()) for _ in range(CONNECTIONS)
    ]
    found: dict[bool, list[load.Counted]] = {False: [], True: []}
    load.run(requests, effort.seconds)
    for number in range(effort.rounds):
        for with_them in (False, True) if number % 2 == 0 else (True, False):
            if with_them:
                with _waiting(bench, server, callers):
                    found[True].append(load.run(requests, effort.seconds))
            else:
                found[False].append(load.run(requests, effort.seconds))
    rates = {key: [one.rate for one in counted] for key, counted in found.items()}
    p95 = {key: statistics.median(one.p95_ms for one in counted) for key, counted in found.items()}
    what = f"submit, {callers} polls waiting, PostgreSQL, http"
    findings.rows.append(
        Row("waiting", what, "requests/s", rates[True], "the same, nobody waiting", rates[False])
    )
    findings.notes.append(
        f"submissions of another gig over {CONNECTIONS} connections: p95 {p95[True]:.1f} ms with "
        f"{callers} waiting, {p95[False]:.1f} ms without, {p95[True] / p95[False]:.2f} times"
    )


def _heard(bench: Bench, server: Server, callers: int, findings: Findings) -> None:
    """From the commit of a submission in another process to the first byte of one's answer."""
    times: list[float] = []
    sent = Form(PAYLOAD, "application/json", "a task")
    with _waiting(bench, server, callers) as opened, selectors.DefaultSelector() as selector:
        for one in opened:
            selector.register(one, selectors.EVENT_READ)
        for _ in range(TASKS):
            submissions.submit(bench.gig.id, bench.gig.token, sent)
            committed = time.perf_counter()
            ready = selector.select(10)
            times.append((time.perf_counter() - committed) * 1000)
            assert len(ready) == 1, f"{len(ready)} answers to one task"
            answered = ready[0][0].fileobj
            assert isinstance(answered, socket.socket)
            _read_task(answered)
            selector.unregister(answered)
            time.sleep(0.05)
    times.sort()
    findings.notes.append(
        f"from the commit of a submission to the answer of one of {callers} waiting polls: "
        f"median {statistics.median(times):.1f} ms, p95 {times[int(len(times) * 0.95)]:.1f} ms"
    )


def _read_task(answered: socket.socket) -> None:
    got = b""
    while b'"mailbox_id"' not in got:
        part = answered.recv(262_144)
        assert part, got
        got += part
    assert b'"count": 1' in got, got
