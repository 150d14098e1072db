"""What verdicts come to in money: disputed work, prices that are asked for, rejections for good."""

from __future__ import annotations

import time
from typing import Any

import pytest

from engine import audit, clock, proofs, settlement
from engine.db import db
from engine.models.proof import Proof
from tests.engine.escrow_world import ended, escrow_gig, fine, take
from tests.engine.test_cancellation import cancel
from tests.world import Gig, Person, World, at_once

APPROVE = {"action": "approve"}
KEEP = {"action": "reject", "requeue": False}
MINUTE = {"review_timeout": 60}
ROUNDS = [
    pytest.param(3, id="3-rounds"),
    pytest.param(40, id="40-rounds", marks=pytest.mark.soak),
]


def prove(world: World, gig: Gig, worker: Person, task: Any = None, **more: Any) -> str:
    body = {"task_identifier": world.task(gig, **(task or {})), **more}
    proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    return proof_id


def run_out() -> None:
    clock.advance(61)
    proofs.time_out()


def report(gig: Gig, proof_id: str) -> Any:
    return gig.owner.call("POST", f"{gig.path}/proofs/{proof_id}/report", {})


def settle(gig: Gig) -> Any:
    return gig.owner.post(f"{gig.path}/rollups")["rollups"]


def paid(world: World, worker: Person) -> int:
    return world.usdc_units(worker.mailbox["wallet_address"])  # type: ignore[attr-defined]


@pytest.mark.rule("R-05")
@pytest.mark.rule("Y-05")
@pytest.mark.rule("G-08")
def test_reported_work_is_neither_paid_nor_forgotten(paying_world: World) -> None:
    world = paying_world
    gig = world.gig(price="2.50", **MINUTE)
    world.fund(gig, "20")
    worker = world.worker(gig)
    disputed, plain = prove(world, gig, worker), prove(world, gig, worker)
    run_out()
    report(gig, disputed).ok()
    (rollup,) = settle(gig)
    assert rollup["paid_proof_ids"] == [plain]
    assert settlement.request_all() == 0
    fine()
    # A cancelled gig keeps it aside, and the wallet that it would be paid to stays.
    assert str(cancel(gig)["kept_funds"]) == "2.75"
    place = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    worker.call("DELETE", place).ok()
    (wallet,) = worker.get("/wallets")["wallets"]
    told = worker.call("DELETE", f"/wallets/{wallet['id']}").refused(409, "wallet_in_use")
    assert "owed" in told["in_use_for"]
    gig.owner.patch(f"{gig.path}/proofs/{disputed}", APPROVE)
    (rollup,) = settle(gig)
    assert (rollup["status"], rollup["paid_proof_ids"]) == ("paid", [disputed])
    assert paid(world, worker) == 5_000_000
    assert cancel(gig)["kept_funds"] == 0
    fine()


@pytest.mark.rule("R-05")
@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_a_report_and_a_settlement_at_once_one_has_the_proof(
    paying_world: World, rounds: int
) -> None:
    world = paying_world
    gig = world.gig(price="0.10", **MINUTE)
    world.fund(gig, "10")
    worker = world.worker(gig)
    units = 0
    for number in range(rounds):
        proof_id = prove(world, gig, worker)
        run_out()
        path = f"{gig.path}/rollups"
        # Either may come first.
        waits = (0.0, 0.02) if number % 3 == 0 else (0.01, 0.0)

        def act(n: int, proof_id: str = proof_id, waits: Any = waits, path: str = path) -> Any:
            time.sleep(waits[n])
            return report(gig, proof_id) if n else gig.owner.call("POST", path)

        settled, reported = at_once(2, act)
        rollups = settled.ok()["rollups"]
        proof = gig.owner.get(f"{gig.path}/proofs/{proof_id}")["proof"]
        if reported.status == 200:
            assert (rollups, proof["status"], proof["rollup_id"]) == ([], "reported", None)
            gig.owner.patch(f"{gig.path}/proofs/{proof_id}", APPROVE)
            (rollup,) = settle(gig)
            assert rollup["paid_proof_ids"] == [proof_id]
        else:
            reported.refused(409, "not_reportable")
            assert [one["paid_proof_ids"] for one in rollups] == [[proof_id]]
            assert proof["status"] == "timeout_approved"
        units += 100_000
        assert paid(world, worker) == units
    fine()


