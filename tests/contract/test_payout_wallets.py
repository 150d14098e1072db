"""The wallet that a mailbox is paid to: it stays while it is needed, and is never out of reach."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engine import commands, development, install, payable, settlement
from engine.chain.client import new_key
from engine.db import db
from engine.models.command import Command
from engine.models.mailbox import Mailbox
from engine.models.wallet import Wallet
from tests.contract.scene import all_hold
from tests.contract.test_wallet_money import transfer
from tests.contract.test_wallet_removal import delete
from tests.engine.escrow_world import approve, prove, take
from tests.world import Answer, Gig, Person, World, approved_proof, at_once, eventually

ZERO = "0x" + "0" * 40


def wallet_of(worker: Person) -> str:
    """The id of the only wallet that the worker has."""
    (wallet,) = worker.get("/wallets")["wallets"]
    return str(wallet["id"])


def place(gig: Gig, worker: Person) -> str:
    return f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]


def _count(query: Any) -> int:
    with db.reading():
        return int(query.count())


def why(person: Person, wallet_id: str) -> list[str]:
    return list(delete(person, wallet_id).refused(409, "wallet_in_use")["in_use_for"])


@pytest.mark.rule("Y-06")
@pytest.mark.parametrize("pending", [False, True])
def test_a_wallet_stays_while_a_mailbox_is_paid_to_it(paying_world: World, pending: bool) -> None:
    world = paying_world
    gig = world.gig(requires_approval=pending)
    worker = world.worker(gig)
    wallet_id = wallet_of(worker)
    told = delete(worker, wallet_id).refused(409, "wallet_in_use")
    assert told["in_use_for"] == ["mailbox"]
    assert "wallet_address" in told["error"] and "leave" in told["error"]
    worker.patch(place(gig, worker), {"wallet_address": new_key()[1]})
    delete(worker, wallet_id).ok()


@pytest.mark.rule("Y-06")
@pytest.mark.rule("R-04")
@pytest.mark.parametrize("stage", ["pending", "rejected", "approved"])
def test_a_wallet_stays_while_work_of_one_who_left_may_be_paid_to_it(
    paying_world: World, stage: str
) -> None:
    world = paying_world
    gig = world.gig(price="1")
    world.fund(gig, "5")
    worker = world.worker(gig)
    wallet_id = wallet_of(worker)
    address = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    world.task(gig)
    proof_id = prove(gig, worker, take(gig, worker)["id"])
    verdict = f"{gig.path}/proofs/{proof_id}"
    if stage == "rejected":
        gig.owner.patch(verdict, {"action": "reject", "requeue": False})
    if stage == "approved":
        approve(gig, proof_id)
    worker.call("DELETE", place(gig, worker)).ok()
    assert why(worker, wallet_id) == ["owed"]
    approve(gig, proof_id)
    assert why(worker, wallet_id) == ["owed"]
    gig.owner.post(f"{gig.path}/rollups")
    assert world.usdc_units(address) == 1_000_000
    assert why(worker, wallet_id) == ["usdc"]


@pytest.mark.rule("Y-06")
def test_a_rejection_that_is_final_and_a_task_that_went_back_keep_no_wallet(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig(price="1")
    worker = world.worker(gig)
    world.task(gig)
    proof_id = prove(gig, worker, take(gig, worker)["id"])
    gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {"action": "reject", "requeue": False})
    world.task(gig)
    take(gig, worker)
    worker.call("DELETE", place(gig, worker)).ok()
    assert why(worker, wallet_of(worker)) == ["owed"]
    # A settlement makes it final.
    gig.owner.post(f"{gig.path}/rollups")
    delete(worker, wallet_of(worker)).ok()


@pytest.mark.rule("M-01")
@pytest.mark.rule("Y-06")
def test_who_comes_back_after_his_wallet_was_deleted_gets_a_new_one(paying_world: World) -> None:
    world = paying_world
    gig = world.gig()
    left, closed = world.worker(gig), world.worker(gig)
    before = {one.id: one.mailbox["wallet_address"] for one in (left, closed)}  # type: ignore[attr-defined]
    left.call("DELETE", place(gig, left)).ok()
    gig.owner.patch(place(gig, closed), {"status": "inactive"})
    for one in (left, closed):
        delete(one, wallet_of(one)).ok()
    back = left.post(f"{gig.path}/mailboxes", {"invite": gig.invite})["mailbox"]
    gig.owner.patch(place(gig, closed), {"status": "active"})
    (again,) = closed.get("/mailboxes/mine")["mailboxes"]
    for one, mailbox in ((left, back), (closed, again)):
        (wallet,) = one.get("/wallets")["wallets"]
        assert mailbox["status"] == "active"
        assert mailbox["wallet_address"] == wallet["evm_address"] != before[one.id]
    # A wallet that is still there stays the mailbox's.
    left.call("DELETE", place(gig, left)).ok()
    same = left.post(f"{gig.path}/mailboxes", {"invite": gig.invite})["mailbox"]
    assert same["wallet_address"] == back["wallet_address"]


@pytest.mark.rule("Y-06")
@pytest.mark.rule("M-02")
def test_nobody_is_paid_to_a_contract_of_ours_to_nobody_or_to_what_was_deleted(
    paying_world: World,
) -> None:
    world = paying_world
    gig, treasury = world.gig(), install.treasury()
    worker, late = world.worker(gig), world.person()
    hot = world.funded_wallet(gig.owner, 5)
    gone = worker.post("/wallets")["wallet"]
    delete(worker, gone["id"]).ok()
    mailboxes = f"{gig.path}/mailboxes"

    def join(address: str) -> Answer:
        body = {"invite": gig.invite, "wallet_address": address}
        return late.call("POST", mailboxes, body)

    def change(address: str) -> Answer:
        return worker.call("PATCH", place(gig, worker), {"wallet_address": address})

    def pay(address: str) -> Answer:
        return transfer(gig.owner, hot, address, "1")

    def own(address: str) -> Answer:
        return gig.owner.call("PATCH", gig.path, {"owner_wallet": address})

    def keep(address: str) -> Answer:
        body = {"is_hot_wallet": False, "evm_address": address}
        return worker.call("POST", "/wallets", body)

    def give(address: str) -> Answer:
        return world.call("POST", "/dev/faucet", {"address": address, "usdc": "1"})

    named: list[tuple[Any, str]] = [
        (join, "wallet_address"),
        (change, "wallet_address"),
        (pay, "to_address"),
        (own, "owner_wallet"),
        (keep, "evm_address"),
        (give, "address"),
    ]
    wrong = [ZERO, treasury.address, treasury.usdc_address, treasury.address.lower()]
    rows = [(call, field, address) for call, field in named for address in wrong]
    rows += [(call, field, gone["evm_address"]) for call, field in named[:3]]

    def refused(row: tuple[Any, str, str]) -> None:
        call, field, address = row
        assert list(call(address).refused(400, "invalid")["errors"]) == [field]

    all_hold(rows, refused)
    assert world.usdc_units(gone["evm_address"]) == 0


@pytest.mark.rule("Z-06")
@pytest.mark.rule("H-09")
def test_play_money_is_named_by_a_number_or_by_a_string(paying_world: World) -> None:
    world = paying_world
    address = new_key()[1]
    sums: tuple[tuple[object, object], ...] = ((1, 2), ("1.5", "0.000000000000000001"), (0.5, 0.25))
    for usdc, eth in sums:
        world.call("POST", "/dev/faucet", {"address": address, "usdc": usdc, "eth": eth}).ok()
    assert world.usdc_units(address) == 3_000_000
    assert install.treasury().chain.eth_balance_wei(address) == 225 * 10**16 + 1


@pytest.mark.rule("Z-06")
def test_what_the_token_will_not_give_is_refused_and_nothing_is_sent(paying_world: World) -> None:
    world = paying_world
    address = new_key()[1]
    # As a contract that takes no ether.
    chain = install.treasury().chain
    chain.request("anvil_setCode", address, "0x60006000fd")
    body = {"address": address, "usdc": "1", "eth": "1"}
    world.call("POST", "/dev/faucet", body).refused(409, "faucet_refused")
    assert world.usdc_units(address) == 0
    development.faucet(address, 1_000_000, 0)
    assert world.usdc_units(address) == 1_000_000


@pytest.mark.rule("Y-06")
@pytest.mark.parametrize("what", ["join", "change", "come back", "verdict"])
def test_a_wallet_that_is_deleted_while_it_is_named_is_never_what_somebody_is_paid_to(
    paying_world: World, what: str
) -> None:
    world = paying_world
    gig = world.gig(price="1")
    ended = set()
    for _ in range(4):
        worker = world.worker(gig)
        if what in ("join", "change"):
            wallet = worker.post("/wallets")["wallet"]
        else:
            (wallet,) = worker.get("/wallets")["wallets"]
        proof_id = ""
        if what == "verdict":
            world.task(gig)
            proof_id = prove(gig, worker, take(gig, worker)["id"])
        if what in ("come back", "verdict"):
            worker.call("DELETE", place(gig, worker)).ok()
        other = world.gig()
        body = {"invite": other.invite, "wallet_address": wallet["evm_address"]}

        def name(
            worker: Person = worker, proof_id: str = proof_id, other: Gig = other, body: Any = body
        ) -> Answer:
            if what == "join":
                return worker.call("POST", f"{other.path}/mailboxes", body)
            if what == "change":
                new = {"wallet_address": body["wallet_address"]}
                return worker.call("PATCH", place(gig, worker), new)
            if what == "come back":
                return worker.call("POST", f"{gig.path}/mailboxes", {"invite": gig.invite})
            path = f"{gig.path}/proofs/{proof_id}"
            gig.owner.call("PATCH", path, {"action": "reject", "requeue": False}).ok()
            return gig.owner.call("PATCH", path, {"action": "approve"})

        named, deleted = at_once(
            2,
            lambda n, one=worker, wallet_id=wallet["id"], call=name: (
                delete(one, wallet_id) if n else call()
            ),
        )
        assert deleted.status in (200, 409) and named.status in (200, 201, 400), named.text
        with db.reading():
            gone = Wallet.get(Wallet.id == wallet["id"]).deleted_at is not None
            live = Mailbox.wallet_address == wallet["evm_address"]
            names = Mailbox.select().where(live, Mailbox.status == "active").exists()
        assert gone == (deleted.status == 200)
        assert not (gone and names)
        if what == "verdict":
            assert not gone
        ended.add(gone)
    assert ended


@pytest.mark.rule("Y-06")
@pytest.mark.rule("M-04")
def test_a_payout_that_is_made_while_its_wallet_is_changed_and_deleted_goes_to_the_new_one(
    paying_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = paying_world
    gig = world.gig(price="1")
    world.fund(gig, "5")
    worker, new = world.worker(gig), new_key()[1]
    wallet_id = wallet_of(worker)
    approved_proof(world, gig, worker)
    real, met = payable._mailboxes, []

    def swap() -> None:
        worker.patch(place(gig, worker), {"wallet_address": new})
        met.append(delete(worker, wallet_id).status)

    def late(ids: list[str]) -> Any:
        found = real(ids)
        if not threads:
            threads.append(threading.Thread(target=swap))
            threads[0].start()
            if db.is_postgres:
                # On SQLite it cannot go on before this transaction has ended.
                threads[0].join()
        return found

    threads: list[threading.Thread] = []
    monkeypatch.setattr(payable, "_mailboxes", late)
    (rollup,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    threads[0].join()
    assert rollup["status"] == "paid"
    if met == [200]:
        assert rollup["wallet_address"] == new
    assert world.usdc_units(rollup["wallet_address"]) == 1_000_000
    if db.is_postgres:
        assert met == [200]


@pytest.mark.rule("G-06")
@pytest.mark.rule("H-05")
def test_of_deposits_at_once_that_exceed_the_wallet_the_others_are_told_that_it_is_short(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig()
    wallet_id = world.funded_wallet(gig.owner, 97)
    body = {"wallet_alias_id": wallet_id, "amount": "30"}
    answers = at_once(8, lambda _: gig.owner.call("POST", f"{gig.path}/deposit", body))
    assert sorted(answer.status for answer in answers) == [200] * 3 + [402] * 5
    for answer in answers:
        if answer.status == 402:
            assert answer.refused(402, "insufficient_funds")["short"] == ["usdc"]
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 90


@pytest.mark.rule("Y-03")
def test_a_settlement_beside_another_is_answered_once_what_is_under_way_is_final(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig(price="1")
    world.fund(gig, "5")
    worker = world.worker(gig)
    approved_proof(world, gig, worker)
    path = f"{gig.path}/rollups"
    # Nobody looks at the chain, so nothing is final yet.
    world.stop_following()
    first = gig.owner.call("POST", path, headers={"prefer": "wait=0"})
    assert first.status == 202
    eventually(lambda: commands.peek(first.json["command_id"]).result is not None)
    with ThreadPoolExecutor(1) as elsewhere:
        asked = elsewhere.submit(gig.owner.call, "POST", path)
        mine = (Command.gig_id == gig.id) & (Command.kind == settlement.KIND)
        decided = Command.select().where(mine, Command.result.is_null(False))
        eventually(lambda: _count(decided) == 2)
        world.follow()
        second = asked.result().ok()
    (rollup,) = gig.owner.get(path)["rollups"]
    assert [one["id"] for one in second["rollups"]] == [rollup["id"]]
    assert second["rollups"][0]["status"] == "paid"
    # There is nothing left, and nothing under way.
    assert gig.owner.post(path)["rollups"] == []
