"""Bells of a mode's own: when they ring, and how often."""

from __future__ import annotations

from typing import Any

import pytest

from engine import bells, clock
from engine.db import db
from engine.models.mode_item import ModeItem
from jobs import actors
from tests.modes.test_own_verbs import mode_of, use
from tests.world import Gig, World, at_once

pytestmark = [pytest.mark.rule("G-03"), pytest.mark.usefixtures("trial")]


def ring_in(gig: Gig, task_id: str, seconds: int, bell: str = "x") -> None:
    use(gig, gig.owner, task_id, "ring", bell=bell, seconds=seconds).ok()


def rung(gig: Gig, task_id: str) -> Any:
    return mode_of(gig, gig.owner, task_id).get("rung", [])


def set_bells() -> int:
    with db.reading():
        return ModeItem.select().where(ModeItem.bell_at.is_null(False)).count()


def test_a_bell_rings_with_the_first_sweep_after_its_time_and_once(world: World) -> None:
    gig = world.gig(distribution="trial")
    task_id, twice = world.task(gig), world.task(gig)
    ring_in(gig, task_id, 60)
    ring_in(gig, twice, 60, "twice")
    clock.advance(59)
    actors.sweep()
    assert rung(gig, task_id) == []
    clock.advance(1)
    actors.sweep()
    actors.sweep()
    assert (rung(gig, task_id), rung(gig, twice)) == (["x"], ["twice"])
    clock.advance(5)
    actors.sweep()
    assert rung(gig, twice) == ["twice", "last"]
    assert set_bells() == 0


def test_of_many_who_ring_at_once_each_bell_is_rung_by_one(world: World) -> None:
    gig = world.gig(distribution="trial")
    tasks = [world.task(gig) for _ in range(12)]
    for task_id in tasks:
        ring_in(gig, task_id, 0)
    clock.advance(1)
    assert sum(at_once(4, lambda _: bells.ring())) == 12
    assert [rung(gig, task_id) for task_id in tasks] == [["x"]] * 12


def test_a_mode_that_cannot_answer_is_asked_again_ever_later_and_keeps_no_other(
    world: World,
) -> None:
    gig = world.gig(distribution="trial")
    bad, good = world.task(gig), world.task(gig)
    ring_in(gig, bad, 0, "bad")
    ring_in(gig, good, 1)
    clock.advance(1)
    waits = []
    for _ in range(3):
        bells.ring()
        with db.reading():
            at = ModeItem.select(ModeItem.bell_at).where(ModeItem.task_id == bad).scalar()
        waits.append(round((at - clock.now()) / 1000))
        clock.advance(waits[-1] + 1)
    assert waits == [60, 120, 240]
    assert rung(gig, good) == ["x"]
    assert not [
        one
        for one in gig.owner.get(f"{gig.path}/events?limit=200")["events"]
        if one["type"] == "task.rang" and one["subject"]["id"] == bad
    ]


def test_a_task_that_has_ended_rings_no_more(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    deleted, approved = world.task(gig), world.task(gig)
    ring_in(gig, deleted, 60)
    ring_in(gig, approved, 60)
    gig.owner.call("DELETE", f"{gig.path}/queue/{deleted}").ok()
    use(gig, worker, approved, "take").ok()
    use(gig, worker, approved, "finish", text="x").ok()
    (proof,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    clock.advance(60)
    assert bells.ring() == 0
    assert set_bells() == 0
    assert rung(gig, approved) == []


@pytest.mark.rule("G-08")
def test_what_waits_in_a_closed_gig_rings_once_that_is_open_again(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    waits, held = world.task(gig), world.task(gig)
    use(gig, worker, held, "take").ok()
    for task_id in (waits, held):
        ring_in(gig, task_id, 60)
    gig.owner.patch(gig.path, {"status": "closed"})
    clock.advance(60)
    actors.sweep()
    assert (rung(gig, waits), rung(gig, held)) == ([], ["x"])
    gig.owner.patch(gig.path, {"status": "active"})
    actors.sweep()
    assert rung(gig, waits) == ["x"]


def test_a_bell_may_hand_in_for_who_has_the_task(world: World) -> None:
    gig = world.gig(distribution="trial")
    worker = world.worker(gig)
    task_id = world.task(gig)
    use(gig, worker, task_id, "take").ok()
    ring_in(gig, task_id, 60, "finish")
    clock.advance(60)
    actors.sweep()
    (proof,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert proof["proofs"] == ["time is up"]
