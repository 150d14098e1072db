"""Planned work that pays: the response is a proof, and all goes on as anywhere (I-05)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import audit, waiting_delivery
from tests.incoming.test_routing import holder, place_of
from tests.incoming.world import done, gig, item, items, send, use
from tests.world import Gig, Person, World

RESPONSE = {"response": "Summary checked and approved."}


def completed(worker: Person) -> Any:
    """The worker plans and completes what floats on his desk; answers the item."""
    (seen,) = items(worker)
    done(use(worker, seen["id"], "plan", {"plannedStart": "2026-10-19T14:00"}))
    done(use(worker, seen["id"], "complete", RESPONSE))
    found = next(one for one in items(worker, accepted=True) if one["id"] == seen["id"])
    assert (found["status"], found["responseState"]) == ("completed", "answered")
    return found


def proof_of(place: Gig) -> Any:
    (proof,) = place.owner.get(f"{place.path}/proofs")["proofs"]
    return proof


@pytest.mark.rule("I-05")
@pytest.mark.rule("Y-02")
def test_a_response_is_reviewed_and_paid_for(paying_world: World) -> None:
    world = paying_world
    place = gig(world, price="2.50")
    world.fund(place, "50")
    worker = world.worker(place)
    task_id = send(world, place)
    completed(worker)
    proof = proof_of(place)
    assert proof["status"] == "pending" and proof["task_identifier"] == task_id
    whole = place.owner.get(f"{place.path}/proofs/{proof['id']}")["proof"]
    assert whole["proofs"] == [RESPONSE["response"]]
    told = place.owner.patch(f"{place.path}/proofs/{proof['id']}", {"action": "approve"})
    assert str(told["locked_price"]) in ("2.5", "2.50")
    (rollup,) = place.owner.post(f"{place.path}/rollups")["rollups"]
    assert (rollup["status"], str(rollup["net_amount"])) == ("paid", "2.5")
    address = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    assert world.usdc_units(address) == 2_500_000
    assert audit.run().faults == []
    assert item(worker)["status"] == "completed"


@pytest.mark.rule("I-05")
@pytest.mark.rule("R-04")
@pytest.mark.parametrize("named", [True, False])
def test_rejected_work_floats_for_somebody_else_or_is_the_owners_who_named_its_worker(
    world: World, named: bool
) -> None:
    place = gig(world, price="2.50")
    workers = [world.worker(place), world.worker(place)]
    task_id = send(world, place, **({"assign_to": place_of(workers[0])} if named else {}))
    has, other = holder(workers)
    seen = completed(has)
    path = f"{place.path}/proofs/{proof_of(place)['id']}"
    told = place.owner.patch(path, {"action": "reject", "feedback": "No."})
    assert told["requeued"] is True
    assert items(has, accepted=True) == []
    if named:
        assert items(other, accepted=True) == []
        # Nobody has it, so its owner sees nothing of what another has said of it.
        waiting = place.owner.get(f"{place.path}/tasks/{task_id}")["task"]
        assert (waiting["status"], waiting["mode"]["stage"]) == ("unassigned", "floating")
        assert waiting["mode"]["response"] is waiting["mode"]["actual_start"] is None
        assign = {"assign_to": place_of(other)}
        place.owner.post(f"{place.path}/tasks/{task_id}/assign", assign)
    again = item(other)
    assert (again["id"], again["status"], again["response"]) == (seen["id"], "floating", None)
    assert again["plannedStart"] is again["actualEffortMinutes"] is None
    completed(other)


@pytest.mark.rule("I-05")
def test_rejected_for_good_it_stays_completed_by_its_worker(world: World) -> None:
    place = gig(world, price="2.50")
    worker = world.worker(place)
    send(world, place)
    seen = completed(worker)
    verdict = {"action": "reject", "requeue": False}
    place.owner.patch(f"{place.path}/proofs/{proof_of(place)['id']}", verdict)
    assert item(worker) == seen
    for verb, body in (("start", {}), ("complete", RESPONSE)):
        use(worker, seen["id"], verb, body).refused(409, "wrong_stage")


@pytest.mark.rule("I-05")
@pytest.mark.rule("R-02")
def test_a_price_that_is_cut_after_he_was_given_it_is_still_his(world: World) -> None:
    place = gig(world, price="2.50")
    worker = world.worker(place)
    send(world, place)
    place.owner.patch(place.path, {"price": "0"})
    completed(worker)
    approve = {"action": "approve"}
    told = place.owner.patch(f"{place.path}/proofs/{proof_of(place)['id']}", approve)
    assert str(told["locked_price"]) in ("2.5", "2.50")


@pytest.mark.rule("I-05")
@pytest.mark.rule("U-04")
def test_work_that_pays_nothing_is_over_once_completed_and_makes_room(world: World) -> None:
    place = gig(world, default_max_open_tasks=1)
    worker = world.worker(place)
    first = send(world, place)
    second = world.send(place, "x", title="The next").ok()
    assert second["status"] == "waiting"
    completed(worker)
    task = place.owner.get(f"{place.path}/tasks/{first}")["task"]
    assert task["status"] == "completed"
    assert place.owner.get(f"{place.path}/proofs")["proofs"] == []
    waiting_delivery.sweep()
    (floating,) = items(worker)
    assert floating["title"] == "The next"
