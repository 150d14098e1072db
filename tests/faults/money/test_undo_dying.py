"""A process dies at any step of an order that is undone: it is undone once all the same (O-09)."""

from __future__ import annotations

import uuid

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import DepositRefunded
from tests.faults.flow import Miner
from tests.faults.money.dying import POINTS, UNDO_POINTS
from tests.faults.money.scene import NOT_WAITING, PATIENCE_SECONDS
from tests.faults.money.test_dying import LAYOUTS, Deadly
from tests.orders.undoing import address
from tests.processes import Broken, Starter
from tests.shop import Shop, shop
from tests.world import Answer, Person, eventually

DOLLAR = 1_000_000
FEW = {
    "sqlite": ["work closed", "undo recorded", "broadcast", "undo ended"],
    "postgres": ["stored", "books committed"],
}
# Where requests are answered by other processes than those that die, they die of none of these.
IN_REQUEST = ("undo asked", "work closed", "undo decided", "undo recorded")
ALL = {
    "sqlite": [*UNDO_POINTS, *POINTS],
    "postgres": [name for name in (*UNDO_POINTS, *POINTS) if name not in IN_REQUEST],
}
ROUNDS = [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.soak)]


def _ask(person: Person, path: str, key: str) -> Answer | None:
    """None where whoever was asked has died of it."""
    try:
        return person.call("POST", path, headers={**NOT_WAITING, "idempotency-key": key})
    except Broken:
        return None


def _undo(deadly: Deadly, place: Shop, person: Person, task_id: str, point: str) -> None:
    """Undo an order, under one key until that is answered, with a death on the way."""
    path, key = f"{place.path}/tasks/{task_id}/withdraw", uuid.uuid4().hex
    deadly.die_at(point, lambda: _ask(person, path, key))

    def answered() -> bool:
        answer = _ask(person, path, key)
        assert answer is not None
        return answer.status in (200, 202)

    eventually(answered, PATIENCE_SECONDS, f"an answer after {point}")
    eventually(lambda: _state(deadly, task_id) == "withdrawn", PATIENCE_SECONDS, f"after {point}")


def _state(deadly: Deadly, task_id: str) -> str:
    ((status,),) = deadly.stack.rows(f"SELECT status FROM task WHERE id = '{task_id}'")
    return str(status)


@pytest.mark.rule("O-09")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-05")
@pytest.mark.parametrize("points", ROUNDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_process_that_dies_anywhere_in_an_undo_leaves_it_to_be_done_once(
    start_stack: Starter, chain: LocalChain, name: str, points: dict[str, list[str]]
) -> None:
    deadly = Deadly(start_stack, LAYOUTS[name], chain)
    stack = deadly.stack
    place = shop(stack, "0.50")
    with Miner(stack):
        buyer = place.buyer(dollars=10)
        payer = address(buyer)
        for number, point in enumerate(points[name], 1):
            task_id = place.order(buyer, amount="0.50")
            proof_id = place.deliver(task_id)
            print(f"undo dies at: {point}")
            person = buyer if number % 2 else place.vendor
            _undo(deadly, place, person, task_id, point)
            assert len(deadly.scene.node.events(DepositRefunded)) == number, point
            assert len(stack.events(place.gig, "order.withdrawn")) == number, point
            assert stack.usdc_units(payer) == 10 * DOLLAR, point
            read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
            assert (read["status"], read["paid_out_at"]) == ("rejected", None), point
            assert place.withdraw(buyer, task_id).ok()["state"] == "withdrawn"
    deadly.scene.check()
