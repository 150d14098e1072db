"""A reorg takes an order's deposit back: it is mined again, made anew, or the order is undone."""

from __future__ import annotations

from typing import Any

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import DepositOpened
from tests.faults.flow import Miner
from tests.faults.money.scene import LONG_SECONDS, Scene
from tests.faults.money.test_reorg import _under_way
from tests.processes import SQLITE, Layout, Starter
from tests.shop import Shop, shop
from tests.world import Person, eventually

LAYOUTS = [
    pytest.param(SQLITE, id="sqlite"),
    pytest.param(Layout("postgres", 1, 2, 1), id="postgres", marks=pytest.mark.soak),
]
DEPTH = 3


def _states(scene: Scene, task_id: str) -> list[str]:
    rows = scene.stack.rows(
        f"SELECT status FROM escrow WHERE task_id = '{task_id}' ORDER BY attempt"
    )
    return [status for (status,) in rows]


def _wait(scene: Scene, task_id: str, *states: str) -> None:
    eventually(lambda: _states(scene, task_id) == list(states), 60, f"deposits are {states}")


def _begin(place: Shop, buyer: Person) -> str:
    task_id = place.draft(buyer)
    body = {"amount": "0.50", "wallet_alias_id": buyer.wallet_id}  # type: ignore[attr-defined]
    path = f"{place.path}/tasks/{task_id}/publish"
    assert buyer.call("POST", path, body, headers={"prefer": "wait=0"}).status == 202
    return task_id


def _address(buyer: Person) -> str:
    return next(
        str(one["evm_address"])
        for one in buyer.get("/wallets")["wallets"]
        if one["id"] == buyer.wallet_id  # type: ignore[attr-defined]
    )


@pytest.mark.case("F26")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("O-05")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_an_order_whose_deposit_a_reorg_takes_back_is_funded_once_or_undone(
    start_stack: Starter, chain: LocalChain, layout: Layout
) -> None:
    stack = start_stack(layout, chain)
    scene = Scene(stack)
    node = scene.node
    place = shop(stack, "0.50")  # type: ignore[arg-type]
    buyer = place.buyer(dollars=100)
    address = _address(buyer)
    with Miner(stack):
        # The first one gives the contract its allowance, which stays.
        first = _begin(place, buyer)
        _wait(scene, first, "open")

    def taken_back() -> str:
        """An order that was handed over and whose deposit is in no block any more."""
        task_id = _begin(place, buyer)
        eventually(lambda: _under_way(scene) == 1, 60, "the deposit is sent")
        scene.mine(DEPTH, confirmations=1)
        _wait(scene, task_id, "open")
        assert place.task(buyer, task_id)["status"] == "claimed"
        place.deliver(task_id)
        node.reorg(DEPTH)
        _wait(scene, task_id, "planned")
        return task_id

    # It comes again by itself, as it was.
    with node.not_mining():
        again = taken_back()
    with Miner(stack):
        stack.advance(LONG_SECONDS)
        _wait(scene, again, "open")
    assert place.task(buyer, again)["status"] == "submitted"
    assert len(node.events(DepositOpened)) == 2

    # The chain refuses it, since the wallet is empty: what was paid had come back and is gone.
    with node.not_mining():
        lost = taken_back()
        node.empty(address)
    with Miner(stack):
        stack.advance(LONG_SECONDS)
        _told(lambda: place.task(buyer, lost), "withdrawn")
    assert "open" not in _states(scene, lost)
    told: list[Any] = stack.events(place.gig, "order.withdrawn")
    assert [event["subject"]["id"] for event in told] == [lost]
    assert [event["data"]["withdrawn_by"] for event in told] == ["reconciler"]

    # It was refused, but the wallet can pay again: the same is paid once more.
    stack.call("POST", "/dev/faucet", {"address": address, "usdc": "10", "eth": "1"}).ok()
    with node.not_mining():
        anew = taken_back()
        node.empty(address)
        node.mine()
        refilled = {"address": address, "usdc": "10", "eth": "1"}
    stack.call("POST", "/dev/faucet", refilled).ok()
    with Miner(stack):
        stack.advance(LONG_SECONDS)
        eventually(lambda: _states(scene, anew)[-1] == "open", 60, "it is funded anew")
    assert place.task(buyer, anew)["status"] == "submitted"
    assert len(node.events(DepositOpened)) == 3
    scene.check_money()


def _told(look: Any, status: str) -> None:
    eventually(lambda: look()["status"] == status, 90, f"it is {status}: {look()['status']}")
