"""Gigs that fund each task when it is sent (Y-07), on a real chain and both databases."""

from __future__ import annotations

from typing import Any

import pytest

from engine import install
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.task import Task
from tests.engine.escrow_world import (
    approve,
    ended,
    escrow_gig,
    escrows_of,
    events_of,
    fine,
    gig,
    prove,
    take,
    token,
    treasury_call,
    units,
    world,
)
from tests.world import Gig, World, at_once, eventually

__all__ = ["gig", "world"]

DOLLAR = 1_000_000


def _escrow_fields(view: dict[str, Any]) -> dict[str, Any]:
    names = ("escrow_funded", "escrow_amount", "escrow_fee_bps", "escrowed_at", "deposit_id")
    return {name: view[name] for name in names}


@pytest.mark.rule("Y-07")
@pytest.mark.rule("Y-01")
def test_a_task_is_funded_when_it_is_sent_and_its_deposit_pays_it_to_the_last_base_unit(
    world: World,
) -> None:
    gig = escrow_gig(world, price="3.333333")
    worker = world.worker(gig)
    answer = world.send(gig, "hello", priority=7).ok()
    # 10 % of 3.333333 is 0.3333333, floored to a base unit.
    assert str(answer["escrow_amount"]) == "3.666666"
    assert (answer["status"], answer["priority"]) == ("queued", 7)
    assert (answer["escrow_funded"], answer["escrow_fee_bps"]) == (True, 1000)
    assert units(gig, world) == 100 * DOLLAR - 3_666_666
    (escrow,) = escrows_of(gig)
    assert (escrow.id, escrow.status) == (answer["deposit_id"], "open")
    (queued,) = gig.owner.get(f"{gig.path}/queue")["tasks"]
    task = take(gig, worker)
    read = gig.owner.get(f"{gig.path}/tasks/{task['id']}")["task"]
    for view in (queued, task, read):
        assert _escrow_fields(view) == _escrow_fields(answer)
    approve(gig, prove(gig, worker, task["id"]))
    (rollup,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert (rollup["status"], str(rollup["gross_amount"])) == ("paid", "3.333333")
    assert str(rollup["platform_fee"]) == "0.333333"
    assert world.usdc_units(worker.mailbox["wallet_address"]) == 3_333_333  # type: ignore[attr-defined]
    (escrow,) = ended(gig, "settled")
    on_chain = install.treasury().deposit_on_chain(escrow.id)
    assert on_chain.state == "settled"
    assert install.treasury().residue_due_units() == 0
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 0
    fine()


@pytest.mark.rule("Y-07")
def test_an_unfunded_task_is_seen_by_nobody_and_taken_by_nobody(world: World) -> None:
    gig = escrow_gig(world, dollars=1)
    worker = world.worker(gig)
    world.send(gig, "x", external_id="a").refused(402, "insufficient_funds")
    with db.reading():
        task = Task.get(Task.gig_id == gig.id)
    assert (task.status, task.escrowed_at) == ("unfunded", None)
    assert worker.post(f"{gig.path}/queue/poll", {"count": 5})["tasks"] == []
    assert worker.get(f"{gig.path}/queue")["tasks"] == []
    read = gig.owner.get(f"{gig.path}/tasks/{task.id}")["task"]
    assert (read["status"], read["escrow_funded"]) == ("unfunded", False)
    worker.call(
        "POST", f"{gig.path}/proofs", {"task_identifier": task.id, "proofs": ["x"]}
    ).refused(404, "not_found")


@pytest.mark.rule("Y-07")
@pytest.mark.rule("H-07")
@pytest.mark.rule("T-04")
def test_a_wallet_that_is_short_is_402_and_the_same_external_id_runs_once_it_is_filled(
    world: World,
) -> None:
    gig = escrow_gig(world, dollars=2)
    key = {"idempotency-key": "once", "content-type": "text/plain"}
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id=job-1"
    short = world.call("POST", path, raw=b"x", headers=key).refused(402, "insufficient_funds")
    assert short["short"] == ["usdc"]
    assert events_of(gig).count("task.not_funded") == 1
    assert "task.submitted" not in events_of(gig)
    token(world, "mint", gig.wallet, 5 * DOLLAR)  # type: ignore[attr-defined]
    funded = world.call("POST", path, raw=b"x", headers=key).ok()
    assert funded["escrow_funded"] is True
    again = world.call("POST", path, raw=b"x", headers=key)
    assert (again.ok(), again.headers["idempotency-replayed"]) == (funded, "true")
    assert world.send(gig, "x", external_id="job-1").ok() == funded
    world.send(gig, "y", external_id="job-1").refused(409, "external_id_mismatch")
    with db.reading():
        assert Task.select().where(Task.gig_id == gig.id).count() == 1
    # Nothing was signed for the first terms, so they were good for the second try.
    assert [(one.attempt, one.status) for one in escrows_of(gig)] == [(1, "open")]
    fine()


@pytest.mark.rule("Y-07")
def test_what_came_without_an_external_id_and_could_not_be_funded_is_over(
    world: World,
) -> None:
    gig = escrow_gig(world, dollars=1)
    world.send(gig, "x").refused(402, "insufficient_funds")
    with db.reading():
        assert [task.status for task in Task.select().where(Task.gig_id == gig.id)] == ["cancelled"]
    assert [one.status for one in escrows_of(gig)] == ["abandoned"]
    token(world, "mint", gig.wallet, 5 * DOLLAR)  # type: ignore[attr-defined]
    world.send(gig, "x").ok()
    fine()


@pytest.mark.rule("Y-07")
def test_a_wallet_without_gas_is_told_so(world: World, gig: Gig) -> None:
    assert world.chain is not None
    install.treasury().chain.request("anvil_setBalance", gig.wallet, "0x1")  # type: ignore[attr-defined]
    refusal = world.send(gig, "x", external_id="a").refused(402, "insufficient_funds")
    assert refusal["short"] == ["gas"]


@pytest.mark.rule("H-08")
@pytest.mark.rule("Y-07")
def test_who_does_not_wait_gets_the_command_and_its_owner_reads_how_it_ends(
    world: World,
    gig: Gig,
) -> None:
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&external_id=a"
    headers = {"prefer": "wait=0", "content-type": "text/plain"}
    first = world.call("POST", path, raw=b"x", headers=headers)
    assert first.status == 202
    repeated = world.call("POST", path, raw=b"x", headers=headers)
    if repeated.status == 202:
        assert repeated.json["command_id"] == first.json["command_id"]
    url = f"/commands/{first.json['command_id']}"
    state = eventually(lambda: [one for one in [gig.owner.get(url)] if one["status"] == "done"])[0]
    answer = world.call("POST", path, raw=b"x", headers=headers).ok()
    assert state["result"] == answer
    assert answer["escrow_funded"] is True


@pytest.mark.rule("T-04")
@pytest.mark.rule("Y-07")
def test_of_many_who_send_one_external_id_at_once_one_deposit_is_made(
    world: World,
    gig: Gig,
) -> None:
    answers = at_once(6, lambda _: world.send(gig, "x", external_id="same").ok())
    assert all(one == answers[0] for one in answers)
    assert len(escrows_of(gig)) == 1
    assert units(gig, world) == 100 * DOLLAR - 2_750_000


@pytest.mark.rule("Y-07")
def test_many_tasks_at_once_are_each_funded_once(world: World, gig: Gig) -> None:
    answers = at_once(6, lambda n: world.send(gig, f"task {n}").ok())
    assert len({one["deposit_id"] for one in answers}) == 6
    assert units(gig, world) == 100 * DOLLAR - 6 * 2_750_000
    with db.reading():
        approvals = ChainTransaction.select().where(ChainTransaction.intent.startswith("allow:"))
        assert approvals.count() == 1
    ended(gig, *["open"] * 6)


@pytest.mark.rule("Y-07")
def test_two_who_have_money_for_one_only_are_one_funded_and_one_told_to_pay(
    world: World,
) -> None:
    gig = escrow_gig(world, dollars=4)
    answers = at_once(2, lambda n: world.send(gig, "x", external_id=f"n{n}"))
    assert sorted(one.status for one in answers) == [200, 402]
    (poor,) = [one for one in answers if one.status == 402]
    assert poor.refused(402, "insufficient_funds")["short"] == ["usdc"]
    token(world, "mint", gig.wallet, 5 * DOLLAR)  # type: ignore[attr-defined]
    for number in range(2):
        world.send(gig, "x", external_id=f"n{number}").ok()
    assert sum(one.status == "open" for one in escrows_of(gig)) == 2
    assert units(gig, world) == 9 * DOLLAR - 2 * 2_750_000
    fine()


@pytest.mark.rule("Y-01")
@pytest.mark.rule("Y-07")
def test_a_fee_that_moves_is_said_and_the_next_try_pays_the_new_one(
    world: World, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.chain.treasury import Treasury

    real, moved = Treasury.deposit_for, []

    def late(self: Treasury, terms: Any) -> Any:
        if not moved:
            # Between the terms and the deposit.
            moved.append(terms)
            treasury_call(world, "setFeeBps", 2000)
        return real(self, terms)

    monkeypatch.setattr(Treasury, "deposit_for", late)
    refusal = world.send(gig, "x", external_id="a").refused(409, "fee_moved")
    assert refusal["fee_bps"] == 2000
    assert units(gig, world) == 100 * DOLLAR
    assert [(one.attempt, one.status) for one in escrows_of(gig)] == [(1, "planned")]
    answer = world.send(gig, "x", external_id="a").ok()
    assert (answer["escrow_amount"], answer["escrow_fee_bps"]) == (3, 2000)
    ended(gig, "abandoned", "open")


@pytest.mark.rule("Y-07")
@pytest.mark.rule("G-01")
def test_a_gig_that_funds_its_tasks_says_from_which_wallet_and_how_much_a_day(
    world: World,
) -> None:
    owner = world.person()
    hot = owner.post("/wallets")["wallet"]["evm_address"]
    foreign = world.person().post("/wallets")["wallet"]["evm_address"]
    cold = {"is_hot_wallet": False, "evm_address": "0x" + "1" * 40}
    owner.post("/wallets", cold)
    base = {"title": "A gig", "task_escrow": True, "webhook_daily_spend": "5"}

    def refused(field: str, **body: Any) -> None:
        given = {**base, "owner_wallet": hot, **body}
        told = owner.call("POST", "/gigs", given).refused(400, "invalid")
        assert list(told["errors"]) == [field]

    refused("owner_wallet", owner_wallet=None)
    refused("owner_wallet", owner_wallet=foreign)
    refused("owner_wallet", owner_wallet=cold["evm_address"])
    refused("webhook_daily_spend", webhook_daily_spend=None)
    gig = world.gig(owner, price="0", **{**base, "owner_wallet": hot})
    view = owner.get(gig.path)["gig"]
    assert (view["task_escrow"], view["webhook_daily_spend"]) == (True, 5)
    stranger = world.worker(gig).get(gig.path)["gig"]
    assert stranger["task_escrow"] is True
    assert not {"owner_wallet", "webhook_daily_spend", "webhook_max_price"} & set(stranger)
    for field, value in (("owner_wallet", None), ("webhook_daily_spend", None)):
        told = owner.call("PATCH", gig.path, {field: value}).refused(400, "invalid")
        assert list(told["errors"]) == [field]
    for query in ({}, {"price": "tbd"}, {"price": "0"}):
        told = world.send(gig, "x", **query).refused(400, "invalid")
        assert list(told["errors"]) == ["price"]
    owner.patch(gig.path, {"task_escrow": False})
    world.task(gig)
    owner.call("PATCH", gig.path, {"task_escrow": True}).refused(409, "has_tasks")


@pytest.mark.rule("Y-07")
def test_the_price_that_was_funded_is_the_price_whatever_the_gig_says_later(
    world: World,
    gig: Gig,
) -> None:
    worker = world.worker(gig)
    world.send(gig, "x").ok()
    gig.owner.patch(gig.path, {"price": "9"})
    task = take(gig, worker)
    assert str(task["price"]) == "2.5"
    proof_id = prove(gig, worker, task["id"])
    path = f"{gig.path}/proofs/{proof_id}"
    gig.owner.call("PATCH", path, {"action": "approve", "amount": "9"}).refused(400)
    approve(gig, proof_id)
    (rollup,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert (rollup["status"], str(rollup["gross_amount"])) == ("paid", "2.5")


@pytest.mark.rule("Y-02")
@pytest.mark.rule("Y-07")
def test_a_gig_pays_each_task_by_its_own_deposit_and_takes_nothing_from_the_pot(
    world: World,
    gig: Gig,
) -> None:
    worker = world.worker(gig)
    world.fund(gig, "20")
    for number in range(3):
        world.send(gig, f"{number}").ok()
        approve(gig, prove(gig, worker, take(gig, worker)["id"]))
    rollups = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert [(one["status"], len(one["paid_proof_ids"])) for one in rollups] == [("paid", 1)] * 3
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 20
    ended(gig, "settled", "settled", "settled")
