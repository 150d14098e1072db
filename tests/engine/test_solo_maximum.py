"""So many copies of a task and no more: `max_claims_per_task` (S-01)."""

from __future__ import annotations

from collections import Counter

import pytest

from engine import clock, holds
from engine.db import db
from engine.models.task import QueueEntry
from tests.engine.solo import SOLO, decline, poll, prove, review, sources
from tests.world import World, at_once


@pytest.mark.rule("S-01")
@pytest.mark.case("F06")
def test_three_distinct_workers_are_wanted_and_three_it_is(world: World) -> None:
    gig = world.gig(distribution=SOLO, max_claims_per_task=3)
    a, b = world.worker(gig), world.worker(gig)
    racing = [world.worker(gig) for _ in range(5)]
    template = world.task(gig)
    (copy,) = poll(gig, a)
    body = {"task_identifier": copy["id"]}
    proven = at_once(3, lambda _: a.call("POST", f"{gig.path}/proofs", body))
    assert Counter(one.status for one in proven) == {201: 1, 409: 2}
    assert poll(gig, a) == []
    (other,) = poll(gig, b)
    prove(gig, b, other["id"])
    polls = at_once(5, lambda n: poll(gig, racing[n]))
    assert sorted(map(len, polls)) == [0, 0, 0, 0, 1]
    for n in range(5):
        for task in polls[n]:
            prove(gig, racing[n], task["id"])
    proofs = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert len({proof["mailbox_id"] for proof in proofs}) == len(proofs) == 3
    assert gig.owner.get(f"{gig.path}/queue")["tasks"] == []
    assert gig.owner.get(f"{gig.path}/tasks/{template}")["task"]["status"] == "queued"


@pytest.mark.rule("S-01")
@pytest.mark.rule("D-01")
def test_a_discarded_copy_gives_its_slot_to_another_and_never_to_the_same(world: World) -> None:
    gig = world.gig(distribution=SOLO, max_claims_per_task=1, task_timeout=60)
    one, two, three = (world.worker(gig) for _ in range(3))
    template = world.task(gig)
    (copy,) = poll(gig, one)
    assert poll(gig, two) == []
    for _ in range(2):
        decline(gig, one, copy["id"])
    assert poll(gig, one) == []
    # One that two held until his time ran out.
    assert sources(poll(gig, two)) == [template]
    clock.advance(61)
    assert holds.expire() == 1
    assert poll(gig, one) == poll(gig, two) == []
    assert sources(poll(gig, three)) == [template]
    assert poll(gig, world.worker(gig)) == []


@pytest.mark.rule("S-01")
@pytest.mark.rule("R-04")
def test_a_rejection_gives_the_slot_back_unless_it_is_told_not_to(world: World) -> None:
    gig = world.gig(distribution=SOLO, max_claims_per_task=1)
    one, two, three = (world.worker(gig) for _ in range(3))
    template = world.task(gig)
    verdict = {"action": "reject", "rejection_tag": "not_selected"}
    done = review(gig, prove(gig, one, poll(gig, one)[0]["id"]), **verdict)
    assert done["requeued"] is True
    (copy,) = poll(gig, two)
    assert copy["source_task_id"] == template and poll(gig, one) == []
    done = review(gig, prove(gig, two, copy["id"]), requeue=False, **verdict)
    assert done["requeued"] is False
    assert poll(gig, three) == []


@pytest.mark.rule("S-01")
def test_a_raised_maximum_reopens_the_task_for_new_workers_only(world: World) -> None:
    gig = world.gig(distribution=SOLO, max_claims_per_task=1)
    one, two, three, four = (world.worker(gig) for _ in range(4))
    first, second = world.task(gig), world.task(gig)
    assert sources(poll(gig, one)) == [first, second]
    # He has looked, so his cursor is past them.
    assert poll(gig, two) == []
    gig.owner.patch(gig.path, {"max_claims_per_task": 2})
    assert poll(gig, one) == []
    assert sources(poll(gig, two)) == [first, second]
    assert poll(gig, three) == []
    gig.owner.patch(gig.path, {"max_claims_per_task": None})
    assert poll(gig, one) == poll(gig, two) == []
    assert sources(poll(gig, three)) == [first, second]
    # Those that were handed out without a maximum count once there is one again.
    gig.owner.patch(gig.path, {"max_claims_per_task": 3})
    assert poll(gig, four) == []
    gig.owner.patch(gig.path, {"max_claims_per_task": 4})
    assert sources(poll(gig, four)) == [first, second]


@pytest.mark.rule("S-01")
def test_a_lowered_maximum_stops_new_copies_and_takes_none_away(world: World) -> None:
    gig = world.gig(distribution=SOLO, max_claims_per_task=3)
    one, two, three = (world.worker(gig) for _ in range(3))
    template = world.task(gig)
    held = [poll(gig, worker)[0]["id"] for worker in (one, two)]
    gig.owner.patch(gig.path, {"max_claims_per_task": 1})
    assert poll(gig, three) == []
    # Of two one may be; so one that is given back is not for anybody else.
    decline(gig, one, held[0])
    assert poll(gig, three) == []
    prove(gig, two, held[1])
    gig.owner.patch(gig.path, {"max_claims_per_task": 2})
    assert sources(poll(gig, three)) == [template]


@pytest.mark.rule("S-01")
def test_a_deleted_task_gives_out_no_more_copies_and_those_in_hand_go_on(world: World) -> None:
    gig = world.gig(distribution=SOLO, max_claims_per_task=2)
    one, two, three = (world.worker(gig) for _ in range(3))
    template = world.task(gig)
    (copy,), (other,) = poll(gig, one), poll(gig, two)
    gig.owner.call("DELETE", f"{gig.path}/tasks/{template}").ok()
    decline(gig, two, other["id"])
    assert poll(gig, three) == []
    gig.owner.patch(gig.path, {"max_claims_per_task": 5})
    assert poll(gig, three) == []
    review(gig, prove(gig, one, copy["id"]), action="approve")
    with db.reading():
        assert not QueueEntry.select().exists()
