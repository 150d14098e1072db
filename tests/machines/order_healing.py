"""The install is left to work until nothing of any order moves any more."""

from __future__ import annotations

from engine import settlement
from engine.db import db
from engine.models.proof import UNCARRIED, UNDECIDED, Proof
from engine.models.task import Task
from tests.machines import healing, order_checks
from tests.machines.order_scene import OrderScene


def until_quiet(scene: OrderScene) -> None:
    """All that the scheduler rings for, until nothing moves any more."""
    for _ in range(healing.MOST_ROUNDS):
        scene.time.advance(healing.ROUND_SECONDS)
        scene.run_out()
        scene.driver.ring()
        settlement.request_all()
        scene.driver.step_all()
        scene.node.mine(3)
        assert scene.driver.reconcile()
        order_checks.always(scene)
        if not _left(scene):
            return
    raise AssertionError(f"not quiet after {healing.MOST_ROUNDS} rounds: {_left(scene)}")


def _left(scene: OrderScene) -> list[str]:
    left = healing.under_way(scene)
    with db.reading():
        left += [f"{one.id} is {one.status}" for one in Proof.select().where(UNCARRIED | UNDECIDED)]
        passing = Task.select().where(Task.status.in_(("unfunded", "undoing")))
        left += [f"{one.id} is {one.status}" for one in passing]
    return left
