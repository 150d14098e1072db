"""A claim whose time has run out: who loses it, where it goes, and who may still act (Q-07)."""

from __future__ import annotations

import pytest

from engine import clock, holds
from jobs import actors
from tests.engine.holding import (
    TIMEOUT,
    act,
    assign,
    claim,
    mailbox_id,
    poll,
    reserve,
    task_of,
    told,
)
from tests.world import World, at_once

ZOMBIE = ("proof", "decline", "violation", "heartbeat")


@pytest.mark.rule("Q-07")
@pytest.mark.case("F04")
def test_a_claim_that_ran_out_goes_back_with_the_sweep_and_not_to_the_one_who_lost_it(
    world: World,
) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    one, other = world.worker(gig), world.worker(gig)
    first, second = world.task(gig), world.task(gig)
    assert poll(gig, one, 1) == [first]

    clock.advance(TIMEOUT - 5)
    actors.sweep()
    assert task_of(gig, first)["mailbox_id"] == mailbox_id(one)

    clock.advance(5)
    actors.sweep()
    assert task_of(gig, first)["mailbox_id"] is None
    (event,) = told(gig, "task.expired")
    assert event["subject"]["id"] == first
    assert event["data"]["mailbox_id"] == mailbox_id(one)
    # It has its old place again, for everybody but him.
    assert poll(gig, one) == [second]
    assert poll(gig, other) == [first]


