"""When a wallet may be deleted, and what is left of it (Y-06)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import (
    clock,
    commands,
    development,
    install,
    wallet_removal,
)
from engine.chain.client import new_key
from engine.db import db
from engine.ids import new_id
from engine.models.command import Command
from engine.models.escrow import Escrow, PotRefund
from engine.models.wallet import Wallet
from tests.contract.test_wallet_money import transfer
from tests.world import Answer, Gig, Person, World, approved_proof, at_once, eventually

ETHER = 10**18


def delete(person: Person, wallet_id: str) -> Answer:
    return person.call("DELETE", f"/wallets/{wallet_id}")


@pytest.mark.rule("Y-06")
def test_an_empty_wallet_is_deleted_and_shown_no_more_but_its_key_is_kept(
    paying_world: World,
) -> None:
    world = paying_world
    person, stranger = world.person(), world.person()
    hot = person.post("/wallets")["wallet"]
    other = person.post("/wallets")["wallet"]
    external = {"is_hot_wallet": False, "evm_address": new_key()[1]}
    cold = person.post("/wallets", external)["wallet"]
    delete(stranger, hot["id"]).refused(404)
    # As much as cannot be got out by itself.
    development.faucet(hot["evm_address"], 0, wallet_removal.DUST_WEI)
    for one in (hot, cold):
        assert delete(person, one["id"]).ok() == {"success": True}
        delete(person, one["id"]).refused(404, "not_found")
    assert person.get("/wallets")["wallets"] == [other]
    for method, path, body in (
        ("GET", "balances", None),
        ("POST", "challenge", None),
        ("POST", "verify", {"signature": "0x" + "0" * 130}),
        ("POST", "transfer", {"to_address": other["evm_address"], "amount": "1"}),
    ):
        person.call(method, f"/wallets/{hot['id']}/{path}", body).refused(404, "not_found")
    gig = world.gig(person)
    deposit = {"wallet_alias_id": hot["id"], "amount": "1"}
    person.call("POST", f"{gig.path}/deposit", deposit).refused(404, "not_found")
    with db.reading():
        kept = Wallet.get(Wallet.id == hot["id"])
    assert kept.deleted_at is not None
    assert install.current().keyring.decrypt(str(kept.encrypted_key)).startswith("0x")
    # The address of a wallet that is gone is nobody's.
    person.post("/wallets", {"is_hot_wallet": False, "evm_address": hot["evm_address"]})


@pytest.mark.rule("Y-06")
def test_a_wallet_with_money_stays_until_it_is_empty(paying_world: World) -> None:
    world = paying_world
    person, to = world.person(), new_key()[1]
    wallet = person.post("/wallets")["wallet"]

    def kept(*names: str) -> None:
        told = delete(person, wallet["id"]).refused(409, "wallet_in_use")
        assert told["in_use_for"] == list(names)
        assert all(wallet_removal.WHY[name] in told["error"] for name in names)
        assert person.get("/wallets")["wallets"] == [wallet]

    development.faucet(wallet["evm_address"], 1, 0)
    kept("usdc")
    development.faucet(wallet["evm_address"], 0, wallet_removal.DUST_WEI + 1)
    kept("usdc", "eth")
    development.faucet(wallet["evm_address"], 0, ETHER)
    transfer(person, wallet["id"], to, "0.000001").ok()
    kept("eth")


@pytest.mark.rule("Y-06")
def test_a_wallet_that_something_may_come_back_to_stays(paying_world: World) -> None:
    world = paying_world
    gig = world.gig()
    owner, worker = gig.owner, world.worker(gig)
    wallet_id = world.funded_wallet(owner, 5)
    body = {"wallet_alias_id": wallet_id, "amount": "5"}
    owner.post(f"{gig.path}/deposit", body)
    assert "pot" in _why(owner, wallet_id)
    # Work that was handed in, that was approved, and that is being paid.
    (mine,) = worker.get("/wallets")["wallets"]
    world.task(gig)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    handed = {"task_identifier": task["id"], "proofs": ["done"]}
    proof = worker.post(f"{gig.path}/proofs", handed)["proof"]["id"]
    assert _why(worker, mine["id"]) == ["mailbox", "owed"]
    owner.patch(f"{gig.path}/proofs/{proof}", {"action": "reject", "feedback": "no"})
    assert _kept_by_rows(mine["id"]) == {"mailbox"}
    approved_proof(world, gig, worker)
    assert _why(worker, mine["id"]) == ["mailbox", "owed"]
    owner.post(f"{gig.path}/rollups")
    assert _why(worker, mine["id"]) == ["usdc", "mailbox"]
    assert _kept_by_rows(wallet_id) == set()


def _why(person: Person, wallet_id: str) -> list[str]:
    told = delete(person, wallet_id).refused(409, "wallet_in_use")
    return list(told["in_use_for"])


def _kept_by_rows(wallet_id: str) -> set[str]:
    with db.reading():
        return set(wallet_removal._kept_by_rows(Wallet.get(Wallet.id == wallet_id)))


@pytest.mark.rule("Y-06")
def test_a_wallet_stays_while_our_rows_name_it(paying_world: World) -> None:
    """An open named deposit, a refund to it, and what it sends, each by itself."""
    world = paying_world
    gig = world.gig()
    owner = gig.owner
    wallet = owner.post("/wallets")["wallet"]
    for rows, name in (
        (_open_deposit(world, gig, wallet), "escrow"),
        (_refund(gig, wallet), "refund"),
        (_command(gig, wallet), "under_way"),
    ):
        made = db.write(rows)
        assert _why(owner, wallet["id"]) == [name]
        db.write(lambda row=made: row.delete_instance())  # type: ignore[misc]
    delete(owner, wallet["id"]).ok()


def _open_deposit(world: World, gig: Gig, wallet: dict[str, Any]) -> Any:
    task_id, command = world.task(gig), _made(gig)

    def write() -> Escrow:
        return Escrow.create(
            id="0x" + "1" * 64,
            gig_id=gig.id,
            task_id=task_id,
            attempt=1,
            status="open",
            depositor=wallet["evm_address"],
            payee="0x" + "0" * 40,
            amount_units=1,
            fee_bps=0,
            reclaimer=wallet["evm_address"],
            salt="0x" + "2" * 64,
            expires_at=clock.now(),
            command_id=command,
            created_at=clock.now(),
        )

    return write


def _refund(gig: Gig, wallet: dict[str, Any]) -> Any:
    command = _made(gig)
    return lambda: PotRefund.create(
        id=new_id("REFUND"),
        gig_id=gig.id,
        command_id=command,
        status="failed",
        funder=wallet["evm_address"],
        amount_units=1,
        refund_key="0x" + "3" * 64,
        created_at=clock.now(),
    )


def _command(gig: Gig, wallet: dict[str, Any]) -> Any:
    return lambda: _row(gig, "pending", {"wallet_id": wallet["id"]}, 10**15)


def _made(gig: Gig) -> str:
    return str(db.write(lambda: _row(gig, "done", {}, 0)).id)


def _row(
    gig: Gig,
    status: str,
    arguments: dict[str, Any],
    run_after: int,
    kind: str = "test.nothing",
) -> Command:
    return Command.create(
        id=new_id("CMD"),
        kind=kind,
        status=status,
        account_id=gig.owner.id,
        gig_id=gig.id,
        arguments=arguments,
        attempts=0,
        failures=0,
        run_after=run_after,
        created_at=clock.now(),
    )


@pytest.mark.rule("Y-06")
def test_a_deletion_whose_worker_died_before_it_said_so_is_done(paying_world: World) -> None:
    gig = paying_world.gig()
    wallet_id = gig.owner.post("/wallets")["wallet"]["id"]
    # Due in a far future, so that no worker takes it.
    named = {"wallet_id": wallet_id}
    command = db.write(lambda: _row(gig, "pending", named, 10**15, wallet_removal.KIND))
    for _ in range(2):
        done = wallet_removal.step(commands.peek(command.id))
        assert done == commands.Done({"success": True})
    assert gig.owner.get("/wallets")["wallets"] == []
    gig.owner.call("DELETE", f"/wallets/{wallet_id}").refused(404)


@pytest.mark.rule("Y-06")
def test_a_wallet_that_is_used_and_deleted_at_once_is_one_or_the_other(
    paying_world: World,
) -> None:
    """A transfer that was taken keeps the wallet; a wallet that is gone takes none."""
    world = paying_world
    person, to = world.person(), new_key()[1]
    later = {"prefer": "respond-async"}
    for _ in range(6):
        wallet_id = person.post("/wallets")["wallet"]["id"]
        answers = at_once(
            2,
            lambda n, one=wallet_id: (
                delete(person, one) if n else transfer(person, one, to, "1", headers=later)
            ),
        )
        sent, deleted = answers
        if sent.status == 202:
            command_id = sent.json["command_id"]
            eventually(lambda one=command_id: commands.finished(one))
            error = commands.peek(command_id).error
            assert error is not None and error["code"] == "insufficient_funds"
            assert deleted.status in (200, 409)
        else:
            sent.refused(404, "not_found")
            assert deleted.status == 200
        gone = wallet_id not in {one["id"] for one in person.get("/wallets")["wallets"]}
        assert gone == (deleted.status == 200)
