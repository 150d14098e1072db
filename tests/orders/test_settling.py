"""Paying vendors: each order from its own deposit, by either side (Y-02, O-11)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from engine import audit, clock, payout_batches, proofs, reconcile, settlement
from engine.chain.client import Chain, new_key
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.command import Command
from engine.models.rollup import Rollup
from engine.models.wallet import Wallet
from tests.engine.escrow_world import token, treasury_call
from tests.shop import Shop, shop
from tests.world import Answer, Person, World, at_once, eventually

PRICE = "0.50"
DAY = 86_400


@pytest.fixture
def place(paying_world: World) -> Iterator[Shop]:
    """A shop that takes money; whatever is bought in it, the books balance in the end."""
    yield shop(paying_world, PRICE)
    report = audit.run()
    assert (report.faults, report.warnings) == ([], [])


def delivered(place: Shop, *buyers: Person, **body: Any) -> list[tuple[str, str]]:
    """(order, proof) of each buyer, ordered all at once and delivered."""
    tasks = at_once(len(buyers), lambda n: place.order(buyers[n], **{"amount": PRICE, **body}))
    return [(task_id, place.deliver(task_id)) for task_id in tasks]


def approved(place: Shop, *buyers: Person, **body: Any) -> list[tuple[str, str]]:
    made = delivered(place, *buyers, **body)
    for buyer, (_, proof_id) in zip(buyers, made, strict=True):
        place.rule(buyer, proof_id).ok()
    return made


def settle(place: Shop, person: Person) -> Answer:
    return person.call("POST", f"{place.path}/rollups")


def rollups(place: Shop, person: Person) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.get(f"{place.path}/rollups")["rollups"]
    return found


def carried(place: Shop, person: Person) -> set[str]:
    return {proof_id for one in rollups(place, person) for proof_id in one["proof_ids"]}


def vendor_address(place: Shop) -> str:
    (mine,) = place.vendor.get("/mailboxes/mine")["mailboxes"]
    address: str = mine["wallet_address"]
    return address


@pytest.mark.rule("Y-02")
@pytest.mark.rule("O-11")
def test_a_buyer_settles_his_own_orders_and_the_vendor_all_of_them(place: Shop) -> None:
    anna, ben = place.buyer(dollars=20), place.buyer(dollars=20)
    (a, a_proof), (b, b_proof), (c, c_proof) = approved(place, anna, anna, ben)
    member = place.buyer()
    settle(place, member).refused(403, "not_permitted")
    (first, second) = sorted(settle(place, anna).ok()["rollups"], key=lambda one: one["created_at"])
    assert {*first["proof_ids"], *second["proof_ids"]} == {a_proof, b_proof}
    for one in (first, second):
        # One to an order, and all that its deposit was is accounted for.
        assert len(one["proof_ids"]) == 1 and one["paid_proof_ids"] == one["proof_ids"]
        assert one["status"] == "paid" and one["mailbox_id"] == place.mailbox_id
        amounts = (one["net_amount"], one["platform_fee"], one["gross_amount"])
        assert amounts == (Decimal("0.45"), Decimal("0.045"), Decimal("0.495"))
        assert one["wallet_address"] == vendor_address(place)
    # Ben's has not been touched, and nobody is shown what is not his.
    assert place.vendor.get(f"{place.path}/proofs/{c_proof}")["proof"]["rollup_id"] is None
    assert carried(place, anna) == {a_proof, b_proof} and carried(place, ben) == set()
    member.get(f"{place.path}/rollups")
    assert rollups(place, member) == []
    assert settle(place, anna).ok()["rollups"] == []
    (third,) = settle(place, place.vendor).ok()["rollups"]
    assert third["proof_ids"] == [c_proof] == sorted(carried(place, ben))
    assert carried(place, place.vendor) == {a_proof, b_proof, c_proof}
    assert len(place.vendor.get("/rollups/mine")["rollups"]) == 3
    assert anna.get("/rollups/mine")["rollups"] == []
    assert place.world.usdc_units(vendor_address(place)) == 3 * 450_000
    assert audit.run().residue_units == 3 * 5_000
    view = place.vendor.get(f"{place.path}/proofs/{a_proof}")["proof"]
    assert view["paid_out_at"] is not None
    told = place.vendor.get(f"{place.path}/events?limit=200")["events"]
    paid = [one["data"] for one in told if one["type"] == "payout.paid"]
    assert {(one["gross_amount"], one["net_amount"]) for one in paid} == {
        (Decimal("0.495"), Decimal("0.45"))
    }
    assert {a, b, c} == {one["data"]["task_id"] for one in told if one["type"] == "order.paid_out"}


@pytest.mark.rule("O-11")
@pytest.mark.rule("M-04")
@pytest.mark.rule("Y-06")
def test_the_terms_of_its_deposit_say_who_is_paid_and_at_what_rate(place: Shop) -> None:
    buyer, before = place.buyer(dollars=20), vendor_address(place)
    ((_, proof_id),) = delivered(place, buyer, amount="3.30")
    after = new_key()[1]
    mailbox = f"{place.path}/mailboxes/{place.mailbox_id}"
    place.vendor.patch(mailbox, {"wallet_address": after})
    treasury_call(place.world, "setFeeBps", 5000)
    with db.reading():
        wallet_id = Wallet.get(Wallet.evm_address == before).id
    # Its mailbox is paid elsewhere by now, but an open deposit is not.
    refusal = place.vendor.call("DELETE", f"/wallets/{wallet_id}").refused(409, "wallet_in_use")
    assert refusal["in_use_for"] == ["escrow"]
    place.rule(buyer, proof_id).ok()
    (one,) = settle(place, buyer).ok()["rollups"]
    assert (one["wallet_address"], one["net_amount"], one["platform_fee"]) == (
        before,
        Decimal("3.00"),
        Decimal("0.30"),
    )
    assert place.world.usdc_units(before) == 3_000_000
    # What is ordered from now on is of the new terms.
    ((_, proof_id),) = approved(place, buyer, amount="3.30")
    (one,) = settle(place, place.vendor).ok()["rollups"]
    assert (one["wallet_address"], one["net_amount"]) == (after, Decimal("2.20"))


@pytest.mark.rule("O-07")
@pytest.mark.rule("O-09")
def test_only_what_is_approved_is_paid_and_a_rejection_stays_open(place: Shop) -> None:
    buyer, undoer = place.buyer(dollars=20), place.buyer(dollars=20)
    made = delivered(place, buyer, buyer, undoer, undoer)
    (_, rejected), (_, waiting), (undone, _), (reported_task, reported) = made
    place.rule(buyer, rejected, "reject", rejection_tag="incomplete").ok()
    for person in (place.vendor, buyer):
        assert settle(place, person).ok()["rollups"] == []
    place.world.stop_following()
    quick = {"prefer": "wait=0"}
    path = f"{place.path}/tasks/{undone}/withdraw"
    assert undoer.call("POST", path, headers=quick).status == 202
    # All that this buyer could settle is being undone; for the vendor there is simply nothing.
    settle(place, undoer).refused(409, "in_progress")
    assert settle(place, place.vendor).ok()["rollups"] == []
    place.world.follow()
    eventually(lambda: place.task(undoer, undone)["status"] == "withdrawn")
    clock.advance(2 * DAY + 60)
    eventually(lambda: proofs.time_out() == 0)
    undoer.post(f"{place.path}/proofs/{reported}/report", {"reason": "not what I paid for"})
    (one,) = settle(place, place.vendor).ok()["rollups"]
    assert one["proof_ids"] == [waiting]
    # A settlement in between closed nothing: the verdict is the buyer's to change.
    place.rule(buyer, rejected).ok()
    (one,) = settle(place, buyer).ok()["rollups"]
    assert one["proof_ids"] == [rejected] and one["status"] == "paid"
    assert settle(place, undoer).ok()["rollups"] == []
    place.withdraw(undoer, reported_task).ok()


@pytest.mark.rule("Y-02")
def test_a_free_shop_settles_nothing_for_anybody(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    place.rule(buyer, place.deliver(place.order(buyer))).ok()
    for person in (place.vendor, buyer):
        settle(place, person).refused(409, "free_order")
    assert settlement.request_all() == 0
    assert db.scalar("SELECT count(*) FROM rollup") == 0


@pytest.mark.rule("Y-04")
@pytest.mark.rule("O-11")
def test_what_is_stuck_is_taken_up_by_whose_order_it_is(place: Shop) -> None:
    anna, ben = place.buyer(dollars=20), place.buyer(dollars=20)
    (_, a_proof), (_, b_proof) = approved(place, anna, ben)
    token(place.world, "blacklist", vendor_address(place))
    stuck = settle(place, place.vendor).ok()["rollups"]
    assert [one["status"] for one in stuck] == ["failed", "failed"]
    assert all("blacklisted" in one["failure"] for one in stuck)
    token(place.world, "unBlacklist", vendor_address(place))
    answer = settle(place, anna).ok()
    assert answer["retried_stuck"] == 1
    (one,) = answer["rollups"]
    assert (one["proof_ids"], one["status"]) == ([a_proof], "paid")
    with db.reading():
        assert sorted(row.status for row in Rollup.select()) == ["failed", "paid"]
    answer = settle(place, place.vendor).ok()
    assert (answer["retried_stuck"], answer["rollups"][0]["proof_ids"]) == (1, [b_proof])
    assert place.world.usdc_units(vendor_address(place)) == 2 * 450_000


@pytest.mark.rule("Y-02")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-08")
def test_either_side_and_the_scheduler_at_once_pay_each_order_once_in_chunks(
    place: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(payout_batches, "BATCH", 2)
    buyers = [place.buyer(dollars=20) for _ in range(3)]
    made = approved(place, *buyers, buyers[0], buyers[1])
    # A closed shop pays like an open one; that it may not be closed now is another matter.
    db.write(lambda: db.rows("UPDATE gig SET status = 'closed' WHERE id = ?", (place.gig.id,)))
    people = [place.vendor, *buyers]

    def act(number: int) -> list[dict[str, Any]]:
        if number == len(people):
            settlement.request_all()
            return []
        found: list[dict[str, Any]] = settle(place, people[number]).ok()["rollups"]
        return found

    answers = at_once(len(people) + 1, act)
    eventually(lambda: place.world.usdc_units(vendor_address(place)) == 5 * 450_000)
    found = rollups(place, place.vendor)
    assert sorted(one["proof_ids"] for one in found) == sorted([proof_id] for _, proof_id in made)
    for buyer, told in zip(buyers, answers[1:4], strict=True):
        own = {proof_id for _, proof_id in _own(made, buyers, buyer)}
        assert {proof_id for one in told for proof_id in one["proof_ids"]} <= own
        assert carried(place, buyer) == own
    with db.reading():
        sent = {row.chain_transaction_id for row in Rollup.select()}
        commands = Command.select().where(Command.kind == settlement.KIND)
        assert all(command.error is None for command in commands)
    assert len(sent) >= 3


def _own(made: list[tuple[str, str]], buyers: list[Person], buyer: Person) -> list[tuple[str, str]]:
    whose = [*buyers, buyers[0], buyers[1]]
    return [pair for pair, one in zip(made, whose, strict=True) if one is buyer]


@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
def test_a_payout_that_a_reorg_takes_back_is_told_to_the_buyer_once_for_each_transaction(
    place: Shop,
) -> None:
    world = place.world
    assert world.chain is not None
    chain = Chain(world.chain.rpc_url)
    buyer = place.buyer(dollars=20)
    ((_, proof_id),) = approved(place, buyer)
    world.stop_following()
    before = chain.request("evm_snapshot")
    answer = buyer.call("POST", f"{place.path}/rollups", headers={"prefer": "wait=0"})
    assert answer.status == 202
    eventually(_sent)
    for _ in range(2):
        chain.request("anvil_mine", hex(2))
        reconcile.run()
    note = f"{place.path}/proofs/{proof_id}"
    assert buyer.get(note)["proof"]["paid_out_at"] is not None
    assert chain.request("evm_revert", before) is True
    chain.request("anvil_setCoinbase", new_key()[1])
    chain.request("anvil_mine", hex(6))
    reconcile.run()
    assert buyer.get(note)["proof"]["paid_out_at"] is None
    for _ in range(3):
        chain.request("anvil_mine", hex(2))
        reconcile.run()
    world.follow()
    eventually(lambda: buyer.get(note)["proof"]["paid_out_at"])
    told = [
        (one["type"], one["data"]["tx_hash"])
        for one in buyer.get(f"{place.path}/events?limit=200")["events"]
        if one["type"] in ("payout.paid", "payout.taken_back", "order.paid_out")
    ]
    # What a member sees of his order includes its payout, as often as the chain changed its mind.
    hashes = [tx_hash for kind, tx_hash in told if kind == "payout.paid"]
    assert len(hashes) == 2
    out = [tx_hash for kind, tx_hash in told if kind == "order.paid_out"]
    assert sorted(out) == sorted(set(hashes))


def _sent() -> bool:
    with db.reading():
        sent = Rollup.get_or_none(Rollup.status == "sent")
        return sent is not None and bool(
            ChainTransaction.get_by_id(sent.chain_transaction_id).status == "sent"
        )