@pytest.mark.rule("Q-07")
def test_the_worker_is_told_that_his_time_ran_out_and_his_colleague_is_not(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    one, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    claim(gig, one)
    clock.advance(TIMEOUT)
    holds.expire()
    heard = {
        person: [event["type"] for event in person.get(f"{gig.path}/events?limit=200")["events"]]
        for person in (one, other)
    }
    assert "task.expired" in heard[one]
    assert "task.expired" not in heard[other]


@pytest.mark.rule("Q-07")
@pytest.mark.case("F03")
@pytest.mark.parametrize("what", ZOMBIE)
def test_before_and_after_the_sweep_its_old_holder_cannot_act_on_it(
    world: World, what: str
) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    one, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    claim(gig, one)
    clock.advance(TIMEOUT)
    before = told(gig, "task.declined", "task.violation", "proof.submitted")

    assert "time" in act(gig, one, task_id, what).refused(410, "claim_lost")["error"]
    holds.expire()
    assert "time" in act(gig, one, task_id, what).refused(410, "claim_lost")["error"]
    assert claim(gig, other) == task_id
    act(gig, one, task_id, what).refused(410, "claim_lost")

    assert told(gig, "task.declined", "task.violation", "proof.submitted") == before
    assert task_of(gig, task_id)["mailbox_id"] == mailbox_id(other)
    act(gig, other, task_id, "proof").ok()
    act(gig, one, task_id, what).refused(410, "claim_lost")


@pytest.mark.rule("Q-07")
@pytest.mark.rule("A-01")
def test_whoever_lost_it_may_be_assigned_it_and_it_is_his_again(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    task_id = world.task(gig)
    claim(gig, worker)
    clock.advance(TIMEOUT)
    holds.expire()
    act(gig, worker, task_id, "proof").refused(410, "claim_lost")
    assign(gig, worker, task_id)
    assert act(gig, worker, task_id, "heartbeat").ok()["expires_at"] is not None
    act(gig, worker, task_id, "proof").ok()


@pytest.mark.rule("Q-07")
def test_an_assigned_task_that_runs_out_goes_back_to_its_owner(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    assign(gig, worker, task_id)
    clock.advance(TIMEOUT)
    assert holds.expire() == 1
    assert task_of(gig, task_id)["mailbox_id"] == "UNASSIGNED"
    assert poll(gig, other) == poll(gig, worker) == []
    act(gig, worker, task_id, "proof").refused(410, "claim_lost")
    act(gig, other, task_id, "proof").refused(409, "withdrawn")
    assign(gig, other, task_id)
    act(gig, other, task_id, "proof").ok()


@pytest.mark.rule("T-06")
def test_a_reservation_that_its_worker_loses_is_for_nobody_in_particular(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    reserve(gig, worker, task_id)
    assert claim(gig, worker) == task_id
    clock.advance(TIMEOUT)
    holds.expire()
    seen = task_of(gig, task_id)
    assert (seen["availability"], seen["reserved_for"]) == ("reserved", None)
    assert poll(gig, other) == poll(gig, worker) == []
    act(gig, worker, task_id, "proof").refused(410, "claim_lost")
    # Whoever knows of it may take it.
    act(gig, other, task_id, "proof").ok()


@pytest.mark.rule("S-01")
def test_a_copy_that_runs_out_is_gone_and_its_slot_is_for_another_worker(world: World) -> None:
    gig = world.gig(distribution="queue_solo", task_timeout=TIMEOUT, max_claims_per_task=1)
    one, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    copy = claim(gig, one)
    assert poll(gig, other) == []
    clock.advance(TIMEOUT)
    assert holds.expire() == 1
    for what in ZOMBIE:
        act(gig, one, copy, what).refused(410, "claim_lost")
    assert poll(gig, one) == []
    assert claim(gig, other) != copy


@pytest.mark.rule("Q-07")
@pytest.mark.case("F28")
def test_what_is_handed_in_or_was_taken_without_a_clock_never_runs_out(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    proven = world.task(gig)
    act(gig, worker, proven, "proof").ok()
    patient = world.gig()
    colleague = world.worker(patient)
    kept = world.task(patient)
    claim(patient, colleague)
    # A clock that the owner sets later is for what is taken later.
    patient.owner.patch(patient.path, {"task_timeout": TIMEOUT})
    assert act(patient, colleague, kept, "heartbeat").ok() == {"expires_at": None}
    clock.advance(100 * TIMEOUT)
    assert holds.expire() == 0
    assert task_of(gig, proven)["status"] == "submitted"
    act(patient, colleague, kept, "proof").ok()


@pytest.mark.rule("G-08")
def test_what_runs_out_in_a_cancelled_gig_is_over(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    task_id = world.task(gig)
    claim(gig, worker)
    gig.owner.post(f"{gig.path}/cancel")
    clock.advance(TIMEOUT)
    assert holds.expire() == 1
    assert task_of(gig, task_id)["status"] == "cancelled"
    act(gig, worker, task_id, "proof").refused(410, "claim_lost")


@pytest.mark.rule("Q-07")
@pytest.mark.rule("G-08")
def test_what_runs_out_in_a_closed_gig_waits_until_it_is_open_again(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    claim(gig, worker)
    gig.owner.patch(gig.path, {"status": "closed"})
    clock.advance(TIMEOUT)
    assert holds.expire() == 1
    gig.owner.patch(gig.path, {"status": "active"})
    assert poll(gig, other) == [task_id]


@pytest.mark.rule("Q-07")
def test_one_claim_that_cannot_be_taken_back_does_not_keep_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig, broken = world.gig(task_timeout=TIMEOUT), world.gig(task_timeout=TIMEOUT - 1)
    for one in (gig, broken):
        world.task(one)
        claim(one, world.worker(one))
    clock.advance(TIMEOUT)
    # Its mode was uninstalled.
    from engine.db import db
    from engine.models.gig import Gig

    def rename(name: str) -> None:
        db.write(lambda: Gig.update(distribution=name).where(Gig.id == broken.id).execute())

    rename("telepathy")
    assert holds.expire() == 1
    assert len(told(gig, "task.expired")) == 1
    rename("queue")
    assert holds.expire() == 1


@pytest.mark.rule("Q-07")
def test_however_many_sweep_at_once_each_claim_is_taken_back_once(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    workers = [world.worker(gig) for _ in range(3)]
    sent = [world.task(gig) for _ in range(30)]
    for worker in workers:
        poll(gig, worker, 10)
    clock.advance(TIMEOUT)
    assert sum(at_once(4, lambda _: holds.expire())) == len(sent)
    assert sorted(event["subject"]["id"] for event in told(gig, "task.expired")) == sorted(sent)
    fresh = world.worker(gig)
    assert [*poll(gig, fresh), *poll(gig, fresh)] == sent
