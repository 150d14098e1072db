"""Fetching and finishing jobs, beside two job queues that also live in PostgreSQL.

Each is measured through its own calls, by as many consumers, in one process, on one server. Ours
is the claiming statement with all that it does (limits, what was declined, the cursor), and the
task marked as handed in; theirs is the call that their workers fetch and finish by.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from urllib.parse import urlsplit
from uuid import uuid4

import asyncpg
import procrastinate
import psycopg
from pgqueuer.db import AsyncpgDriver
from pgqueuer.ports.repository import EntrypointExecutionParameter
from pgqueuer.queries import Queries
from procrastinate.jobs import Status

from tests.bench import bare_sql
from tests.bench.install import Bench, installed, stock
from tests.bench.measure import Effort, Findings, Row, in_turns, rate_of
from tests.services import Postgres

CONSUMERS = 8
WAITING = 20_000
MANY = 20
AT_ONCE = 5_000

# What a consumer does again and again; answers how many jobs it has finished.
Job = Callable[[], Awaitable[int]]


def measure(effort: Effort) -> Findings:
    findings = Findings()
    server = Postgres()
    # Both tell of each call.
    logging.disable(logging.WARNING)
    try:
        with installed(server.fresh(), workers=CONSUMERS) as bench:
            _measure(server, bench, effort, findings)
    finally:
        logging.disable(logging.NOTSET)
        server.stop()
    return findings


def _measure(server: Postgres, bench: Bench, effort: Effort, findings: Findings) -> None:
    procrastinated, queued = server.fresh(), server.fresh()
    asyncio.run(_install_procrastinate(procrastinated))
    asyncio.run(_install_pgqueuer(queued))
    rates = in_turns(
        {
            "ours 1": lambda: _ours(bench, 1, effort),
            "ours 20": lambda: _ours(bench, MANY, effort),
            "procrastinate 1": lambda: asyncio.run(_procrastinate(procrastinated, effort)),
            "pgqueuer 1": lambda: asyncio.run(_pgqueuer(queued, 1, effort)),
            "pgqueuer 20": lambda: asyncio.run(_pgqueuer(queued, MANY, effort)),
        },
        effort.rounds,
    )
    for count, peer in ((1, "procrastinate"), (1, "pgqueuer"), (MANY, "pgqueuer")):
        what = f"fetch and finish, {count} at a time, {CONSUMERS} consumers"
        ours, theirs = rates[f"ours {count}"], rates[f"{peer} {count}"]
        findings.rows.append(Row("peers", what, "jobs/s", ours, peer, theirs))


def _ours(bench: Bench, count: int, effort: Effort) -> float:
    stock(bench.gig.id, WAITING if count == 1 else 3 * WAITING)

    def consumer(number: int) -> bare_sql.Step:
        mailbox_id = bench.mailbox_id(number)
        claim = bare_sql.claim_postgres(bench.url, bench.gig.id, mailbox_id, count)
        finish = bare_sql.finish_postgres(bench.url, mailbox_id)

        def step() -> int:
            return finish() if claim() else 0

        return step

    return rate_of(CONSUMERS, effort.seconds, consumer)


async def _rate(jobs: list[Job], seconds: float) -> float:
    """Jobs a second of consumers that share an event loop."""
    done, began = 0, time.perf_counter()

    async def consume(job: Job) -> None:
        nonlocal done
        while time.perf_counter() - began < seconds:
            finished = await job()
            done += finished
            if not finished:
                return

    await asyncio.gather(*(consume(job) for job in jobs))
    return done / (time.perf_counter() - began)


def _app(url: str) -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(conninfo=url, min_size=CONSUMERS, max_size=CONSUMERS)
    return procrastinate.App(connector=connector)


async def _install_procrastinate(url: str) -> None:
    async with _app(url).open_async() as app:
        await app.schema_manager.apply_schema_async()


async def _procrastinate(url: str, effort: Effort) -> float:
    async with _app(url).open_async() as app:
        task = app.task(name="job", queue="bench")(lambda x: None)
        for _ in range(WAITING // AT_ONCE):
            await task.batch_defer_async(*({"x": n} for n in range(AT_ONCE)))
        _vacuum(url)
        worker_id = await app.job_manager.register_worker()

        async def one() -> int:
            job = await app.job_manager.fetch_job(queues=["bench"], worker_id=worker_id)
            if job is None:
                return 0
            await app.job_manager.finish_job(job, Status.SUCCEEDED, delete_job=False)
            return 1

        return await _rate([one] * CONSUMERS, effort.seconds)


async def _install_pgqueuer(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await Queries(AsyncpgDriver(connection)).install()
    finally:
        await connection.close()


async def _pgqueuer(url: str, count: int, effort: Effort) -> float:
    connections = [await asyncpg.connect(url) for _ in range(CONSUMERS)]
    try:
        clients = [Queries(AsyncpgDriver(connection)) for connection in connections]
        for _ in range((WAITING if count == 1 else 3 * WAITING) // AT_ONCE):
            await clients[0].enqueue(["job"] * AT_ONCE, [b"x"] * AT_ONCE, [0] * AT_ONCE)
        _vacuum(url)
        wanted = {"job": EntrypointExecutionParameter(concurrency_limit=0)}

        def consumer(client: Queries) -> Job:
            manager_id = uuid4()

            async def some() -> int:
                jobs = await client.dequeue(
                    batch_size=count,
                    entrypoints=wanted,  # type: ignore[arg-type]
                    queue_manager_id=manager_id,  # type: ignore[arg-type]
                    global_concurrency_limit=None,
                    heartbeat_timeout=timedelta(seconds=30),
                )
                if jobs:
                    await client.log_jobs([(job, "successful", None) for job in jobs])
                return len(jobs)

            return some

        return await _rate([consumer(client) for client in clients], effort.seconds)
    finally:
        for connection in connections:
            await connection.close()


def _vacuum(url: str) -> None:
    """So that each finds its tables as clean as ours are."""
    assert urlsplit(url).scheme.startswith("postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (ANALYZE)")
