"""Submissions a second over HTTP, beside bare HTTP and beside bare rows."""

from __future__ import annotations

import statistics
from contextlib import ExitStack

from tests.bench import bare_sql, load, processes
from tests.bench.install import KINDS, NAMES, PAYLOAD, Bench, database, installed
from tests.bench.load import Request
from tests.bench.measure import Contender, Effort, Findings, Row, in_turns, noise, rate_of
from tests.bench.processes import Server

CONNECTIONS = 16
# More connections than this make PostgreSQL no quicker on a small machine.
DATABASE_CONNECTIONS = 8
GROUP = 16
HEADERS = {"content-type": "application/json"}
TWO = "two servers"


def measure(effort: Effort) -> Findings:
    findings = Findings()
    for kind in KINDS:
        with database(kind) as url, installed(url) as bench:
            _measure(kind, bench, effort, findings)
    return findings


def _measure(kind: str, bench: Bench, effort: Effort, findings: Findings) -> None:
    servers = 1 if kind == "sqlite" else 2
    with ExitStack() as running:
        muster = [running.enter_context(processes.muster_serve(bench.url)) for _ in range(servers)]
        bare = [
            running.enter_context(processes.module("tests.bench.bare_flask"))
            for _ in range(servers)
        ]
        clients: list[load.Counted] = []
        cpu: dict[str, list[float]] = {}
        submit = f"/api/inbound/webhook/{bench.gig.id}?token={bench.gig.token}"

        def http(name: str, servers: list[Server], path: str) -> Contender:
            requests = [
                Request(servers[one % len(servers)].port, "POST", path, HEADERS, PAYLOAD.encode())
                for one in range(CONNECTIONS)
            ]

            def contender() -> float:
                before = sum(server.cpu_seconds() for server in servers)
                counted = load.run(requests, effort.seconds)
                used = sum(server.cpu_seconds() for server in servers) - before
                cpu.setdefault(name, []).append(used / max(1, counted.answers) * 1000)
                clients.append(counted)
                return counted.rate

            return contender

        contenders = {
            "muster": http("Muster", muster[:1], submit),
            "bare Flask": http("bare Flask", bare[:1], "/bare/x"),
            **_rows(kind, bench, effort),
            "bare Flask again": http("bare Flask", bare[:1], "/bare/x"),
        }
        if servers == 2:
            contenders["muster, two"] = http("Muster, two", muster, submit)
            contenders["bare Flask, two"] = http("bare Flask, two", bare, "/bare/x")
        rates = in_turns(contenders, effort.rounds)
    _report(kind, rates, findings)
    busy = max(counted.client_cpu for counted in clients)
    each = {name: statistics.median(ms) for name, ms in cpu.items()}
    findings.notes.append(
        f"submissions, {NAMES[kind]}: {CONNECTIONS} keep-alive connections; the client used "
        f"{busy:.0%} of one core at most; CPU of the server for each request: Muster "
        f"{each['Muster']:.2f} ms, bare Flask {each['bare Flask']:.2f} ms"
    )
    findings.notes.append(noise("bare Flask", rates["bare Flask"], rates["bare Flask again"]))


def _rows(kind: str, bench: Bench, effort: Effort) -> dict[str, Contender]:
    url, gig_id, seconds = bench.url, bench.gig.id, effort.seconds
    if kind == "postgres":
        threads = DATABASE_CONNECTIONS
        return {
            "bare rows": lambda: rate_of(
                threads, seconds, lambda _: bare_sql.submit_postgres(url, gig_id)
            )
        }
    return {
        "bare rows": lambda: rate_of(1, seconds, lambda _: bare_sql.submit_sqlite(url, gig_id, 1)),
        "bare rows, grouped": lambda: rate_of(
            1, seconds, lambda _: bare_sql.submit_sqlite(url, gig_id, GROUP)
        ),
    }


_LIMITS = {
    "bare Flask": "a trivial Flask route, same server and client",
    "bare rows": "the same rows, one commit each, no HTTP",
    "bare rows, grouped": f"the same rows, {GROUP} in each commit, no HTTP",
}


def _report(kind: str, rates: dict[str, list[float]], findings: Findings) -> None:
    what = f"submit, {NAMES[kind]}"
    for name, limit in _LIMITS.items():
        if name in rates:
            row = Row("submissions", what, "tasks/s", rates["muster"], limit, rates[name])
            findings.rows.append(row)
    if "muster, two" in rates:
        row = Row(
            "submissions",
            f"{what}, {TWO}",
            "tasks/s",
            rates["muster, two"],
            f"{_LIMITS['bare Flask']}, {TWO}",
            rates["bare Flask, two"],
        )
        findings.rows.append(row)
