"""A proof is drafted, handed in, taken back, judged and overtaken by the clock at one moment.

Each of these is one transaction that holds the task's row before it looks at the proof, so whatever
comes in between comes before or after it, and a process that is killed has done all of it or
nothing.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engine import clock, holds
from engine.db import db
from engine.models.event import Event
from engine.models.proof import LIVE, Proof
from engine.models.task import QueueEntry, Task
from tests.engine.holding import TIMEOUT, mailbox_id
from tests.world import Answer, Gig, Person, World, at_once

ROUNDS = [
    pytest.param(25, id="25-rounds"),
    pytest.param(1500, id="1500-rounds", marks=pytest.mark.soak),
]
# What a live proof says its task must be; None: no proof of it is alive.
AGREE = {
    None: ("claimed", "queued", "unassigned"),
    "draft": ("claimed",),
    "pending": ("submitted",),
    "approved": ("approved",),
}
WORKERS_ACTS = ("hand in", "draft", "submit", "submit", "withdraw", "withdraw", "edit", "delete")
OWNERS_ACTS = ("approve", "reject", "keep", "recycle")
# The answers that are no fault, whoever asks for whatever at the wrong moment.
FINE = (200, 201, 404, 409, 410)


def _play(gig: Gig, worker: Person, task_id: str, proof_id: str, what: str) -> Answer:
    path = f"{gig.path}/proofs"
    mine = f"{path}/{proof_id}"
    calls: dict[str, Callable[[], Answer]] = {
        "hand in": lambda: worker.call("POST", path, {"task_identifier": task_id}),
        "draft": lambda: worker.call("POST", path, {"task_identifier": task_id, "draft": True}),
        "submit": lambda: worker.call("POST", f"{mine}/submit"),
        "withdraw": lambda: worker.call("POST", f"{mine}/withdraw"),
        "edit": lambda: worker.call("PATCH", f"{mine}/draft", {"tags": ["x"]}),
        "delete": lambda: worker.call("DELETE", mine),
        "approve": lambda: gig.owner.call("PATCH", mine, {"action": "approve"}),
        "reject": lambda: gig.owner.call("PATCH", mine, {"action": "reject"}),
        "keep": lambda: gig.owner.call("PATCH", mine, {"action": "reject", "requeue": False}),
        "recycle": lambda: gig.owner.call("POST", f"{gig.path}/tasks/{task_id}/recycle"),
    }
    return calls[what]()


def _check(
    worker: Person, task_id: str, since: int, first: str, done: list[tuple[str, Answer]]
) -> str:
    """One live proof at most, which task, queue, log and answers agree with; answers its state."""
    with db.reading():
        task = Task.get(Task.id == task_id)
        live = list(Proof.select().where(Proof.task_id == task_id, LIVE))
        entries = QueueEntry.select().where(QueueEntry.task_number == task.number).count()
        told = Counter(
            event.type
            for event in Event.select().where(Event.seq > since)
            if task_id in (event.subject_id, event.data.get("task_identifier"))
        )
        ended = Proof.select().where(Proof.task_id == task_id, Proof.status == "rejected").count()
    assert len(live) <= 1
    proof = live[0] if live else None
    state = None if proof is None else proof.status
    if not (state is None and ended and task.status == "rejected"):
        assert task.status in AGREE[state], (state, task.status)
    assert entries == int(task.status == "queued")
    assert (task.mailbox_id is None) == (task.status in ("queued", "unassigned"))
    if proof is not None:
        assert (proof.mailbox_id, task.mailbox_id) == (mailbox_id(worker), mailbox_id(worker))
        assert (proof.locked_price_units is None) == (state == "draft")
        assert (proof.timeout_at is None) == (state == "draft")

    well = Counter(what for what, answer in done if answer.status in (200, 201))
    handed_in = well["hand in"] + well["submit"] + int(first != "draft")
    assert told["proof.submitted"] == handed_in
    assert told["proof.withdrawn"] == well["withdraw"] + int(first == "withdrawn")
    # What is handed in is taken back, judged, or waits: nothing is counted twice or lost.
    judged = told["proof.approved"] + told["proof.rejected"]
    assert handed_in - told["proof.withdrawn"] - int(state == "pending") == min(judged, 1)
    away = told["task.expired"] + told["task.recycled"]
    assert away <= told["task.claimed"] and told["task.recycled"] == well["recycle"]
    return str(state)


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-03")
@pytest.mark.rule("R-04")
@pytest.mark.case("F16")
@pytest.mark.parametrize("rounds", ROUNDS)
def test_however_they_meet_one_proof_is_alive_and_all_agree_on_it(
    world: World, rounds: int
) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(rounds):
        with db.reading():
            since = int(db.scalar("SELECT max(seq) FROM event"))
        task_id = world.task(gig)
        first = dice.choice(("draft", "withdrawn", "pending"))
        body = {"task_identifier": task_id, "draft": first != "pending"}
        proof_id = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
        if first == "withdrawn":
            for what in ("submit", "withdraw"):
                worker.post(f"{gig.path}/proofs/{proof_id}/{what}")
        clock.advance(TIMEOUT - 1)
        runs_out = dice.random() < 0.4
        acts = dice.sample(WORKERS_ACTS, 3) + dice.sample(OWNERS_ACTS, dice.randint(0, 1))
        waits = [dice.uniform(0, 0.03) for _ in range(len(acts) + 1)]

        def play(
            number: int,
            runs_out: bool = runs_out,
            acts: list[str] = acts,
            waits: list[float] = waits,
            task_id: str = task_id,
            proof_id: str = proof_id,
        ) -> Any:
            time.sleep(waits[number])
            if number == len(acts):
                clock.advance(int(runs_out))
                return holds.expire()
            return _play(gig, worker, task_id, proof_id, acts[number])

        *answers, _ = at_once(len(acts) + 1, play)
        for what, answer in zip(acts, answers, strict=True):
            assert answer.status in FINE, (seed, what, answer.text)
        done = list(zip(acts, answers, strict=True))
        try:
            ends[_check(worker, task_id, since, first, done)] += 1
        except AssertionError as error:
            shown = [(what, answer.status, answer.text[:120]) for what, answer in done]
            raise AssertionError(f"seed {seed}, from {first}: {shown}") from error
        # Nobody is left in the way of the next round.
        gig.owner.call("POST", f"{gig.path}/tasks/{task_id}/recycle")
        gig.owner.call("DELETE", f"{gig.path}/tasks/{task_id}")
    print(seed, ends)
    if db.is_postgres:
        with db.reading():
            sql = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
            assert db.scalar(sql) == 0
