"""Many verdicts in one call: the batch is checked whole, each is made or refused by itself."""

from __future__ import annotations

import random
from typing import Any

import pytest

from engine import clock, proofs
from tests.contract.scene import all_hold, everything
from tests.contract.test_verdicts import (
    APPROVE,
    KEEP,
    REJECT,
    VERDICTS,
    events,
    prove,
    read,
    task_of,
)
from tests.world import Gig, World, at_once


def review(gig: Gig, *reviews: dict[str, Any]) -> Any:
    return gig.owner.post(f"{gig.path}/proofs/bulk-review", {"reviews": list(reviews)})


@pytest.mark.rule("R-04")
@pytest.mark.rule("R-02")
def test_each_verdict_of_a_batch_is_made_or_refused_by_itself_in_the_order_asked(
    world: World,
) -> None:
    gig, elsewhere = world.gig(review_timeout=60), world.gig()
    worker = world.worker(gig)
    ended = prove(world, gig, worker)
    clock.advance(61)
    assert proofs.time_out() == 1
    one, two, three, fixed = (prove(world, gig, worker) for _ in range(4))
    tbd = prove(world, gig, worker, {"price": "tbd"})
    theirs = prove(world, elsewhere, world.worker(elsewhere))
    # A verdict that is refused half-way takes nothing with it: its neighbours' events are there.
    answer = review(
        gig,
        {"proof_id": three, **REJECT, "feedback": "No.", "rejection_tag": "duplicate"},
        {"proof_id": fixed, **APPROVE, "amount": "9"},
        {"proof_id": "PROOF_none", **APPROVE},
        {"proof_id": tbd, **APPROVE, "amount": "0.03"},
        {"proof_id": theirs, **APPROVE},
        {"proof_id": ended, **REJECT},
        {"proof_id": two, **KEEP},
        {"proof_id": one, **APPROVE},
    )
    asked = (three, fixed, "PROOF_none", tbd, theirs, ended, two, one)
    results = answer["results"]
    assert (answer["success"], answer["reviewed"]) == (True, 4)
    assert [row["proof_id"] for row in results] == list(asked)
    told = [(row["success"], row.get("status", row.get("reason"))) for row in results]
    assert told == [
        (True, "rejected"),
        (False, "invalid"),
        (False, "not_found"),
        (True, "approved"),
        (False, "not_found"),
        (False, "timeout_approved"),
        (True, "rejected"),
        (True, "approved"),
    ]
    assert all(row["error"].endswith((".", "out")) for row in results if not row["success"])
    assert (str(results[3]["locked_price"]), results[3]["price_source"]) == ("0.03", "review")
    assert [results[n]["requeued"] for n in (0, 6)] == [True, False]
    assert [task_of(gig, proof_id) for proof_id in (three, two, one)] == [
        "queued",
        "rejected",
        "approved",
    ]
    assert read(gig, fixed)["status"] == "pending"
    made = {event["subject"]["id"] for event in events(gig, *VERDICTS)}
    assert made == {ended, three, tbd, two, one}
    before = everything()
    again = review(gig, {"proof_id": one, **APPROVE}, {"proof_id": two, **KEEP})
    assert (again["reviewed"], [row["revised"] for row in again["results"]]) == (2, [False, False])
    assert everything() == before


WRONG: list[tuple[Any, str]] = [
    (None, "reviews"),
    ([], "reviews"),
    ("x", "reviews"),
    ([{}], "reviews.0.action reviews.0.proof_id"),
    ([APPROVE] * 101, "reviews"),
    (["x"], "reviews.0"),
    ({3: {"action": "pay"}}, "reviews.3.action"),
    ({3: {"feedback": "x" * 8001}}, "reviews.3.feedback"),
    ({3: {"amount": "-1"}}, "reviews.3.amount"),
    ({3: {"rejection_tag": "other"}}, "reviews.3.rejection_tag"),
    ({3: {"action": "reject", "amount": "1"}}, "reviews.3.amount"),
    ({3: {"requeue": "yes"}}, "reviews.3.requeue"),
    ({3: {"status": "approved"}}, "reviews.3.status"),
    ({3: {"proof_id": "PROOF_1"}}, "reviews.3.proof_id"),
]


