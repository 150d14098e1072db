"""One task from submission to the worker's wallet, through the API."""

from __future__ import annotations

import pytest

from engine import audit
from tests.world import World, approved_proof


@pytest.mark.rule("Y-02")
@pytest.mark.rule("Y-05")
def test_an_approved_proof_ends_as_usdc_in_the_workers_wallet(paying_world: World) -> None:
    world = paying_world
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    deposited = world.fund(gig, "10")
    assert deposited["available_funds"] == 10
    proof_id = approved_proof(world, gig, worker)

    settled = gig.owner.post(f"{gig.path}/rollups")

    (rollup,) = settled["rollups"]
    assert rollup["status"] == "paid"
    assert rollup["proof_ids"] == rollup["paid_proof_ids"] == [proof_id]
    assert str(rollup["gross_amount"]) == str(rollup["net_amount"]) == "2.5"
    assert str(rollup["platform_fee"]) == "0.25"
    assert str(settled["available_funds"]) == "7.25"
    address = worker.mailbox["wallet_address"]
    assert world.usdc_units(address) == 2_500_000
    proof = worker.get(f"{gig.path}/proofs/{proof_id}")["proof"]
    assert proof["paid_out_at"] is not None
    assert audit.run().faults == []
