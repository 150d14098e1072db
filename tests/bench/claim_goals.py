"""Whether a claim stays as quick: in a long queue, behind many declined tasks, without vacuum,
beside the plainest statement, and on SQLite with many who poll at once.

Rows in ms are better when their ratio is small.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from itertools import cycle

from engine import polls
from engine.db import db
from engine.operations import Caller
from tests.bench import bare_sql
from tests.bench.install import Bench, database, installed, stock
from tests.bench.measure import Effort, Findings, Row, in_turns, rate_of

FEW, MANY, QUICK_MANY = 1_000, 1_000_000, 20_000
DECLINED = 10_000
POLLS = 200
THREADS = 8
POLLERS = 64
# Claims without a vacuum, and those at both ends whose rates are compared.
CLAIMS, QUICK_CLAIMS, END = 500_000, 20_000, 10_000
COUNT = 20
# How old a reader's snapshot gets, which keeps every dead row of the claims since.
SNAPSHOT_SECONDS = 30.0

_DECLINE = """
INSERT INTO exclusion (mailbox_id, task_number, reason, at)
SELECT ?, task_number, 'declined', 0 FROM queue_entry WHERE shelf = ?
ORDER BY sort_key LIMIT ? ON CONFLICT DO NOTHING
"""
# What the plain statement took has left its entry behind.
_TIDY = """
DELETE FROM queue_entry WHERE task_number IN (SELECT number FROM task WHERE status <> 'queued')
"""
_FORGET = "UPDATE mailbox SET cursor_key = NULL, cursor_as_of = NULL WHERE id = ?"
_TABLES = ("queue_entry", "task", "mailbox", "take")


def measure(effort: Effort, findings: Findings) -> None:
    quick = effort.rounds == 1
    many = QUICK_MANY if quick else MANY
    with database("postgres") as few_url, installed(few_url, workers=1) as few:
        at_few = _depth(few, FEW, effort)
    with database("postgres") as url, installed(url, workers=THREADS) as bench:
        at_many = _depth(bench, many, effort)
        for name in ("p50", "p99"):
            findings.rows.append(
                Row(
                    "claims",
                    f"a poll of 2 in process, {many:,} queued, {name}",
                    "ms",
                    at_many[name],
                    f"the same with {FEW:,}",
                    at_few[name],
                )
            )
        _behind_declines(bench, effort, findings)
        _beside_the_plain_one(bench, effort, findings)
    _without_vacuum(QUICK_CLAIMS if quick else CLAIMS, findings)
    _under_an_old_snapshot(5.0 if quick else SNAPSHOT_SECONDS, findings)
    _many_pollers(effort, findings)


def _depth(bench: Bench, queued: int, effort: Effort) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {"p50": [], "p99": []}
    for _ in range(effort.rounds):
        stock(bench.gig.id, queued)
        _keep(found, _times(bench, 0, min(POLLS, queued // 4)))
    return found


def _keep(found: dict[str, list[float]], times: list[float]) -> None:
    times = sorted(times)
    found["p50"].append(statistics.median(times))
    found["p99"].append(times[int(len(times) * 0.99)])


def _times(
    bench: Bench, worker: int, many: int, before: Callable[[], None] | None = None
) -> list[float]:
    """Milliseconds of each poll, one after the other."""
    caller, times = Caller(bench.workers[worker].id), []
    for _ in range(many):
        if before is not None:
            before()
        began = time.perf_counter()
        polled = polls.poll(caller, bench.gig.id, 2)
        times.append((time.perf_counter() - began) * 1000)
        assert len(polled.tasks) == 2
    return times


def _behind_declines(bench: Bench, effort: Effort, findings: Findings) -> None:
    """One who has declined what is at the head, one who has not; and the head read each time."""
    mine = bench.mailbox_id(1)
    db.write(lambda: db.rows(_DECLINE, (mine, bench.gig.id, DECLINED)))
    with db.reading():
        db.rows("VACUUM (ANALYZE) exclusion")
    forget = lambda: db.write(lambda: db.rows(_FORGET, (mine,)))  # noqa: E731
    found: dict[str, dict[str, list[float]]] = {
        name: {"p50": [], "p99": []} for name in ("with", "without", "from the head")
    }
    _times(bench, 1, 1)
    for _ in range(effort.rounds):
        _keep(found["with"], _times(bench, 1, POLLS))
        _keep(found["without"], _times(bench, 2, POLLS))
        _keep(found["from the head"], _times(bench, 1, POLLS // 10, forget))
        # His own cursor again.
        _times(bench, 1, 1)
    what = f"the same with {DECLINED:,} declined at the head"
    rows = (
        (what, "with", "by one who has declined nothing", "without"),
        ("the same, read from the head each time", "from the head", "from his cursor", "with"),
    )
    for told, name, limit, other in rows:
        rates, limits = found[name]["p50"], found[other]["p50"]
        findings.rows.append(Row("claims", f"{told}, p50", "ms", rates, limit, limits))


def _beside_the_plain_one(bench: Bench, effort: Effort, findings: Findings) -> None:
    with db.reading():
        db.rows(bare_sql.PLAIN_INDEX)
        db.rows("VACUUM (ANALYZE) task")
        db.rows("VACUUM (ANALYZE) queue_entry")

    def rate(claim: Callable[..., bare_sql.Step], count: int) -> Callable[[], float]:
        def run() -> float:
            db.write(lambda: db.rows(_TIDY))
            stock(bench.gig.id, 10_000 if count == 2 else 40_000)
            return rate_of(
                THREADS,
                effort.seconds,
                lambda n: claim(bench.url, bench.gig.id, bench.mailbox_id(n), count),
            )

        return run

    for count in (2, COUNT):
        rates = in_turns(
            {
                "full": rate(bare_sql.claim_postgres, count),
                "plain": rate(bare_sql.claim_plainly, count),
            },
            effort.rounds,
        )
        findings.rows.append(
            Row(
                "claims",
                f"the claim of {count} alone, by psycopg",
                "polls/s",
                rates["full"],
                "UPDATE … SKIP LOCKED on the tasks",
                rates["plain"],
            )
        )


def _without_vacuum(claims: int, findings: Findings) -> None:
    with database("postgres") as url, installed(url, workers=1) as bench:
        with db.reading():
            for table in _TABLES:
                db.rows(f"ALTER TABLE {table} SET (autovacuum_enabled = false)")
        stock(bench.gig.id, claims)
        step = bare_sql.claim_postgres(url, bench.gig.id, bench.mailbox_id(0), COUNT)
        end = min(END, claims // 4)
        rates = []
        for tasks in (end, claims - 2 * end, end):
            began = time.perf_counter()
            for _ in range(tasks // COUNT):
                assert step() == 1
            rates.append(tasks / (time.perf_counter() - began))
        what = f"the last {end:,} of {claims:,} claims without vacuum"
        first, last = [rates[0]], [rates[2]]
        findings.rows.append(Row("claims", what, "tasks/s", last, f"the first {end:,}", first))


def _under_an_old_snapshot(seconds: float, findings: Findings) -> None:
    with database("postgres") as url, installed(url, workers=POLLERS) as bench:
        stock(bench.gig.id, int(seconds * 20_000))
        mailboxes = (bench.mailbox_id(number) for number in range(POLLERS))
        steps = cycle([bare_sql.claim_postgres(url, bench.gig.id, one, COUNT) for one in mailboxes])
        with bare_sql.postgres(url) as reader:
            reader.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            reader.execute("SELECT count(*) FROM mailbox")
            # Tasks and seconds, second by second.
            taken: list[tuple[int, float]] = []
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                began, claims = time.perf_counter(), 0
                while time.perf_counter() - began < 1:
                    assert next(steps)() == 1
                    claims += 1
                taken.append((claims * COUNT, time.perf_counter() - began))
            reader.execute("ROLLBACK")
        rates = [tasks / took for tasks, took in (taken[0], taken[-1])]
        what = f"claims of {COUNT} at the end of {seconds:.0f} s under one snapshot"
        findings.rows.append(
            Row("claims", what, "tasks/s", [rates[1]], "in its first second", [rates[0]])
        )


def _many_pollers(effort: Effort, findings: Findings) -> None:
    with database("sqlite") as url, installed(url, workers=POLLERS) as bench:
        longest: list[float] = []

        def together() -> float:
            stock(bench.gig.id, 20_000)
            slowest = [0.0] * POLLERS

            def make(number: int) -> bare_sql.Step:
                caller = Caller(bench.workers[number].id)

                def step() -> int:
                    began = time.perf_counter()
                    taken = polls.poll(caller, bench.gig.id, 2).tasks
                    slowest[number] = max(slowest[number], time.perf_counter() - began)
                    return len(taken) // 2

                return step

            rate = rate_of(POLLERS, effort.seconds, make)
            longest.append(max(slowest) * 1000)
            return rate

        def alone() -> float:
            stock(bench.gig.id, 20_000)
            return rate_of(
                POLLERS,
                effort.seconds,
                lambda n: bare_sql.claim_sqlite(url, bench.gig.id, bench.mailbox_id(n), 2),
            )

        rates = in_turns({"together": together, "alone": alone}, effort.rounds)
        findings.rows.append(
            Row(
                "claims",
                f"poll 2, SQLite, {POLLERS} in process",
                "polls/s",
                rates["together"],
                "SQLite's lock for each poll",
                rates["alone"],
            )
        )
        findings.notes.append(
            f"SQLite, {POLLERS} who poll at once: the longest poll took "
            f"{statistics.median(longest):.0f} ms"
        )
