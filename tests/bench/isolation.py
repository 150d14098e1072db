"""Do a dead, a slow and a dripping endpoint delay the others (W-05)? p95 with them ÷ without."""

from __future__ import annotations

import statistics
import time
from functools import partial

import requests

from engine import events
from engine.db import db
from engine.ids import new_id
from engine.models.delivery import Attempt, Delivery
from jobs.http import DeliveryLoop
from tests.bench import processes
from tests.bench.install import KINDS, NAMES, Bench, database, installed
from tests.bench.measure import Effort, Findings, Row, in_turns

ENDPOINTS = 20
BAD = ("dead", "slow", "drip")
# How many events are appended in a second: well below what the loop can send, so that what is
# measured is waiting for one another and not for the machine.
EVENTS_A_SECOND = 120
NOBODY_LISTENS = 9
PATIENCE_SECONDS = 60


def measure(effort: Effort) -> Findings:
    findings = Findings()
    count = effort.scaled(effort.events)
    for kind in KINDS:
        with (
            database(kind) as url,
            processes.module("tests.bench.bare_receiver") as receiver,
            installed(url, WEBHOOK_ALLOW_PRIVATE="yes", WEBHOOK_PORTS=f"{NOBODY_LISTENS}") as bench,
        ):
            good = _gigs(bench, receiver.port, [f"timed/{n}" for n in range(ENDPOINTS)])
            bad = _gigs(bench, receiver.port, BAD)
            mixed = good[: ENDPOINTS - len(BAD)] + bad
            contenders = {
                "beside bad": partial(_p95_ms, receiver.port, mixed, count),
                "beside good": partial(_p95_ms, receiver.port, good, count),
            }
            found = in_turns(contenders, effort.rounds)
            what = f"p95 of {ENDPOINTS - len(BAD)} endpoints beside {len(BAD)} bad, {NAMES[kind]}"
            limit = f"the same beside {len(BAD)} more that answer at once"
            row = Row("isolation", what, "ms", found["beside bad"], limit, found["beside good"])
            findings.rows.append(row)
    findings.notes.append(
        f"isolation: {ENDPOINTS} endpoints × {count} events at {EVENTS_A_SECOND}/s; bad ones: "
        "one refuses, one answers after 20 s, one drips its headers; from commit to receipt"
    )
    return findings


def _gigs(bench: Bench, port: int, paths: list[str] | tuple[str, ...]) -> list[str]:
    made = []
    for path in paths:
        where = NOBODY_LISTENS if path == "dead" else port
        url = f"http://127.0.0.1:{where}/{path}"
        made.append(bench.world.gig(bench.gig.owner, proof_webhook_url=url).id)
    return made


def _append(gig_id: str) -> None:
    def write() -> None:
        data = {"proof_id": new_id("PROOF"), "locked_price": 2.5}
        subject = events.Subject("proof", data["proof_id"])
        events.append("proof.submitted", subject, actor="bench", gig_id=gig_id, data=data)

    db.write(write)


def _forget() -> None:
    """What the bad ones still owe must not be in the next round's way."""
    owed = Delivery.select(Delivery.id).where(Delivery.status != "delivered")
    Attempt.delete().where(Attempt.delivery_id.in_(owed)).execute()
    Delivery.delete().where(Delivery.status != "delivered").execute()


def _p95_ms(port: int, gig_ids: list[str], count: int) -> float:
    receiver = f"http://127.0.0.1:{port}"
    requests.get(f"{receiver}/latencies", timeout=10)
    loop = DeliveryLoop(allow="private", ports=frozenset({NOBODY_LISTENS, port}), timeout_seconds=5)
    loop.start()
    healthy = count * (len(gig_ids) - len(BAD))
    latencies: list[float] = []
    try:
        began = time.perf_counter()
        for number in range(count * len(gig_ids)):
            _append(gig_ids[number % len(gig_ids)])
            loop.wake()
            ahead = number / EVENTS_A_SECOND - (time.perf_counter() - began)
            if ahead > 0:
                time.sleep(ahead)
        until = time.perf_counter() + PATIENCE_SECONDS
        while len(latencies) < healthy:
            assert time.perf_counter() < until, f"{len(latencies)} of {healthy} arrived"
            latencies += requests.get(f"{receiver}/latencies", timeout=10).json()
            time.sleep(0.1)
    finally:
        loop.stop()
        db.write(_forget)
    return statistics.quantiles(latencies, n=20)[-1]
