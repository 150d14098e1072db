"""What a settlement carries, closes, leaves out and tries again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine import audit, clock, payouts, settlement
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain
from engine.chain.deploy import send_and_wait
from engine.db import db
from engine.models.rollup import Rollup
from tests.world import Gig, Person, World, approved_proof, eventually

PRICE_UNITS = 2_500_000


@pytest.fixture
def gig(paying_world: World) -> Iterator[Gig]:
    made = paying_world.gig(price="2.50", review_timeout=-1)
    paying_world.fund(made, "50")
    yield made
    assert audit.run().faults == []


def token(world: World, function: str, *values: object) -> None:
    """A function of the test token that only its owner may call."""
    assert world.chain is not None
    call = Call(world.chain.usdc_address, artifact("MockUSDC").encode(function, values))
    send_and_wait(Chain(world.chain.rpc_url), world.chain.minter_key, [call])


def settle(gig: Gig) -> Any:
    return gig.owner.post(f"{gig.path}/rollups")


def address(worker: Person) -> str:
    found: str = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    return found


def rejected_proof(world: World, gig: Gig, worker: Person, **query: Any) -> str:
    world.task(gig, **query)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    body = {"task_identifier": task["id"], "proofs": ["done"]}
    proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    verdict = {"action": "reject", "requeue": False}
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", verdict)
    return proof_id


@pytest.mark.rule("R-04")
@pytest.mark.rule("Y-02")
def test_a_settlement_closes_rejected_work_with_a_rollup_that_pays_nothing(
    paying_world: World, gig: Gig
) -> None:
    worker = paying_world.worker(gig)
    rejected = [
        rejected_proof(paying_world, gig, worker),
        rejected_proof(paying_world, gig, worker, price=0),
    ]
    paid = approved_proof(paying_world, gig, worker)
    for_nothing = approved_proof(paying_world, gig, worker, price=0)
    by_status = {one["status"]: one for one in settle(gig)["rollups"]}
    closed = by_status["settled"]
    assert sorted(closed["proof_ids"]) == sorted(rejected)
    assert closed["paid_proof_ids"] == []
    assert closed["gross_amount"] == closed["platform_fee"] == closed["net_amount"] == 0
    assert (closed["tx_hash"], closed["paid_at"]) == (None, None)
    assert by_status["paid"]["paid_proof_ids"] == [paid]
    change = {"action": "approve"}
    for proof_id in rejected:
        refusal = gig.owner.call("PATCH", f"{gig.path}/proofs/{proof_id}", change)
        assert refusal.refused(409, "in_rollup")["rollup_id"] == closed["id"]
    # An approval that costs nothing is no payout, and may still be taken back.
    gig.owner.patch(f"{gig.path}/proofs/{for_nothing}", {"action": "reject", "requeue": False})
    assert settle(gig)["rollups"][0]["proof_ids"] == [for_nothing]
    assert settle(gig)["rollups"] == []


@pytest.mark.rule("Y-02")
def test_a_worker_lists_what_he_was_paid_in_every_gig(paying_world: World, gig: Gig) -> None:
    other = paying_world.gig(price="1")
    paying_world.fund(other, "5")
    worker = paying_world.worker(gig)
    paying_world.worker(other, worker)
    stranger = paying_world.worker(gig)
    proofs = [approved_proof(paying_world, each, worker) for each in (gig, other)]
    approved_proof(paying_world, gig, stranger)
    settle(gig)
    settle(other)
    mine = worker.get("/rollups/mine")["rollups"]
    assert [(one["gig_id"], one["paid_proof_ids"]) for one in mine] == [
        (gig.id, [proofs[0]]),
        (other.id, [proofs[1]]),
    ]


@pytest.mark.rule("Y-04")
@pytest.mark.case("F25")
def test_a_bad_recipient_in_the_middle_holds_up_nobody_and_is_paid_once_he_can_be(
    paying_world: World, gig: Gig
) -> None:
    workers = [paying_world.worker(gig) for _ in range(5)]
    for worker in workers:
        approved_proof(paying_world, gig, worker)
    token(paying_world, "blacklist", address(workers[2]))
    rollups = {one["wallet_address"]: one for one in settle(gig)["rollups"]}
    bad = rollups.pop(address(workers[2]))
    assert bad["status"] == "failed"
    assert "blacklisted" in bad["failure"]
    assert {one["status"] for one in rollups.values()} == {"paid"}
    assert len({one["tx_hash"] for one in rollups.values()}) == 1
    # The money stays set aside for him.
    assert float(gig.owner.get(gig.path)["gig"]["reserved_funds"]) == 2.75
    assert settlement.retry_stuck() == 0
    token(paying_world, "unBlacklist", address(workers[2]))
    clock.advance(61)
    assert settlement.retry_stuck() == 1
    eventually(lambda: paying_world.usdc_units(address(workers[2])) == PRICE_UNITS)
    for worker in workers:
        assert paying_world.usdc_units(address(worker)) == PRICE_UNITS


@pytest.mark.rule("Y-04")
@pytest.mark.case("F25")
def test_a_paused_token_loses_nothing_and_all_are_paid_once_after_it(
    paying_world: World, gig: Gig
) -> None:
    workers = [paying_world.worker(gig) for _ in range(3)]
    for worker in workers:
        approved_proof(paying_world, gig, worker)
    token(paying_world, "pause")
    try:
        rollups = settle(gig)["rollups"]
        assert [one["status"] for one in rollups] == ["failed"] * 3
        assert all("paused" in one["failure"] for one in rollups)
        clock.advance(61)
        assert settlement.retry_stuck() == 1
        eventually(lambda: _failures(gig) == [2, 2, 2])
        # Told once, however often it is tried in vain.
        assert _kinds(gig).count("payout.failed") == 3
    finally:
        token(paying_world, "unpause")
    assert settlement.retry_stuck() == 0
    clock.advance(121)
    # Once the try before has ended.
    eventually(lambda: settlement.retry_stuck() == 1)
    eventually(lambda: _kinds(gig).count("payout.paid") == 3)
    for worker in workers:
        assert paying_world.usdc_units(address(worker)) == PRICE_UNITS


def _failures(gig: Gig) -> list[int]:
    with db.reading():
        return [row.failures for row in Rollup.select().where(Rollup.gig_id == gig.id)]


def _kinds(gig: Gig) -> list[str]:
    return [row["type"] for row in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]


@pytest.mark.rule("Y-08")
def test_tries_come_ever_later_and_never_stop(paying_world: World, gig: Gig) -> None:
    worker = paying_world.worker(gig)
    approved_proof(paying_world, gig, worker)
    token(paying_world, "blacklist", address(worker))
    (rollup,) = settle(gig)["rollups"]
    pauses = []
    for _ in range(12):
        with db.reading():
            now = Rollup.get_by_id(rollup["id"])
        pauses.append((now.retry_at - clock.now()) // clock.SECOND)
        db.write(lambda: Rollup.update(status="pending").where(Rollup.id == rollup["id"]).execute())
        db.write(lambda: payouts.refused(rollup["id"], "Still."))
    minutes = [round(pause / 60) for pause in pauses]
    assert minutes == [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360, 360]
    token(paying_world, "unBlacklist", address(worker))
