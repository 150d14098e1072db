"""Claims: how many a second, over HTTP, in process and by the bare statement, and how that holds
when the queue is long, much was declined, or nothing was cleaned up for a while."""

from __future__ import annotations

import statistics

from engine import polls
from engine.operations import Caller
from tests.bench import bare_sql, claim_goals, load, processes
from tests.bench.install import KINDS, NAMES, Bench, database, installed, stock
from tests.bench.load import Request
from tests.bench.measure import Contender, Effort, Findings, Row, in_turns, noise, rate_of
from tests.bench.processes import Server

CONNECTIONS = 16
COUNTS = (2, 20)
DATABASE_CONNECTIONS = 8
# Enough waiting tasks that no measurement runs out of them.
STOCK = {2: 10_000, 20: 50_000}


def measure(effort: Effort) -> Findings:
    findings = Findings()
    for kind in KINDS:
        with (
            database(kind) as url,
            installed(url, workers=CONNECTIONS) as bench,
            processes.muster_serve(url) as server,
        ):
            for count in COUNTS:
                _measure(kind, bench, server, count, effort, findings)
    claim_goals.measure(effort, findings)
    return findings


def _measure(
    kind: str, bench: Bench, server: Server, count: int, effort: Effort, findings: Findings
) -> None:
    clients: list[load.Counted] = []
    bare = "bare statement" if kind == "postgres" else "lock per poll"
    cpu: list[float] = []

    def http() -> float:
        before = server.cpu_seconds()
        rate = _http(bench, server.port, count, effort, clients)
        cpu.append((server.cpu_seconds() - before) / max(1, clients[-1].answers) * 1000)
        return rate

    contenders = {
        "http": _stocked(bench, count, http),
        "in process": _stocked(bench, count, lambda: _in_process(bench, count, effort)),
        bare: _stocked(bench, count, lambda: _bare(kind, bench, count, effort)),
        f"{bare} again": _stocked(bench, count, lambda: _bare(kind, bench, count, effort)),
    }
    rates = in_turns(contenders, effort.rounds)
    limit = (
        "the claiming statement alone, by psycopg"
        if kind == "postgres"
        else f"the same statements, {CONNECTIONS} connections, SQLite's lock for each poll"
    )
    for name in ("http", "in process"):
        what = f"poll {count}, {NAMES[kind]}, {name}"
        findings.rows.append(Row("claims", what, "polls/s", rates[name], limit, rates[bare]))
    what = f"poll {count}, {NAMES[kind]}, http"
    row = Row(
        "claims", what, "polls/s", rates["http"], "polls.poll in process", rates["in process"]
    )
    findings.rows.append(row)
    busy = max(counted.client_cpu for counted in clients)
    findings.notes.append(
        f"claims of {count}, {NAMES[kind]}: {CONNECTIONS} connections, a worker each; the client "
        f"used {busy:.0%} of one core at most; CPU of the server for each poll "
        f"{statistics.median(cpu):.2f} ms"
    )
    findings.notes.append(noise(bare, rates[bare], rates[f"{bare} again"]))


def _stocked(bench: Bench, count: int, contender: Contender) -> Contender:
    def with_tasks() -> float:
        stock(bench.gig.id, STOCK[count])
        return contender()

    return with_tasks


def _http(
    bench: Bench, port: int, count: int, effort: Effort, clients: list[load.Counted]
) -> float:
    body = f'{{"count": {count}}}'.encode()
    requests = [
        Request(
            port,
            "POST",
            f"/api/gigs/{bench.gig.id}/queue/poll",
            {"content-type": "application/json", "x-api-key": worker.key},
            body,
        )
        for worker in bench.workers
    ]
    counted = load.run(requests, effort.seconds, stop_at='"tasks": []')
    clients.append(counted)
    return counted.rate


def _in_process(bench: Bench, count: int, effort: Effort) -> float:
    callers = [Caller(worker.id) for worker in bench.workers]

    def make(number: int) -> bare_sql.Step:
        caller = callers[number]

        def step() -> int:
            taken = polls.poll(caller, bench.gig.id, count).tasks
            return 1 if len(taken) == count else 0

        return step

    # More threads than the pool has connections would only wait for one.
    threads = DATABASE_CONNECTIONS if bench.url.startswith("postgres") else CONNECTIONS
    return rate_of(threads, effort.seconds, make)


def _bare(kind: str, bench: Bench, count: int, effort: Effort) -> float:
    claim = bare_sql.claim_postgres if kind == "postgres" else bare_sql.claim_sqlite
    threads = DATABASE_CONNECTIONS if kind == "postgres" else CONNECTIONS
    return rate_of(
        threads,
        effort.seconds,
        lambda number: claim(bench.url, bench.gig.id, bench.mailbox_id(number), count),
    )
