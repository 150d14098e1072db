"""The owner approves, rejects, revises and disputes in the moment in which the clock approves."""

from __future__ import annotations

import random
import time
from collections import Counter
from typing import Any

import pytest

from engine import clock, proofs
from engine.db import db
from engine.models.proof import UNCARRIED, Proof
from tests.processes import Layout, Starter
from tests.world import Answer, Gig, Person, World, at_once, eventually

APPROVE = {"action": "approve"}
REJECT = {"action": "reject", "feedback": "no"}
REVISE = {"action": "approve", "feedback": "yes"}
REPORT = {"reason": "nobody looked"}
SENT = (APPROVE, REJECT, REVISE, APPROVE, REPORT)
TIMEOUT_SECONDS = 3
BATCH = 8
TWICE = Layout("postgres", serve=2, worker=2, scheduler=2)
ROUNDS = [
    pytest.param(8, id="8-rounds"),
    pytest.param(200, id="200-rounds", marks=pytest.mark.soak),
]
BATCHES = [
    pytest.param(1, id="8-rounds"),
    pytest.param(25, id="200-rounds", marks=pytest.mark.soak),
]
# What an event makes of the state that the ones before it left: (state, event, by the clock).
MOVES = {
    ("pending", "approved", True): "timeout_approved",
    ("pending", "approved", False): "approved",
    ("pending", "rejected", False): "rejected",
    # Other feedback, or another tag.
    ("approved", "approved", False): "approved",
    ("approved", "rejected", False): "rejected",
    ("timeout_approved", "reported", False): "reported",
    ("reported", "approved", False): "approved",
}
REFUSALS = {"returned", "timeout_approved", "reported", "not_reportable", "dispute_over"}


def _prove(world: World, gig: Gig, worker: Person) -> str:
    body = {"task_identifier": world.task(gig)}
    proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    return proof_id


def _say(gig: Gig, proof_id: str, body: dict[str, Any], **via: Any) -> Answer:
    path = f"{gig.path}/proofs/{proof_id}"
    if body is REPORT:
        return gig.owner.call("POST", f"{path}/report", body, **via)
    return gig.owner.call("PATCH", path, body, **via)


def _events(gig: Gig, proof_id: str) -> list[Any]:
    told = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
    kinds = ("proof.approved", "proof.rejected", "proof.reported")
    return [e for e in told if e["subject"]["id"] == proof_id and e["type"] in kinds]


def _check(gig: Gig, proof_id: str, answers: list[Answer]) -> str:
    """The log tells one story, which the answers, the proof and the task agree on; its end."""
    path = f"{gig.path}/proofs/{proof_id}"
    took_effect = 0
    for answer in answers:
        if answer.status != 200:
            assert answer.refused(409)["reason"] in REFUSALS
        elif "proof" in answer.json:
            took_effect += 1
        else:
            told = answer.json
            took_effect += told["revised"] or told["previous_status"] != told["status"]

    state = "pending"
    events = _events(gig, proof_id)
    for event in events:
        auto = event["data"].get("auto", False)
        state = MOVES[state, event["type"].removeprefix("proof."), auto]
    assert sum(not event["data"].get("auto", False) for event in events) == took_effect
    proof = gig.owner.get(path)["proof"]
    assert proof["status"] == state
    task = gig.owner.get(f"{gig.path}/tasks/{proof['task_identifier']}")["task"]
    assert task["status"] == ("queued" if state == "rejected" else "approved")

    winner, losers = {
        "rejected": (REJECT, (APPROVE, REPORT, {**REJECT, "feedback": "else"})),
        "approved": (APPROVE, (REPORT,)),
        "reported": (REPORT, (REJECT,)),
        "timeout_approved": (None, (APPROVE, REJECT)),
    }[state]
    if winner is not None:
        again = _say(gig, proof_id, winner).ok()
        assert again.get("revised", False) is False
    for body in losers:
        assert _say(gig, proof_id, body).refused(409)["reason"] in REFUSALS
    assert gig.owner.get(path)["proof"] == proof
    assert _events(gig, proof_id) == events
    return state


@pytest.mark.case("F16")
@pytest.mark.rule("R-04")
@pytest.mark.rule("R-05")
@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_all_verdicts_a_dispute_and_the_clock_at_once_one_verdict_comes(
    world: World, rounds: int
) -> None:
    ends: Counter[str] = Counter()
    for number in range(rounds):
        gig = world.gig(review_timeout=TIMEOUT_SECONDS)
        proof_id = _prove(world, gig, world.worker(gig))
        # Every other time nobody rejects, and in others nobody approves: so each can be the end.
        sent = [SENT, (APPROVE, REVISE, REPORT), (REPORT, REPORT), (REJECT, REPORT)][number % 4]
        clock.advance(TIMEOUT_SECONDS)

        def act(n: int, gig: Gig = gig, proof_id: str = proof_id, sent: Any = sent) -> Answer | int:
            if n == len(sent):
                time.sleep(random.uniform(0, 0.01))
                return proofs.time_out()
            time.sleep(random.uniform(0, 0.02))
            return _say(gig, proof_id, sent[n])

        *answers, _ = at_once(len(sent) + 1, act)
        if sent[0] is sent[1]:
            # The second of two reports changes nothing.
            answers = answers[1:] if answers[0].status != 200 else answers[:1]
        end = _check(gig, proof_id, answers)
        ends[end] += 1
        assert proofs.time_out() == 0
        with db.reading():
            payable = Proof.select().where(Proof.gig_id == gig.id, UNCARRIED).count()
        assert payable == (end in ("approved", "timeout_approved"))
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
            body = SENT[n // BATCH]
            # There is nothing to dispute before the clock has approved.
            late = 1.2 if body is REPORT else 0
            time.sleep(max(0, since + waits[n % BATCH] + late - time.monotonic()))
            return _say(gig, proof_id, body, via=n // BATCH)

        answers = at_once(BATCH * len(SENT), act)
        eventually(lambda gig=gig: not gig.owner.get(f"{gig.path}/proofs?status=pending")["proofs"])
        for number, (proof_id, _) in enumerate(made):
            ends[_check(gig, proof_id, answers[number::BATCH])] += 1
    print(f"seed {seed}: {ends}")
    assert stack.complaints() == []
