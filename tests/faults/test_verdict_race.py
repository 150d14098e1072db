"""The owner approves, rejects and approves again in the moment in which the clock approves."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest

from engine import clock, proofs
from tests.processes import Layout, Starter
from tests.world import Answer, Gig, Person, World, at_once, eventually

APPROVE = {"action": "approve"}
REJECT = {"action": "reject", "feedback": "no"}
SENT = (APPROVE, REJECT, APPROVE)
TIMEOUT_SECONDS = 3
BATCH = 10
TWICE = Layout("postgres", serve=2, worker=2, scheduler=2)
ROUNDS = [
    pytest.param(8, id="8-rounds"),
    pytest.param(200, id="200-rounds", marks=pytest.mark.soak),
]
BATCHES = [
    pytest.param(1, id="10-rounds"),
    pytest.param(20, id="200-rounds", marks=pytest.mark.soak),
]


def _prove(world: World, gig: Gig, worker: Person) -> str:
    body = {"task_identifier": world.task(gig)}
    proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    return proof_id


def _events(gig: Gig, proof_id: str) -> list[Any]:
    told = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
    kinds = ("proof.approved", "proof.rejected")
    return [e for e in told if e["subject"]["id"] == proof_id and e["type"] in kinds]


def _check(gig: Gig, proof_id: str, answers: list[Answer]) -> str:
    """One verdict came of it, which every answer, the log and the task tell; answers it."""
    path = f"{gig.path}/proofs/{proof_id}"
    made = []
    for answer in answers:
        if answer.status != 200:
            assert answer.refused(409)["reason"] in ("returned", "timeout_approved")
        elif answer.json["previous_status"] != answer.json["status"]:
            made.append(answer.json["status"])

    proof = gig.owner.get(path)["proof"]
    status: str = proof["status"]
    task = gig.owner.get(f"{gig.path}/tasks/{proof['task_identifier']}")["task"]
    events = _events(gig, proof_id)
    told = [event["type"].removeprefix("proof.") for event in events]
    if status == "timeout_approved":
        # The clock came first, and nothing after it.
        assert (made, told, events[0]["data"]["auto"]) == ([], ["approved"], True)
    else:
        # What is rejected is back in the queue and stays rejected; an approval before it is none.
        assert sorted(told) == sorted(made) and told[-1] == status
        assert told in (["approved"], ["rejected"], ["approved", "rejected"])
        assert not any(event["data"]["auto"] for event in events)
    assert task["status"] == ("queued" if status == "rejected" else "approved")

    winner, loser = (REJECT, APPROVE) if status == "rejected" else (APPROVE, REJECT)
    if status == "timeout_approved":
        for body in SENT:
            gig.owner.call("PATCH", path, body).refused(409, "timeout_approved")
    else:
        again = gig.owner.patch(path, winner)
        assert (again["status"], again["previous_status"]) == (status, status)
        assert again["revised"] is False
    if status == "rejected":
        gig.owner.call("PATCH", path, loser).refused(409, "returned")
    assert gig.owner.get(path)["proof"] == proof
    assert _events(gig, proof_id) == events
    return status


@pytest.mark.case("F16")
@pytest.mark.rule("R-04")
@pytest.mark.rule("R-05")
@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_two_approvals_a_rejection_and_the_clock_at_once_one_verdict_comes(
    world: World, rounds: int
) -> None:
    ends: Counter[str] = Counter()
    for number in range(rounds):
        gig = world.gig(review_timeout=TIMEOUT_SECONDS)
        proof_id = _prove(world, gig, world.worker(gig))
        path = f"{gig.path}/proofs/{proof_id}"
        # Every other time nobody rejects, so that an approval of the owner's can be the verdict.
        sent = SENT if number % 2 else (APPROVE, APPROVE)
        clock.advance(TIMEOUT_SECONDS)

        def act(n: int, gig: Gig = gig, path: str = path, sent: Any = sent) -> Answer | int:
            time.sleep(random.uniform(0, 0.02))
            if n == len(sent):
                return proofs.time_out()
            return gig.owner.call("PATCH", path, sent[n])

        *answers, _ = at_once(len(sent) + 1, act)
        ends[_check(gig, proof_id, answers)] += 1
        assert proofs.time_out() == 0
    print(ends)


@pytest.mark.case("F16")
@pytest.mark.rule("R-05")
@pytest.mark.parametrize("batches", BATCHES)
def test_through_two_processes_of_each_kind_one_verdict_comes_when_the_clock_runs_out(
    start_stack: Starter, batches: int
) -> None:
    stack = start_stack(TWICE)
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    ends: Counter[str] = Counter()
    for _ in range(batches):
        gig = stack.gig(review_timeout=TIMEOUT_SECONDS)
        worker = stack.worker(gig)
        made = [(_prove(stack, gig, worker), time.monotonic()) for _ in range(BATCH)]
        # The scheduler looks once a second.
        waits = [TIMEOUT_SECONDS + dice.uniform(-0.05, 1.2) for _ in made]

        def act(n: int, gig: Gig = gig, made: Any = made, waits: Any = waits) -> Answer:
            proof_id, since = made[n % BATCH]
            time.sleep(max(0, since + waits[n % BATCH] - time.monotonic()))
            path = f"{gig.path}/proofs/{proof_id}"
            return gig.owner.call("PATCH", path, SENT[n // BATCH], via=n // BATCH)

        answers = at_once(BATCH * len(SENT), act)
        eventually(lambda gig=gig: not gig.owner.get(f"{gig.path}/proofs?status=pending")["proofs"])
        for number, (proof_id, _) in enumerate(made):
            ends[_check(gig, proof_id, answers[number::BATCH])] += 1
    print(f"seed {seed}: {ends}")
    assert stack.complaints() == []
