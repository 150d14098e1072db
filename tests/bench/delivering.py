"""Deliveries a second to a receiver on this machine, beside a client that only posts."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
from standardwebhooks.webhooks import Webhook

from engine import events, webhook_secrets
from engine.db import db
from engine.ids import new_id
from engine.models.delivery import Delivery, Endpoint
from engine.models.gig import Gig
from jobs.http import DeliveryLoop
from tests.bench import processes
from tests.bench.install import KINDS, NAMES, Bench, database, installed
from tests.bench.measure import Effort, Findings, Row, in_turns, noise

PER_ENDPOINT = 4
# (endpoints, deliveries in one measurement)
SHAPES = ((1, 150), (20, 400))
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Posted:
    """What was delivered, for the bare client to post once more."""

    url: str
    secret: str
    delivery_id: str
    body: str


def measure(effort: Effort) -> Findings:
    findings = Findings()
    for kind in KINDS:
        with (
            database(kind) as url,
            processes.module("tests.bench.bare_receiver") as receiver,
            installed(url, WEBHOOK_ALLOW_PRIVATE="loopback") as bench,
        ):
            for endpoints, count in SHAPES:
                _measure(
                    kind, bench, receiver.port, endpoints, effort.scaled(count), effort, findings
                )
    return findings


def _measure(
    kind: str,
    bench: Bench,
    port: int,
    endpoints: int,
    count: int,
    effort: Effort,
    findings: Findings,
) -> None:
    gigs = [
        bench.world.gig(bench.gig.owner, proof_webhook_url=f"http://127.0.0.1:{port}/{number}").id
        for number in range(endpoints)
    ]
    width = endpoints * PER_ENDPOINT
    contenders = {
        "muster": lambda: _deliver(gigs, count),
        "bare": lambda: _post_bare(gigs, count, width),
        "bare again": lambda: _post_bare(gigs, count, width),
    }
    rates = in_turns(contenders, effort.rounds)
    many = "endpoint" if endpoints == 1 else "endpoints"
    what = f"deliver to {endpoints} {many}, {NAMES[kind]}"
    limit = f"a bare aiohttp client, signing, {width} posts at once"
    findings.rows.append(Row("deliveries", what, "events/s", rates["muster"], limit, rates["bare"]))
    findings.notes.append(
        f"deliveries: posting alone takes {1000 / statistics.median(rates['bare']):.1f} ms each, "
        f"the loop {1000 / statistics.median(rates['muster']):.1f} ms ({what})"
    )
    findings.notes.append(noise("bare posts", rates["bare"], rates["bare again"]))


def _append(gig_ids: list[str], count: int) -> None:
    def write() -> None:
        for number in range(count):
            gig_id = gig_ids[number % len(gig_ids)]
            proof_id = new_id("PROOF")
            events.append(
                "proof.submitted",
                events.Subject("proof", proof_id),
                actor="bench",
                gig_id=gig_id,
                data={
                    "mailbox_id": new_id("MBX"),
                    "proof_id": proof_id,
                    "task_identifier": new_id("TASK"),
                    "locked_price": 2.5,
                    "private_note_locked": False,
                    "resubmitted": False,
                },
            )

    db.write(write)


def _undelivered() -> int:
    with db.reading():
        return int(Delivery.select().where(Delivery.status != "delivered").count())


def _deliver(gig_ids: list[str], count: int) -> float:
    """From the start of the loop until every outcome is stored."""
    _append(gig_ids, count)
    loop = DeliveryLoop(allow="loopback", per_endpoint=PER_ENDPOINT)
    began = time.perf_counter()
    loop.start()
    try:
        while _undelivered():
            assert time.perf_counter() - began < PATIENCE_SECONDS, "not delivered in time"
            time.sleep(0.02)
        return count / (time.perf_counter() - began)
    finally:
        loop.stop()


def _post_bare(gig_ids: list[str], count: int, width: int) -> float:
    """The same bodies to the same receivers, signed, by `width` workers of one session."""
    posted = _delivered(gig_ids, count)
    assert len(posted) == count

    async def work(session: aiohttp.ClientSession, left: Iterator[Posted]) -> None:
        for one in left:
            at = datetime.now(UTC)
            headers = {
                "content-type": "application/json",
                "webhook-id": one.delivery_id,
                "webhook-timestamp": str(int(at.timestamp())),
                "webhook-signature": Webhook(one.secret).sign(one.delivery_id, at, one.body),
            }
            async with session.post(one.url, data=one.body.encode(), headers=headers) as answer:
                assert answer.status == 200, answer.status
                await answer.read()

    async def post_all() -> float:
        left = iter(posted)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            began = time.perf_counter()
            await asyncio.gather(*(work(session, left) for _ in range(width)))
            return count / (time.perf_counter() - began)

    return asyncio.run(post_all())


def _delivered(gig_ids: list[str], count: int) -> list[Posted]:
    with db.reading():
        secrets = {
            gig.id: webhook_secrets.of(gig) for gig in Gig.select().where(Gig.id.in_(gig_ids))
        }
        known = {row.id: row for row in Endpoint.select().where(Endpoint.owner_id.in_(gig_ids))}
        rows = (
            Delivery.select()
            .where(Delivery.endpoint_id.in_(list(known)))
            .order_by(Delivery.created_at.desc(), Delivery.id)
            .limit(count)
        )
        return [
            Posted(
                known[row.endpoint_id].url,
                secrets[known[row.endpoint_id].owner_id],
                row.id,
                row.body,
            )
            for row in rows
        ]
