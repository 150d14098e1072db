"""Tasks from hand to hand: order, declining, frozen prices, the review timer."""

from __future__ import annotations

import re
from typing import Any

import pytest

from engine import clock, proofs
from tests.world import Gig, Person, World, at_once


def _poll(gig: Gig, worker: Person, count: int = 20) -> list[Any]:
    tasks: list[Any] = worker.post(f"{gig.path}/queue/poll", {"count": count})["tasks"]
    return tasks


def _prove(gig: Gig, worker: Person, task_id: str) -> str:
    proof_id: str = worker.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]["id"]
    return proof_id


@pytest.mark.rule("Q-01")
@pytest.mark.rule("P-01")
def test_tasks_come_by_priority_and_within_it_oldest_first(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    sent = [world.task(gig, priority=priority) for priority in (1000, 5, 1000, 0, 9_999_999_999, 5)]
    default = world.task(gig)
    expected = [sent[3], sent[1], sent[5], sent[0], sent[2], default, sent[4]]
    listed = gig.owner.get(f"{gig.path}/queue")["tasks"]
    assert [task["id"] for task in listed] == expected
    assert [task["id"] for task in _poll(gig, worker, 2)] == expected[:2]
    assert [task["id"] for task in _poll(gig, worker)] == expected[2:]


@pytest.mark.rule("Q-04")
def test_a_poll_hands_out_two_unless_told_otherwise(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for _ in range(3):
        world.task(gig)
    answer = worker.post(f"{gig.path}/queue/poll", {})
    assert (answer["count"], answer["scan_exhausted"]) == (2, False)
    assert len(_poll(gig, worker)) == 1
    assert _poll(gig, worker) == []


@pytest.mark.rule("Q-02")
def test_a_poll_finds_the_one_task_that_is_left_behind_a_thousand_declined_ones(
    world: World,
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    rows, kind = b'{"payload": "{}"}\n' * 1010, {"content-type": "application/x-ndjson"}
    sent = gig.owner.call("POST", f"{gig.path}/tasks/bulk", raw=rows, headers=kind).text
    declined = set(re.findall(r'"message_id": "(\w+)"', sent))
    assert len(declined) == 1010
    for task_id in declined:
        worker.post(f"{gig.path}/queue/{task_id}/decline")
    last = world.task(gig)
    for expected in ([last], [], []):
        answer = worker.post(f"{gig.path}/queue/poll", {"count": 20})
        assert [task["id"] for task in answer["tasks"]] == expected
        assert (answer["count"], answer["scan_exhausted"]) == (len(expected), False)
    # For somebody else all of them are still there.
    taken = other.post(f"{gig.path}/queue/poll", {"count": 20})
    assert {task["id"] for task in taken["tasks"]} <= declined
    assert (taken["count"], taken["scan_exhausted"]) == (20, False)


@pytest.mark.rule("D-01")
@pytest.mark.case("F05")
def test_a_declined_task_keeps_its_place_for_others(world: World) -> None:
    gig = world.gig()
    one, other = world.worker(gig), world.worker(gig)
    first, second = world.task(gig), world.task(gig)
    assert [task["id"] for task in _poll(gig, one, 1)] == [first]
    for _ in range(2):
        assert one.post(f"{gig.path}/queue/{first}/decline", {}) == {"success": True}
    assert [task["id"] for task in _poll(gig, one)] == [second]
    assert [task["id"] for task in _poll(gig, other)] == [first]
    # Declining what another holds by now changes nothing for him.
    one.post(f"{gig.path}/queue/{first}/decline", {})
    _prove(gig, other, first)


@pytest.mark.rule("D-01")
def test_declining_an_unclaimed_task_hides_it_and_the_owner_sees_how_many_did(
    world: World,
) -> None:
    gig = world.gig()
    one, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    one.post(f"{gig.path}/queue/{task_id}/decline", {})
    assert _poll(gig, one) == []
    (listed,) = gig.owner.get(f"{gig.path}/queue")["tasks"]
    assert listed["declined_count"] == 1
    assert "declined_count" not in other.get(f"{gig.path}/queue")["tasks"][0]
    assert [task["id"] for task in _poll(gig, other)] == [task_id]


@pytest.mark.rule("D-01")
def test_what_was_handed_in_cannot_be_declined(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    _prove(gig, worker, task_id)
    worker.call("POST", f"{gig.path}/queue/{task_id}/decline", {}).refused(409, "already_proven")


@pytest.mark.rule("R-02")
@pytest.mark.case("F28")
def test_the_price_is_frozen_when_a_task_is_claimed(world: World) -> None:
    gig = world.gig(price=5)
    one, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    world.task(gig)
    (first,) = _poll(gig, one, 1)
    gig.owner.patch(gig.path, {"price": 2})
    (second,) = _poll(gig, other, 1)
    gig.owner.patch(gig.path, {"price": 9})
    paid = []
    for worker, task in ((one, first), (other, second)):
        assert worker.get(f"{gig.path}/tasks/{task['id']}")["task"]["price"] == task["price"]
        proof_id = _prove(gig, worker, task["id"])
        verdict = gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {"action": "approve"})
        paid.append(verdict["locked_price"])
    assert paid == [5, 2]
    changes = [
        event["data"]["fields"]
        for event in gig.owner.get(f"{gig.path}/events?limit=200")["events"]
        if event["type"] == "gig.changed"
    ]
    assert changes == [["price_units"], ["price_units"]]


@pytest.mark.rule("R-02")
def test_a_price_to_be_decided_is_named_at_the_review_or_is_the_gigs(world: World) -> None:
    gig = world.gig(price=3)
    worker = world.worker(gig)
    named, unnamed = world.task(gig, price="tbd"), world.task(gig, price="tbd")
    for task in _poll(gig, worker):
        assert (task["price"], task["price_tbd"]) == (None, True)
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": named})["proof"]
    assert (proof["locked_price"], proof["price_pending"]) == (None, True)
    body = {"action": "approve", "amount": "7.25"}
    verdict = gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", body)
    assert (str(verdict["locked_price"]), verdict["price_source"]) == ("7.25", "review")
    other = _prove(gig, worker, unnamed)
    verdict = gig.owner.patch(f"{gig.path}/proofs/{other}", {"action": "approve"})
    assert (verdict["locked_price"], verdict["price_source"]) == (3, "gig")


@pytest.mark.rule("R-02")
def test_an_amount_for_a_fixed_price_is_refused(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    proof_id = _prove(gig, worker, world.task(gig, price="1"))
    body = {"action": "approve", "amount": "7.25"}
    refusal = gig.owner.call("PATCH", f"{gig.path}/proofs/{proof_id}", body).refused(400)
    assert "amount" in refusal["errors"]


@pytest.mark.rule("R-04")
def test_a_rejected_task_goes_to_somebody_else_and_its_verdict_is_final(world: World) -> None:
    gig = world.gig()
    one, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    proof_id = _prove(gig, one, task_id)
    path = f"{gig.path}/proofs/{proof_id}"
    body = {"action": "reject", "rejection_tag": "low_quality", "feedback": "Blurred."}
    verdict = gig.owner.patch(path, body)
    assert (verdict["status"], verdict["requeued"]) == ("rejected", True)
    assert _poll(gig, one) == []
    again = {"task_identifier": task_id}
    one.call("POST", f"{gig.path}/proofs", again).refused(409, "already_proven")
    gig.owner.call("PATCH", path, {"action": "approve"}).refused(409, "returned")
    assert [task["id"] for task in _poll(gig, other)] == [task_id]
    seen = one.get(path)["proof"]
    assert (seen["feedback"], seen["rejection_tag"]) == ("Blurred.", "low_quality")


@pytest.mark.rule("R-04")
def test_a_rejection_that_returns_nothing_may_still_be_revised(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    proof_id = _prove(gig, worker, world.task(gig))
    path = f"{gig.path}/proofs/{proof_id}"
    rejection = {"action": "reject", "rejection_tag": "not_selected", "requeue": False}
    assert gig.owner.patch(path, rejection)["requeued"] is False
    revised = gig.owner.patch(path, {"action": "approve"})
    assert (revised["revised"], revised["previous_status"]) == (True, "rejected")
    again = gig.owner.patch(path, {"action": "approve"})
    assert (again["revised"], again["previous_status"]) == (False, "approved")


@pytest.mark.rule("R-05")
def test_what_nobody_reviews_in_time_is_approved_once(world: World) -> None:
    gig = world.gig(review_timeout=60)
    worker = world.worker(gig)
    proof_ids = [_prove(gig, worker, world.task(gig)) for _ in range(5)]
    manual = world.gig(review_timeout=-1)
    kept = _prove(manual, world.worker(manual), world.task(manual))
    assert proofs.time_out() == 0
    clock.advance(61)
    counts = at_once(6, lambda _: proofs.time_out())
    assert sum(counts) == 5
    for proof_id in proof_ids:
        assert worker.get(f"{gig.path}/proofs/{proof_id}")["proof"]["status"] == "timeout_approved"
    events = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
    approvals = [event for event in events if event["type"] == "proof.approved"]
    assert [event["data"]["auto"] for event in approvals] == [True] * 5
    view = manual.owner.get(f"{manual.path}/proofs/{kept}")["proof"]
    assert (view["status"], view["timeout_at"]) == ("pending", None)
    path = f"{gig.path}/proofs/{proof_ids[0]}"
    gig.owner.call("PATCH", path, {"action": "reject"}).refused(409, "timeout_approved")


@pytest.mark.rule("Q-05")
@pytest.mark.case("F01")
def test_forty_who_poll_at_once_share_out_each_task_once(world: World) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(40)]
    sent = {world.task(gig) for _ in range(25)}
    taken = at_once(40, lambda number: _poll(gig, workers[number], 1))
    ids = [task["id"] for tasks in taken for task in tasks]
    assert len(ids) == 25
    assert set(ids) == sent


@pytest.mark.rule("G-08")
def test_a_closed_gig_hands_out_nothing_and_ends_what_is_in_hand(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    held = world.task(gig)
    _poll(gig, worker, 1)
    waiting = world.task(gig)
    gig.owner.patch(gig.path, {"status": "closed"})
    world.send(gig).refused(409, "gig_closed")
    worker.call("POST", f"{gig.path}/queue/poll", {}).refused(409, "gig_closed")
    body = {"task_identifier": waiting}
    worker.call("POST", f"{gig.path}/proofs", body).refused(409, "gig_closed")
    proof_id = _prove(gig, worker, held)
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {"action": "approve"})
    gig.owner.patch(gig.path, {"status": "active"})
    assert [task["id"] for task in _poll(gig, worker)] == [waiting]
