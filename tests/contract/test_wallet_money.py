"""What goes out of a hot wallet (Y-06), and what another payout wallet changes (M-04)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine import (
    clock,
    commands,
    development,
    install,
    observers,
    transfers,
)
from engine.chain import outbox, sender
from engine.chain.client import new_key
from engine.chain.keys import unsigned
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.moves import take
from engine.rules.money import UNITS_PER_DOLLAR
from tests.contract.scene import all_hold
from tests.world import Answer, Person, World, approved_proof, at_once, eventually


def address_of(person: Person, wallet_id: str) -> str:
    found = {one["id"]: one["evm_address"] for one in person.get("/wallets")["wallets"]}
    return str(found[wallet_id])


def transfer(person: Person, wallet_id: str, to: str, amount: str, **options: Any) -> Answer:
    body = {"to_address": to, "amount": amount}
    return person.call("POST", f"/wallets/{wallet_id}/transfer", body, **options)


def intents() -> list[str]:
    with db.reading():
        found = ChainTransaction.select().where(
            ChainTransaction.intent.startswith(transfers.INTENT)
        )
        return [row.intent for row in found.order_by(ChainTransaction.intent)]


def recorded() -> int:
    with db.reading():
        return int(Command.select().where(Command.kind == transfers.KIND).count())


@pytest.mark.rule("Y-06")
@pytest.mark.rule("H-08")
def test_a_transfer_is_answered_once_it_is_final_and_moves_exactly_that_much(
    paying_world: World,
) -> None:
    world = paying_world
    person, to = world.person(), new_key()[1]
    wallet_id = world.funded_wallet(person, 10)
    done = transfer(person, wallet_id, to.lower(), "2.000001").ok()
    receipt = install.treasury().chain.receipt(done["tx_hash"])
    assert receipt is not None and receipt.status == 1
    assert world.usdc_units(to) == 2_000_001
    assert person.get(f"/wallets/{wallet_id}/balances")["usdc_balance"] == "7.999999"
    # To the last base unit.
    transfer(person, wallet_id, to, "7.999999").ok()
    assert world.usdc_units(to) == 10 * UNITS_PER_DOLLAR
    later = {"prefer": "respond-async"}
    asked = transfer(person, wallet_id, to, "1", headers=later)
    assert asked.status == 202 and set(asked.json) == {"command_id", "status_url"}
    told = eventually(
        lambda: (
            (state := person.get(f"/commands/{asked.json['command_id']}"))["status"] == "failed"
            and state
        )
    )
    assert told["error"]["reason"] == "insufficient_funds" and told["error"]["short"] == ["usdc"]


@pytest.mark.rule("Y-06")
def test_what_would_lose_money_or_move_none_is_refused(paying_world: World) -> None:
    world = paying_world
    person, to = world.person(), new_key()[1]
    rich, poor = world.funded_wallet(person, 10), person.post("/wallets")["wallet"]["id"]
    external = {"is_hot_wallet": False, "evm_address": to}
    cold = person.post("/wallets", external)["wallet"]["id"]
    foreign = world.funded_wallet(world.person(), 10)
    no_gas = person.post("/wallets")["wallet"]
    development.faucet(no_gas["evm_address"], 10 * UNITS_PER_DOLLAR, 0)
    treasury = install.treasury()
    rows: list[tuple[str, str, str, int, str]] = [
        (rich, to, "0", 400, "invalid"),
        (rich, "0x" + "0" * 40, "1", 400, "invalid"),
        (rich, treasury.address, "1", 400, "invalid"),
        (rich, treasury.usdc_address.lower(), "1", 400, "invalid"),
        (rich, address_of(person, rich).lower(), "1", 400, "invalid"),
        (rich, to[:-1], "1", 400, "invalid"),
        (rich, to.swapcase().replace("0X", "0x"), "1", 400, "invalid"),
        (rich, "", "1", 400, "invalid"),
        (cold, to, "1", 409, "external_wallet"),
        (foreign, to, "1", 404, "not_found"),
    ]
    all_hold(rows, lambda row: transfer(person, *row[:3]).refused(*row[3:]))
    assert recorded() == 0
    for wallet_id, amount, short in (
        (rich, "10.000001", ["usdc"]),
        (poor, "1", ["usdc", "gas"]),
        (no_gas["id"], "1", ["gas"]),
    ):
        told = transfer(person, wallet_id, to, amount).refused(402, "insufficient_funds")
        assert told["short"] == short
    assert intents() == [] and world.usdc_units(to) == 0


@pytest.mark.rule("H-07")
def test_a_transfer_under_a_key_is_sent_once(paying_world: World) -> None:
    world = paying_world
    person, to = world.person(), new_key()[1]
    wallet_id = world.funded_wallet(person, 10)
    key = {"idempotency-key": "once"}
    answers = at_once(4, lambda _: transfer(person, wallet_id, to, "2", headers=key))
    assert {answer.status for answer in answers} <= {200, 409}
    again = transfer(person, wallet_id, to, "2", headers=key)
    assert again.ok() == next(one.json for one in answers if one.status == 200)
    assert world.usdc_units(to) == 2 * UNITS_PER_DOLLAR and len(intents()) == 1
    transfer(person, wallet_id, to, "3", headers=key).refused(422, "idempotency_mismatch")
    # What was refused for want of money is not kept, so that it runs after topping up.
    late = {"idempotency-key": "late"}
    transfer(person, wallet_id, to, "9", headers=late).refused(402)
    development.faucet(address_of(person, wallet_id), UNITS_PER_DOLLAR, 0)
    transfer(person, wallet_id, to, "9", headers=late).ok()


@pytest.mark.rule("Y-06")
def test_of_transfers_at_once_that_exceed_the_balance_only_those_it_covers_are_sent(
    paying_world: World,
) -> None:
    world = paying_world
    person, to = world.person(), new_key()[1]
    wallet_id = world.funded_wallet(person, 10)
    answers = at_once(4, lambda _: transfer(person, wallet_id, to, "4"))
    assert Counter(answer.status for answer in answers) == {200: 2, 402: 2}
    for answer in answers:
        if answer.status == 402:
            assert answer.refused(402, "insufficient_funds")["short"] == ["usdc"]
    assert world.usdc_units(to) == 8 * UNITS_PER_DOLLAR
    # None was mined and refused: that would have cost gas.
    with db.reading():
        sent = [row.status for row in ChainTransaction.select() if row.intent in intents()]
    assert sent == ["succeeded", "succeeded"]


@pytest.mark.rule("Y-06")
def test_a_transfer_whose_place_was_taken_is_sent_again_once(
    backend: tuple[str, str], chain: Any
) -> None:
    """Another transaction used its nonce, for good: ours is never mined, so nothing moves twice."""
    # Nothing follows the chain here but the test.
    world = World(*backend, chain=chain)
    try:
        person, to = world.person(), new_key()[1]
        wallet_id = world.funded_wallet(person, 10)
        asked = transfer(person, wallet_id, to, "4", headers={"prefer": "respond-async"})
        command_id = asked.json["command_id"]

        def step() -> Command:
            _due(command_id)
            commands.run(command_id)
            return commands.peek(command_id)

        intent = f"transfer:{command_id}"
        assert step().status == "waiting"
        _replaced(intent)
        for _ in range(4):
            assert step().status == "waiting"
        # It is one row, of which nothing is sent any more in the place that was taken.
        assert intents() == [intent]
        assert places(intent) == [0, 1]
        _replaced(intent)
        assert step().status == "failed"
        assert places(intent) == [0, 1]
        told = person.get(f"/commands/{command_id}")
        assert told["error"]["reason"] == "transfer_failed"
    finally:
        world.stop()


def places(intent: str) -> list[int]:
    row = sender.find(intent)
    assert row is not None
    assert [row.nonce] == [unsigned(one.raw_hex).nonce for one in outbox.in_place(row)]
    return sorted(outbox.places(row.id))


def _due(command_id: str) -> None:
    db.write(
        lambda: Command.update(run_after=clock.now()).where(Command.id == command_id).execute()
    )


def _replaced(intent: str) -> None:
    with db.reading():
        row = ChainTransaction.get(ChainTransaction.intent == intent)
    assert db.write(lambda: take(ChainTransaction, row.id, "replace"))
    row.status = "replaced"
    woken = db.write(lambda: observers.tell_failure(row))
    assert woken == {intent.split(":")[1]}


@pytest.mark.rule("M-04")
def test_another_payout_wallet_counts_for_the_rollups_that_are_made_after_it(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig()
    world.fund(gig, "20")
    worker = world.worker(gig)
    first = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    second, third = new_key()[1], new_key()[1]
    path = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    approved_proof(world, gig, worker)
    (paid,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    # Approved before the change, and not yet carried by a rollup.
    approved_proof(world, gig, worker)
    worker.patch(path, {"wallet_address": second})
    asked = gig.owner.call("POST", f"{gig.path}/rollups", headers={"prefer": "respond-async"})
    eventually(lambda: len(gig.owner.get(f"{gig.path}/rollups")["rollups"]) == 2)
    # The second rollup is made: this is for the third.
    worker.patch(path, {"wallet_address": third})
    eventually(lambda: commands.finished(asked.json["command_id"]))
    approved_proof(world, gig, worker)
    gig.owner.post(f"{gig.path}/rollups")
    rollups = gig.owner.get(f"{gig.path}/rollups")["rollups"]
    assert [one["wallet_address"] for one in rollups] == [first, second, third]
    assert rollups[0]["id"] == paid["id"] and {one["status"] for one in rollups} == {"paid"}
    assert [world.usdc_units(one) for one in (first, second, third)] == [2_500_000] * 3
