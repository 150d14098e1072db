"""Changes of tasks that are funded one by one (Y-07): the price stays, and a deposit goes back."""

from __future__ import annotations

import pytest

from tests.engine.escrow_world import ended, escrow_gig, escrows_of, fine
from tests.world import World


@pytest.mark.rule("R-02")
@pytest.mark.rule("Y-07")
def test_a_price_that_is_deposited_is_not_changed(paying_world: World) -> None:
    gig = escrow_gig(paying_world, price="2")
    task_id = paying_world.task(gig)
    for value in ("3", None, "tbd", "2"):
        path = f"{gig.path}/tasks/{task_id}/price"
        gig.owner.call("PATCH", path, {"price": value}).refused(409, "price_fixed")
        body = {"updates": [{"id": task_id, "price": value}]}
        gig.owner.call("PATCH", f"{gig.path}/queue/prices", body).refused(409, "price_fixed")
    # The rest may be changed as anywhere.
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/priority", {"priority": 1})
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/tags", {"tags": ["a"]})
    seen = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    assert (seen["price"], seen["escrow_funded"]) == (2, True)


@pytest.mark.rule("A-02")
@pytest.mark.rule("Y-07")
def test_the_deposit_of_a_task_that_is_deleted_goes_back(paying_world: World) -> None:
    gig = escrow_gig(paying_world, price="2")
    wallet: str = gig.wallet  # type: ignore[attr-defined]
    before = paying_world.usdc_units(wallet)
    tasks = [paying_world.task(gig) for _ in range(3)]
    worker = paying_world.worker(gig)
    (held,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]

    gig.owner.call("DELETE", f"{gig.path}/tasks/{tasks[1]}").ok()
    assert gig.owner.call("DELETE", f"{gig.path}/queue/all").ok()["deleted"] == 1

    assert held["id"] == tasks[0]
    ended(gig, "open", "refunded", "refunded")
    kept = escrows_of(gig)[0].amount_units
    assert paying_world.usdc_units(wallet) == before - kept
    fine()