@pytest.mark.rule("R-05")
@pytest.mark.rule("G-08")
def test_of_a_report_and_a_cancellation_at_once_the_pot_still_covers_the_proof(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig(price="2.50", **MINUTE)
    world.fund(gig, "10")
    worker = world.worker(gig)
    proof_id = prove(world, gig, worker)
    run_out()
    calls = (lambda: cancel(gig), lambda: report(gig, proof_id).ok())
    answer, _ = at_once(2, lambda n: calls[n]())
    assert str(answer["kept_funds"]) == "2.75"
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", APPROVE)
    settle(gig)
    assert paid(world, worker) == 2_500_000
    fine()


@pytest.mark.rule("R-05")
@pytest.mark.rule("Y-07")
def test_the_deposit_of_a_reported_task_stays_open_until_it_is_approved(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world, price="2.00", **MINUTE)
    worker = world.worker(gig)
    world.task(gig)
    proof_id = worker.post(f"{gig.path}/proofs", {"task_identifier": take(gig, worker)["id"]})[
        "proof"
    ]["id"]
    run_out()
    report(gig, proof_id).ok()
    assert settle(gig) == []
    assert str(cancel(gig)["kept_funds"]) == "2.2"
    ended(gig, "open")
    fine()
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", APPROVE)
    (rollup,) = settle(gig)
    assert rollup["paid_proof_ids"] == [proof_id]
    ended(gig, "settled")
    fine()


@pytest.mark.rule("R-04")
@pytest.mark.rule("R-06")
def test_a_rollup_of_nothing_closes_rejections_and_opens_no_note(paying_world: World) -> None:
    world = paying_world
    gig = world.gig(price="2.50")
    world.fund(gig, "10")
    worker = world.worker(gig)
    note = {"private_note": "the key"}
    rows = {
        name: prove(world, gig, worker, {"price": price}, **note)
        for name, price in (("paid", 1), ("approved", 0), ("rejected", 1), ("free", 0), ("back", 1))
    }
    for name, proof_id in rows.items():
        verdict = APPROVE if name in ("paid", "approved") else KEEP
        verdict = {"action": "reject"} if name == "back" else verdict
        gig.owner.patch(f"{gig.path}/proofs/{proof_id}", verdict)

    def seen(person: Person, name: str) -> tuple[Any, bool]:
        proof = person.get(f"{gig.path}/proofs/{rows[name]}")["proof"]
        return proof["private_note"], proof["private_note_locked"]

    assert [seen(gig.owner, name) for name in rows] == [(None, True)] * 5
    by_status = {one["status"]: one for one in settle(gig)}
    assert by_status.keys() == {"paid", "settled"}
    swept = [rows["rejected"], rows["free"], rows["back"]]
    assert sorted(by_status["settled"]["proof_ids"]) == sorted(swept)
    opened = {name: seen(gig.owner, name) for name in rows}
    assert opened == {**dict.fromkeys(rows, (None, True)), "paid": ("the key", False)}
    assert {seen(worker, name)[0] for name in rows} == {"the key"}
    # What pays nothing and is approved is never swept, however often it is settled.
    assert settle(gig) == [] and settlement.request_all() == 0
    free = gig.owner.get(f"{gig.path}/proofs/{rows['approved']}")["proof"]
    assert (free["rollup_id"], free["can_revise"]) == (None, True)
    closed = gig.owner.get(f"{gig.path}/proofs/{rows['rejected']}")["proof"]
    assert closed["revision_blocked_by_rollup_id"] == by_status["settled"]["id"]
    assert closed["can_revise"] is False
    path = f"{gig.path}/proofs/{rows['rejected']}"
    gig.owner.call("PATCH", path, {**KEEP, "feedback": "Else."}).refused(409, "in_rollup")
    assert gig.owner.patch(path, KEEP)["revised"] is False
    assert audit.run().faults == []
    stray = Proof.update(status="reported").where(Proof.id == rows["free"])
    db.write(stray.execute)
    assert any("is reported and closed by" in fault for fault in audit.run().faults)


@pytest.mark.rule("R-02")
@pytest.mark.rule("G-08")
def test_no_price_of_a_cancelled_gig_rises_above_what_its_pot_can_pay(paying_world: World) -> None:
    world = paying_world
    gig = world.gig(price="2.50", allow_price_offers=True)
    world.fund(gig, "20")
    worker, other = world.worker(gig), world.worker(gig)
    asked = prove(world, gig, worker, asking_price=6)
    named = prove(world, gig, worker, {"price": "tbd"})
    world.task(gig)
    held = take(gig, other)["id"]
    open_price = world.task(gig, price="tbd")
    take(gig, other)
    assert str(cancel(gig)["kept_funds"]) == "11"

    for proof_id, amount, needed in ((asked, "6", "14.85"), (named, "2.51", "11.011")):
        body = {**APPROVE, "amount": amount}
        path = f"{gig.path}/proofs/{proof_id}"
        told = gig.owner.call("PATCH", path, body).refused(400, "pot_short")
        assert (str(told["available_funds"]), str(told["needed"])) == ("11", needed)
        batch = {"reviews": [{"proof_id": proof_id, **body}]}
        (row,) = gig.owner.post(f"{gig.path}/proofs/bulk-review", batch)["results"]
        assert row["reason"] == "pot_short"
        assert gig.owner.get(path)["proof"]["status"] == "pending"
    for path, body in (
        (f"{gig.path}/tasks/{held}/price", {"price": 3}),
        (f"{gig.path}/tasks/{open_price}/price", {"price": "2.51"}),
        (gig.path, {"price": 3}),
    ):
        gig.owner.call("PATCH", path, body).refused(409, "gig_closed")
    gig.owner.patch(f"{gig.path}/tasks/{open_price}/price", {"price": "2.40"})
    gig.owner.patch(f"{gig.path}/proofs/{named}", {**APPROVE, "amount": "2.50"})
    # What is put in beside it may be paid out.
    world.fund(gig, "3.74")
    path = f"{gig.path}/proofs/{asked}"
    gig.owner.patch(path, {**APPROVE, "amount": 6})
    for task_id in (held, open_price):
        made = other.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]
        gig.owner.patch(f"{gig.path}/proofs/{made['id']}", APPROVE)
    assert {one["status"] for one in settle(gig)} == {"paid"}
    assert (paid(world, worker), paid(world, other)) == (8_500_000, 4_900_000)
    assert cancel(gig)["kept_funds"] == 0
    fine()
