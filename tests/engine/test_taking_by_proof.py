"""A proof of a task that nobody has taken is a take: its limits, its terms, its refusals (R-01)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, holds
from tests.engine.holding import TIMEOUT, act, claim, mailbox_id, poll, reserve, task_of, told
from tests.world import Gig, Person, World


def _price(gig: Gig, worker: Person, task_id: str) -> Any:
    return worker.get(f"{gig.path}/tasks/{task_id}")["task"]["price"]


def _approved(gig: Gig, worker: Person, task_id: str) -> Any:
    """What the worker is owed for it."""
    proof = act(gig, worker, task_id, "proof").ok()["proof"]
    verdict = gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    return verdict["locked_price"]


@pytest.mark.rule("R-01")
@pytest.mark.rule("M-05")
def test_it_spends_a_slot_like_any_claim_and_a_proof_of_a_claim_spends_none(
    world: World,
) -> None:
    gig = world.gig(default_rate_limit_count=2, default_rate_limit_minutes=60)
    worker = world.worker(gig)
    first, second, third = (world.task(gig) for _ in range(3))
    assert poll(gig, worker, 1) == [first]
    act(gig, worker, first, "proof").ok()
    act(gig, worker, second, "proof").ok()
    refusal = act(gig, worker, third, "proof").refused(429, "rate_limit_reached")
    assert refusal["rate_limit"]["used"] == 2
    assert task_of(gig, third)["status"] == "queued"
    clock.advance(3600)
    act(gig, worker, third, "proof").ok()


@pytest.mark.rule("R-01")
@pytest.mark.rule("M-05")
def test_whoever_holds_all_that_he_may_takes_nothing_more_by_a_proof(world: World) -> None:
    gig = world.gig(default_max_open_tasks=1)
    worker = world.worker(gig)
    held, waiting = world.task(gig), world.task(gig)
    assert poll(gig, worker) == [held]
    act(gig, worker, waiting, "proof").refused(429, "open_tasks_reached")
    act(gig, worker, held, "proof").ok()
    act(gig, worker, waiting, "proof").ok()


@pytest.mark.rule("R-01")
@pytest.mark.rule("T-06")
def test_what_is_not_on_offer_to_a_worker_is_not_taken_by_his_proof(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    reserve(gig, other, task_id)
    act(gig, worker, task_id, "proof").refused(409, "reserved_for_other")
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/availability", {"availability": "view_only"})
    act(gig, worker, task_id, "proof").refused(409, "view_only")
    act(gig, other, task_id, "proof").refused(409, "view_only")
    assert told(gig, "proof.submitted", "task.claimed") == []
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/availability", {"availability": "open"})
    act(gig, worker, task_id, "proof").ok()
    act(gig, other, task_id, "proof").refused(409, "taken")


@pytest.mark.rule("R-01")
@pytest.mark.rule("T-04")
def test_what_is_not_due_yet_is_not_taken_by_a_proof(world: World) -> None:
    from engine.rules import times

    gig = world.gig()
    worker = world.worker(gig)
    due = times.iso_ms(clock.now() + 60 * clock.SECOND)
    task_id = world.task(gig, not_before=due)
    act(gig, worker, task_id, "proof").refused(409, "not_offered")


@pytest.mark.rule("R-02")
@pytest.mark.case("F28")
def test_the_terms_of_a_claim_are_those_that_it_was_taken_on(world: World) -> None:
    gig = world.gig(price=5, task_timeout=TIMEOUT)
    one, other = world.worker(gig), world.worker(gig)
    first, second = world.task(gig), world.task(gig)
    assert poll(gig, one, 1) == [first]
    gig.owner.patch(gig.path, {"price": 2, "task_timeout": 2 * TIMEOUT})
    assert poll(gig, other, 1) == [second]
    gig.owner.patch(gig.path, {"price": 9, "task_timeout": 1})

    # Each reads his own terms, price and time.
    assert (_price(gig, one, first), _price(gig, other, second)) == (5, 2)
    ends = [
        worker.get(f"{gig.path}/tasks/{task_id}")["task"]["expires_at"]
        for worker, task_id in ((one, first), (other, second))
    ]
    assert ends == sorted(ends)
    clock.advance(TIMEOUT - 10)
    assert holds.expire() == 0
    assert _approved(gig, one, first) == 5
    clock.advance(TIMEOUT)
    assert holds.expire() == 0
    assert _approved(gig, other, second) == 2

    changes = told(gig, "gig.changed")
    assert [sorted(event["data"]["fields"]) for event in changes] == [
        ["price_units", "task_timeout_seconds"]
    ] * 2
    assert {event["actor"] for event in changes} == {gig.owner.id}


@pytest.mark.rule("R-02")
@pytest.mark.case("F28")
def test_a_task_whose_price_is_cut_pays_its_holder_what_he_saw(world: World) -> None:
    gig = world.gig(price=1)
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig, price=5)
    assert claim(gig, worker) == task_id
    gig.owner.call("PATCH", f"{gig.path}/tasks/{task_id}/price", {"price": 2})
    assert _price(gig, worker, task_id) == 5
    act(gig, worker, task_id, "decline").ok()
    # Whoever takes it now sees the new price, and is paid that.
    assert claim(gig, other) == task_id
    assert _price(gig, other, task_id) == _approved(gig, other, task_id) == 2


@pytest.mark.rule("R-02")
@pytest.mark.case("F28")
@pytest.mark.rule("S-01")
def test_a_lower_maximum_takes_no_copy_from_whoever_has_one(world: World) -> None:
    gig = world.gig(price=5, distribution="queue_solo", max_claims_per_task=2)
    one, other, late = (world.worker(gig) for _ in range(3))
    world.task(gig)
    copies = [claim(gig, worker) for worker in (one, other)]
    gig.owner.patch(gig.path, {"max_claims_per_task": 1, "price": 1})
    assert poll(gig, late) == []
    assert [_approved(gig, w, c) for w, c in zip((one, other), copies, strict=True)] == [5, 5]


@pytest.mark.rule("R-01")
def test_a_worker_whose_claim_is_taken_with_his_proof_is_its_holder(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    act(gig, worker, task_id, "proof").ok()
    kinds = [event["type"] for event in told(gig, "task.claimed", "proof.submitted")]
    assert kinds == ["task.claimed", "proof.submitted"]
    assert task_of(gig, task_id)["mailbox_id"] == mailbox_id(worker)
