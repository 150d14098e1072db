"""A claim's time runs out in the moment in which its holder and the owner both act on it."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable

import pytest

from engine import clock, holds
from engine.db import db
from engine.models.proof import Proof
from engine.models.task import QueueEntry, Task
from tests.engine.holding import TIMEOUT, act, claim, mailbox_id, poll
from tests.processes import SQLITE_MANY, Layout, Starter
from tests.world import Gig, Person, World, at_once, eventually

ROUNDS = [
    pytest.param(100, id="100-rounds"),
    pytest.param(2000, id="2000-rounds", marks=pytest.mark.soak),
]
Plays = list[Callable[[], int]]
HOLDERS, OWNERS = ("proof", "decline", "violation", "heartbeat"), ("extend", "recycle")
# What ends a claim, by the event that tells of it.
ENDS = {
    "proof.submitted": "proof",
    "task.declined": "decline",
    "task.violation": "violation",
    "task.recycled": "recycle",
    "task.expired": "expire",
}
MAY_ANSWER = {True: (200, 201, 409, 410), False: (200, 409)}


def _ends(task_id: str) -> list[str]:
    """What ended the claim, as the log tells it, in order."""
    kinds = ", ".join(f"'{kind}'" for kind in ENDS)
    found = db.rows(
        "SELECT type FROM event WHERE type IN (" + kinds + ") AND (subject_id = ? OR subject_id IN "
        "(SELECT id FROM proof WHERE task_id = ?)) ORDER BY seq",
        (task_id, task_id),
    )
    return [ENDS[kind] for (kind,) in found]


def _check(gig: Gig, worker: Person, task_id: str, done: dict[str, int]) -> str:
    """One end or none, which the answers, the log and the rows all tell of; answers it."""
    with db.reading():
        ends = _ends(task_id)
        task = Task.get(Task.id == task_id)
        entries = QueueEntry.select().where(QueueEntry.task_number == task.number).count()
        proofs = Proof.select().where(Proof.task_id == task_id).count()
    for what, status in done.items():
        assert status in MAY_ANSWER[what in HOLDERS], (what, status)
    told = [what for what in ENDS.values() if done.get(what, 0) in (200, 201)]
    if {"decline", "violation"} <= set(told):
        # Whoever has reported it has passed on it; who has passed on it may say why. The log has
        # what happens at once by when its transaction began, which may be the other way round.
        assert sorted(ends[:2]) in (["decline", "violation"], ["proof", "violation"], ["violation"])
        told.remove("decline")
        ends = [end for end in ends if end != "decline"]
    assert sorted(told) == sorted(end for end in ends if end != "expire")
    if ends[1:] == ["proof"] and ends[0] in ("decline", "violation"):
        # It waited by then, and he took it again with his proof.
        ends = ["proof"]
    assert len(ends) <= 1
    end = ends[0] if ends else "none"
    if end == "none":
        assert (task.status, task.mailbox_id) == ("claimed", mailbox_id(worker))
    elif end == "proof":
        assert (task.status, task.mailbox_id) == ("submitted", mailbox_id(worker))
    else:
        assert (task.status, task.mailbox_id) == ("queued", None)
    assert (entries, proofs) == (int(task.status == "queued"), int(end == "proof"))
    return end


@pytest.mark.case("F03")
@pytest.mark.rule("Q-07")
@pytest.mark.rule("A-02")
@pytest.mark.parametrize("rounds", ROUNDS)
def test_however_they_meet_one_thing_becomes_of_a_claim(world: World, rounds: int) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker, other = world.worker(gig), world.worker(gig)
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(rounds):
        task_id = world.task(gig)
        assert claim(gig, worker) == task_id
        clock.advance(TIMEOUT - 1)
        acts = dice.sample(HOLDERS, 2) + dice.sample(OWNERS, 1)
        waits = [dice.uniform(0, 0.02) for _ in range(len(acts) + 2)]
        plays: Plays = [
            lambda what=what, task_id=task_id: _status(gig, worker, task_id, what)  # type: ignore[misc]
            for what in acts
        ]

        def run_out() -> int:
            clock.advance(1)
            return holds.expire()

        plays += [run_out, holds.expire]

        def play(number: int, plays: Plays = plays, waits: list[float] = waits) -> int:
            time.sleep(waits[number])
            return plays[number]()

        answers = at_once(len(plays), play)
        end = _check(gig, worker, task_id, dict(zip(acts, answers, strict=False)))
        ends[end] += 1
        if end == "none":
            # It was extended, or kept alive in the last moment.
            act(gig, worker, task_id, "proof").ok()
            assert poll(gig, other) == []
        else:
            assert poll(gig, worker) == []
            assert poll(gig, other) == ([] if end == "proof" else [task_id])
        if end not in ("proof", "none"):
            act(gig, other, task_id, "proof").ok()
    print(seed, ends)
    assert holds.expire() == 0
    if db.is_postgres:
        with db.reading():
            assert (
                db.scalar(
                    "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
                )
                == 0
            )


def _status(gig: Gig, worker: Person, task_id: str, what: str) -> int:
    person = gig.owner if what in OWNERS else worker
    return act(gig, person, task_id, what).status


LAYOUTS = {"sqlite": SQLITE_MANY, "postgres": Layout("postgres", serve=1, worker=2, scheduler=2)}


@pytest.mark.case("F09")
@pytest.mark.rule("Q-07")
@pytest.mark.parametrize("name", LAYOUTS)
def test_several_processes_that_sweep_take_each_claim_back_once(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig(task_timeout=TIMEOUT)
    workers = [stack.worker(gig) for _ in range(3)]
    sent = {stack.task(gig) for _ in range(30)}
    for worker in workers:
        assert len(poll(gig, worker, 10)) == 10
    stack.advance(TIMEOUT)
    eventually(lambda: len(stack.events(gig, "task.expired")) == len(sent))
    fresh = stack.worker(gig)
    assert {*poll(gig, fresh), *poll(gig, fresh)} == sent
    expired = [event["subject"]["id"] for event in stack.events(gig, "task.expired")]
    assert len(expired) == len(sent) == len(set(expired))
    assert stack.complaints() == []
