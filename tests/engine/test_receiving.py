"""What came into a worker's hands, and what he made of it (M-06)."""

from __future__ import annotations

import pytest

from engine import clock, departures, holds, receiving
from engine.models.mailbox import Mailbox
from engine.receiving import Received
from tests.engine.holding import TIMEOUT, act, assign, mailbox_id, poll
from tests.world import Person, World


def _of(*workers: Person) -> list[Received]:
    ids = [mailbox_id(worker) for worker in workers]
    found = receiving.of([Mailbox(id=one) for one in ids])
    assert list(found) == ids
    return [found[one] for one in ids]


@pytest.mark.rule("M-06")
def test_a_rate_is_of_what_is_due_and_there_is_none_before(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker, idle = world.worker(gig), world.worker(gig)
    sent = [world.task(gig) for _ in range(3)]
    assert _of(worker, idle) == [Received(0, 0, None)] * 2
    poll(gig, worker)
    # In hand and in time: nothing is due yet.
    assert _of(worker, idle) == [Received(3, 0, None), Received(0, 0, None)]
    act(gig, worker, sent[0], "proof").ok()
    assert _of(worker) == [Received(3, 1, 1.0)]
    act(gig, worker, sent[1], "decline").ok()
    assert _of(worker) == [Received(3, 1, 0.5)]
    clock.advance(TIMEOUT)
    assert _of(worker) == [Received(3, 1, 0.3333)]
    assert receiving.of([]) == {}


@pytest.mark.rule("M-06")
@pytest.mark.rule("Q-07")
def test_an_expiry_counts_against_a_worker_and_an_owners_recycle_does_not(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    sent = [world.task(gig) for _ in range(3)]
    poll(gig, worker)
    act(gig, worker, sent[0], "proof").ok()
    act(gig, gig.owner, sent[1], "recycle").ok()
    assert _of(worker) == [Received(3, 1, 1.0)]
    clock.advance(TIMEOUT)
    assert holds.expire() == 1
    assert _of(worker) == [Received(3, 1, 0.5)]
    # Given to him again it is another one that he received; and he does that one.
    assign(gig, worker, sent[1])
    assert _of(worker) == [Received(4, 1, 0.5)]
    act(gig, worker, sent[1], "proof").ok()
    assert _of(worker) == [Received(4, 2, 0.6667)]


@pytest.mark.rule("M-06")
@pytest.mark.rule("R-01")
def test_a_proof_of_what_nobody_had_taken_is_of_a_task_received(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    act(gig, worker, world.task(gig), "proof").ok()
    assert _of(worker) == [Received(1, 1, 1.0)]


@pytest.mark.rule("M-06")
@pytest.mark.rule("Z-07")
def test_what_was_taken_with_the_place_is_no_fault_of_its_worker(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    sent = [world.task(gig) for _ in range(2)]
    poll(gig, worker)
    act(gig, worker, sent[0], "proof").ok()
    departures.deactivate(worker.email)
    assert _of(worker) == [Received(2, 1, 1.0)]


@pytest.mark.rule("M-06")
@pytest.mark.rule("M-02")
def test_the_owner_reads_it_with_each_worker(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    first, _ = world.task(gig), world.task(gig)
    poll(gig, worker)
    act(gig, worker, first, "proof").ok()
    (row,) = gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]
    assert (row["tasks_received"], row["proofs_submitted"], row["response_rate"]) == (2, 1, 1)