@pytest.mark.rule("R-04")
@pytest.mark.rule("H-05")
def test_a_batch_that_is_wrong_anywhere_is_refused_whole(world: World) -> None:
    gig = world.gig()
    proof_id = prove(world, gig, world.worker(gig))
    right = [{"proof_id": proof_id, **APPROVE}]
    right += [{"proof_id": f"PROOF_{n}", **APPROVE} for n in range(1, 5)]
    before = everything()

    def refused(row: tuple[Any, str]) -> None:
        given, names = row
        if isinstance(given, dict):
            given = [{**one, **given.get(n, {})} for n, one in enumerate(right)]
        elif isinstance(given, list) and len(given) > 100:
            given = [{"proof_id": f"PROOF_{n}", **one} for n, one in enumerate(given)]
        body = {} if given is None else {"reviews": given}
        told = gig.owner.call("POST", f"{gig.path}/proofs/bulk-review", body).refused(400)
        assert sorted(told["errors"]) == names.split()

    all_hold(WRONG, refused)
    assert everything() == before


@pytest.mark.rule("R-04")
def test_a_hundred_verdicts_are_one_call(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    made = [prove(world, gig, worker) for _ in range(8)]
    unknown = [f"PROOF_{n}" for n in range(92)]
    asked = random.Random(7).sample(made + unknown, 100)
    rows = [{"proof_id": one, **REJECT} for one in asked]
    answer = review(gig, *rows)
    assert answer["reviewed"] == 8
    assert [row["proof_id"] for row in answer["results"]] == asked
    assert len(gig.owner.get(f"{gig.path}/queue?limit=200")["tasks"]) == 8


@pytest.mark.rule("R-04")
def test_batches_single_verdicts_declines_and_polls_at_once_hinder_nobody(world: World) -> None:
    """Copies of few templates, rejected in every order: their slots come back to the same rows."""
    gig = world.gig(distribution="queue_solo", max_claims_per_task=8, review_timeout=60)
    workers = [world.worker(gig) for _ in range(6)]
    for _ in range(4):
        world.task(gig)
    made: list[str] = []
    for worker in workers:
        for task in worker.post(f"{gig.path}/queue/poll", {"count": 3})["tasks"]:
            body = {"task_identifier": task["id"]}
            made.append(worker.post(f"{gig.path}/proofs", body)["proof"]["id"])
    clock.advance(61)

    def act(n: int) -> Any:
        dice = random.Random(n)
        rows = [{"proof_id": one, **dice.choice((REJECT, APPROVE))} for one in made]
        dice.shuffle(rows)
        if n < 3:
            return review(gig, *rows)["results"]
        if n == 3:
            return proofs.time_out()
        if n == 4:
            return [
                gig.owner.call("PATCH", f"{gig.path}/proofs/{row['proof_id']}", REJECT).status
                for row in rows[:6]
            ]
        worker = workers[n % 6]
        for task in worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]:
            worker.call("POST", f"{gig.path}/queue/{task['id']}/decline")
        return None

    *batches, _, singles, _, _ = at_once(7, act)
    reasons = {row["reason"] for rows in batches for row in rows if not row["success"]}
    assert reasons <= {"returned", "timeout_approved"}
    assert set(singles) <= {200, 409}
    ends = {"rejected": "rejected", "approved": "approved", "timeout_approved": "approved"}
    for proof_id in made:
        proof = read(gig, proof_id)
        assert task_of(gig, proof_id) == ends[proof["status"]]
        verdicts = [e for e in events(gig, *VERDICTS) if e["subject"]["id"] == proof_id]
        assert verdicts[-1]["type"] == f"proof.{ends[proof['status']]}"
        assert sum(e["type"] == "proof.rejected" for e in verdicts) <= 1
