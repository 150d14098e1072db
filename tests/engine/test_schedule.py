"""The bell: each slot once, however many schedulers ring; and what is swept out by it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable

import pytest

from engine import clock, counters, slots
from engine.counters import Limit
from engine.db import db
from engine.models.access import Counter as CounterRow
from engine.models.access import OneTimePassword, StoredAnswer
from jobs import schedule
from jobs.actors import JOBS
from jobs.schedule import Scheduler
from tests.world import World, at_once, eventually

PROOFS = 20
HOUR, DAY = 3600, 86_400


def schedulers(world: World, ring: Callable[[str], None], count: int = 4) -> list[Scheduler]:
    """So many, as if each had a process of its own."""
    return [Scheduler(world.settings, f"holder-{number}", ring) for number in range(count)]


@pytest.mark.case("F09")
def test_each_slot_is_rung_once_whoever_leads(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    claimed: list[tuple[str, int]] = []
    heard: list[str] = []
    plain = slots.claim

    def claim(job: str, slot: int) -> bool:
        won = plain(job, slot)
        if won:
            claimed.append((job, slot))
        return won

    monkeypatch.setattr(schedule.slots, "claim", claim)
    alive = schedulers(world, heard.append)
    for step in range(18):
        if step in (6, 12):
            # Killed: whoever leads is gone, and his lease runs out by itself.
            leader = world.runtime.leader()
            alive = [one for one in alive if one._holder != leader]
        clock.advance(world.settings.SWEEP_SECONDS)
        ticks = [one.tick for one in alive]
        at_once(len(ticks), lambda number, ticks=ticks: ticks[number]())

    assert len(alive) == 2
    assert len(claimed) == len(set(claimed)), "no slot twice"
    rung = Counter(heard)
    by_job = Counter(job for job, _ in claimed)
    # The first slot of the settlement is only noted down.
    assert rung == by_job - Counter({"settle": 1})
    assert rung["sweep"] >= 17 and rung["review"] >= 17 and rung["forget"] >= 1


@pytest.mark.case("F09")
@pytest.mark.rule("R-05")
def test_twenty_overdue_proofs_are_approved_once_each_while_schedulers_die(world: World) -> None:
    gig = world.gig(review_timeout=HOUR)
    worker = world.worker(gig)
    for _ in range(PROOFS):
        worker.post(f"{gig.path}/proofs", {"task_identifier": world.task(gig)})

    def ring(job: str) -> None:
        if job == "review":
            JOBS[job]()

    dead = [threading.Event() for _ in range(4)]
    running = schedulers(world, ring)

    def tick(number: int) -> None:
        while not dead[number].is_set():
            running[number].tick()

    threads = [threading.Thread(target=tick, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    clock.advance(HOUR + 1)
    first = eventually(world.runtime.leader)
    dead[int(first[-1])].set()
    dead[(int(first[-1]) + 1) % 4].set()

    def approved() -> list[str]:
        found = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
        return [one["subject"]["id"] for one in found if one["type"] == "proof.approved"]

    def all_are() -> bool:
        clock.advance(world.settings.REVIEW_SECONDS)
        return len(approved()) >= PROOFS

    try:
        eventually(all_are)
        # Whoever rang twice has had the time to.
        for _ in range(3):
            clock.advance(HOUR)
            eventually(world.runtime.leader)
    finally:
        for event in dead:
            event.set()
        for thread in threads:
            thread.join()
    assert Counter(approved()) == Counter(set(approved())) and len(approved()) == PROOFS


@pytest.mark.rule("H-07")
@pytest.mark.rule("H-12")
def test_what_is_over_is_swept_out_by_the_hour_and_the_rest_stays(world: World) -> None:
    person = world.person()
    limit = Limit("test", 5, HOUR)

    def rows() -> dict[str, int]:
        tables = {"counters": CounterRow, "answers": StoredAnswer, "codes": OneTimePassword}
        with db.reading():
            return {name: table.select().count() for name, table in tables.items()}

    def use(number: int) -> None:
        counters.hit(limit, f"subject-{number}")
        headers = {"idempotency-key": f"key-{number}"}
        person.call("POST", "/wallets", {}, headers=headers).ok()

    (one,) = schedulers(world, lambda job: JOBS[job]() if job == "forget" else None, 1)
    use(1)
    world.call("POST", "/auth/send-otp", {"email": "ana@example.com"}).ok()
    assert rows() == {"counters": 3, "answers": 1, "codes": 1}
    one.tick()
    assert rows() == {"counters": 3, "answers": 1, "codes": 1}
    clock.advance(HOUR)
    use(2)
    one.tick()
    assert rows() == {"counters": 1, "answers": 2, "codes": 0}
    clock.advance(DAY - HOUR)
    one.tick()
    assert rows() == {"counters": 0, "answers": 1, "codes": 0}
