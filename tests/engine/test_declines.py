"""Passing on a task, and reporting one: for this worker only, and back where it came from."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.scene import everything
from tests.engine.holding import (
    act,
    assign,
    claim,
    mailbox_id,
    poll,
    reserve,
    task_of,
    told,
)
from tests.world import World

SKIPS = ("decline", "violation")


@pytest.mark.rule("D-01")
@pytest.mark.case("F05")
@pytest.mark.parametrize("what", SKIPS)
def test_whoever_gives_a_task_back_may_take_others_and_the_next_one_gets_it_at_once(
    world: World, what: str
) -> None:
    gig = world.gig(default_max_open_tasks=1)
    one, other = world.worker(gig), world.worker(gig)
    first = world.task(gig)
    assert poll(gig, one) == [first]
    for _ in range(2):
        assert act(gig, one, first, what).ok() == {"success": True}
    assert poll(gig, one) == []
    second = world.task(gig)
    # It keeps its place for the others, and the slot that it took is free.
    assert poll(gig, other) == [first]
    assert poll(gig, one) == [second]
    # What another holds by now stays his.
    act(gig, one, first, what).ok()
    act(gig, other, first, "proof").ok()
    assert len(told(gig, "task.declined", "task.violation")) == 1


@pytest.mark.rule("D-01")
@pytest.mark.case("F05")
@pytest.mark.parametrize("what", SKIPS)
def test_what_another_worker_holds_is_only_skipped_and_what_nobody_knows_is_not_found(
    world: World, what: str
) -> None:
    gig, elsewhere = world.gig(), world.gig()
    one, other = world.worker(gig), world.worker(gig)
    stranger = world.worker(elsewhere)
    task_id = world.task(gig)
    claim(gig, one)
    assert act(gig, other, task_id, what).ok() == {"success": True}
    assert task_of(gig, task_id)["mailbox_id"] == mailbox_id(one)
    act(gig, stranger, task_id, what).refused(403, "not_joined")
    act(elsewhere, stranger, task_id, what).refused(404, "not_found")
    act(gig, one, "TASK_1", what).refused(404, "not_found")
    act(gig, one, task_id, what).ok()
    # He has skipped it before anybody could offer it to him.
    assert poll(gig, other) == []
    assert poll(gig, world.worker(gig)) == [task_id]


@pytest.mark.rule("D-01")
@pytest.mark.rule("A-01")
@pytest.mark.case("F05")
@pytest.mark.parametrize("what", ["decline", "violation", "heartbeat"])
def test_what_is_not_for_a_worker_to_see_is_not_for_him_to_skip(world: World, what: str) -> None:
    gig = world.gig()
    one, other = world.worker(gig), world.worker(gig)
    hidden = [world.task(gig, assign_to=mailbox_id(one)), world.task(gig, draft="true")]
    before = everything()
    for task_id in hidden:
        act(gig, other, task_id, what).refused(404, "not_found")
    assert everything() == before


@pytest.mark.rule("D-01")
@pytest.mark.rule("M-05")
def test_a_decline_leaves_the_rate_slot_spent(world: World) -> None:
    gig = world.gig(default_rate_limit_count=2, default_rate_limit_minutes=60)
    worker = world.worker(gig)
    for _ in range(3):
        world.task(gig)
    (first,) = poll(gig, worker, 1)
    act(gig, worker, first, "decline").ok()
    assert len(poll(gig, worker)) == 1
    worker.call("POST", f"{gig.path}/queue/poll").refused(429)


@pytest.mark.rule("D-01")
@pytest.mark.parametrize("what", SKIPS)
def test_an_assigned_task_goes_back_to_its_owner_and_to_nobody_else(
    world: World, what: str
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    gig.owner.patch(
        f"{gig.path}/tasks/{task_id}/private-details", {"private_details": "The brief."}
    )
    assign(gig, worker, task_id)
    answer = {"success": True, "skipped": True, "returned_to_owner": True}
    for _ in range(2):
        assert act(gig, worker, task_id, what).ok() == answer
    seen = task_of(gig, task_id)
    assert (seen["mailbox_id"], seen["private_details"]) == ("UNASSIGNED", "The brief.")
    assert poll(gig, other) == poll(gig, worker) == []
    act(gig, other, task_id, what).refused(404, "not_found")
    assert len(told(gig, "task.declined", "task.violation")) == 1
    assign(gig, other, task_id)
    assert act(gig, worker, task_id, what).ok() == {"success": True}
    act(gig, other, task_id, "proof").ok()


@pytest.mark.rule("D-01")
@pytest.mark.rule("A-01")
def test_what_was_taken_by_a_poll_and_then_assigned_is_the_owners_to_have_back(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    claim(gig, worker)
    assign(gig, worker, task_id)
    assert act(gig, worker, task_id, "decline").ok()["returned_to_owner"] is True


@pytest.mark.rule("T-06")
@pytest.mark.parametrize("held", [True, False], ids=["held", "not yet held"])
@pytest.mark.parametrize("what", SKIPS)
def test_a_reservation_that_its_worker_skips_is_for_nobody_in_particular(
    world: World, what: str, held: bool
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    reserve(gig, worker, task_id)
    act(gig, other, task_id, "proof").refused(409, "reserved_for_other")
    if held:
        assert claim(gig, worker) == task_id
    assert act(gig, worker, task_id, what).ok() == {"success": True}
    seen = task_of(gig, task_id)
    assert (seen["availability"], seen["reserved_for"]) == ("reserved", None)
    assert poll(gig, worker) == poll(gig, other) == []
    act(gig, other, task_id, "proof").ok()


@pytest.mark.rule("T-06")
def test_a_reservation_that_another_skips_stays_his_whom_it_is_for(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    reserve(gig, worker, task_id)
    act(gig, other, task_id, "decline").ok()
    assert poll(gig, worker) == [task_id]


@pytest.mark.rule("T-06")
def test_a_reservation_may_be_skipped_each_time_that_it_is_made(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    for _ in range(2):
        reserve(gig, worker, task_id)
        act(gig, worker, task_id, "decline").ok()
        assert task_of(gig, task_id)["reserved_for"] is None


@pytest.mark.rule("S-01")
@pytest.mark.rule("D-01")
@pytest.mark.parametrize("what", SKIPS)
def test_a_copy_that_is_declined_is_gone_for_its_worker_and_its_slot_is_for_another(
    world: World, what: str
) -> None:
    gig = world.gig(distribution="queue_solo", max_claims_per_task=1)
    worker, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    copy = claim(gig, worker)
    act(gig, other, copy, what).refused(404, "not_found")
    for _ in range(2):
        assert act(gig, worker, copy, what).ok() == {"success": True}
    act(gig, worker, copy, "proof").refused(410, "claim_lost")
    assert poll(gig, worker) == []
    mine = claim(gig, other)
    assert mine != copy
    act(gig, other, mine, "proof").ok()
    assert len(told(gig, "task.declined", "task.violation")) == 1


@pytest.mark.rule("S-01")
@pytest.mark.rule("R-01")
def test_a_proof_of_a_template_or_of_anothers_copy_is_refused(world: World) -> None:
    gig = world.gig(distribution="queue_solo")
    worker, other = world.worker(gig), world.worker(gig)
    template = world.task(gig)
    copy = claim(gig, worker)
    act(gig, worker, template, "proof").refused(409, "template")
    act(gig, other, copy, "proof").refused(409, "other_worker")


@pytest.mark.rule("A-02")
def test_the_owner_reads_what_is_reported_and_how_often(world: World) -> None:
    gig = world.gig()
    one, other, third = (world.worker(gig) for _ in range(3))
    task_id = world.task(gig)
    reports = ((one, "Spam."), (one, "Spam, I say."), (other, "A scam."))
    for worker, text in reports:
        act(gig, worker, task_id, "violation", {"violation": text}).ok()
    act(gig, third, task_id, "decline").ok()

    events = told(gig, "task.violation")
    assert [(event["data"]["mailbox_id"], event["data"]["violation"]) for event in events] == [
        (mailbox_id(one), "Spam."),
        (mailbox_id(other), "A scam."),
    ]
    (listed,) = gig.owner.get(f"{gig.path}/queue")["tasks"]
    assert (listed["violation_count"], listed["declined_count"]) == (2, 1)
    assert task_of(gig, task_id)["violation_count"] == 2
    for worker in (one, third):
        assert "violation_count" not in worker.get(f"{gig.path}/queue")["tasks"][0]
        assert "violation_count" not in worker.get(f"{gig.path}/tasks/{task_id}")["task"]
        heard = worker.get(f"{gig.path}/events?limit=200")["events"]
        assert "A scam." not in str(heard)


@pytest.mark.rule("A-02")
def test_a_worker_who_has_declined_may_still_say_why(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    act(gig, worker, task_id, "decline").ok()
    for _ in range(2):
        act(gig, worker, task_id, "violation").ok()
    act(gig, worker, task_id, "decline").ok()
    assert len(told(gig, "task.declined")) == len(told(gig, "task.violation")) == 1
    assert task_of(gig, task_id)["violation_count"] == 1


@pytest.mark.rule("A-02")
@pytest.mark.rule("D-01")
@pytest.mark.parametrize("what", SKIPS)
def test_what_was_handed_in_can_no_longer_be_skipped(world: World, what: str) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    proof = act(gig, worker, task_id, "proof").ok()["proof"]
    act(gig, worker, task_id, what).refused(409, "already_proven")
    verdict = {"action": "reject", "requeue": False}
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", verdict)
    act(gig, worker, task_id, what).refused(409, "already_proven")


@pytest.mark.rule("A-02")
@pytest.mark.rule("H-05")
@pytest.mark.parametrize("violation", [None, "", "x" * 2001, 7, ["Spam."]])
def test_a_report_that_says_nothing_is_refused_by_name(world: World, violation: Any) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    refusal = act(gig, worker, task_id, "violation", {"violation": violation}).refused(400)
    assert "violation" in refusal["errors"]
    act(gig, worker, task_id, "violation", {"violation": "x" * 2000}).ok()


@pytest.mark.rule("M-01")
@pytest.mark.rule("D-01")
def test_of_two_places_the_one_that_has_the_task_acts(world: World) -> None:
    gig = world.gig(task_timeout=60)
    worker = world.worker(gig)
    second = worker.post(f"{gig.path}/mailboxes", {"invite": gig.invite, "new": True})["mailbox"]
    sent = [world.task(gig) for _ in range(2)]
    for task_id in sent:
        body = {"count": 1, "mailbox_id": second["id"]}
        assert worker.post(f"{gig.path}/queue/poll", body)["tasks"][0]["id"] == task_id
    first, last = sent
    act(gig, worker, first, "heartbeat", {"mailbox_id": mailbox_id(worker)}).refused(
        409, "not_held"
    )
    act(gig, worker, first, "heartbeat").ok()
    act(gig, worker, first, "decline").ok()
    assert task_of(gig, first)["mailbox_id"] is None
    proof = act(gig, worker, last, "proof").ok()["proof"]
    assert proof["mailbox_id"] == second["id"]
