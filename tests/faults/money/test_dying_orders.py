"""A process is killed while an order is paid for: one deposit, and the order is the vendor's."""

from __future__ import annotations

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import DepositOpened
from tests.faults.flow import Miner
from tests.faults.money.dying import ORDER_POINTS, POINTS
from tests.faults.money.scene import NOT_WAITING, PATIENCE_SECONDS
from tests.faults.money.test_dying import LAYOUTS, Deadly
from tests.processes import Broken, Starter
from tests.shop import Shop, shop
from tests.world import Person, eventually

FEW = ["terms planned", "broadcast", "handed over"]
ALL = [*ORDER_POINTS, *POINTS]
ROUNDS = [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.soak)]


def _publish(place: Shop, buyer: Person, task_id: str) -> None:
    body = {"amount": "0.50", "wallet_alias_id": buyer.wallet_id}  # type: ignore[attr-defined]
    path = f"{place.path}/tasks/{task_id}/publish"
    try:
        answer = buyer.call("POST", path, body, headers=NOT_WAITING)
    except Broken:
        # Whoever was asked died of it; he may have begun, or not.
        return
    assert answer.status in (200, 202), answer.text


def _until_sent(place: Shop, buyer: Person, task_id: str) -> None:
    """Ask again, as a buyer would who was never answered, until it is sent."""

    def sent() -> bool:
        body = {"amount": "0.50", "wallet_alias_id": buyer.wallet_id}  # type: ignore[attr-defined]
        path = f"{place.path}/tasks/{task_id}/publish"
        told = buyer.call("POST", path, body, headers=NOT_WAITING)
        assert told.status in (200, 202, 409), told.text
        return told.status == 409 and bool(told.json["reason"] == "not_draft")

    eventually(sent, PATIENCE_SECONDS, f"{task_id} is sent")


@pytest.mark.rule("O-02")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("points", ROUNDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_process_that_dies_anywhere_in_a_publish_leaves_it_to_be_done_once(
    start_stack: Starter, chain: LocalChain, name: str, points: list[str]
) -> None:
    deadly = Deadly(start_stack, LAYOUTS[name], chain)
    scene, stack = deadly.scene, deadly.stack
    place = shop(stack, "0.50")  # type: ignore[arg-type]
    buyer = place.buyer(dollars=100)
    (wallet,) = [
        one["evm_address"]
        for one in buyer.get("/wallets")["wallets"]
        if one["id"] == buyer.wallet_id  # type: ignore[attr-defined]
    ]
    with Miner(stack):
        for number, point in enumerate(points, 1):
            print(f"publish dies at: {point}")
            task_id = place.draft(buyer)
            deadly.die_at(point, lambda: _publish(place, buyer, task_id))  # noqa: B023
            _until_sent(place, buyer, task_id)
            assert place.task(buyer, task_id)["status"] == "claimed"
            assert len(scene.node.events(DepositOpened)) == number, point
            assert stack.usdc_units(wallet) == 100_000_000 - number * 500_000, point
        rows = buyer.get("/orders")["orders"]
        assert [row["state"] for row in rows] == ["open"] * len(points)
    scene.check_money()
