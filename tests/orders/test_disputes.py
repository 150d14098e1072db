"""What the clock approved is disputed, and how that ends: paid or returned, never both (O-07)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, payable, settlement
from engine.db import db
from tests.orders.test_undo import FreeShop
from tests.orders.undoing import (
    DOLLAR,
    NET_UNITS,
    PRICE,
    PRICE_UNITS,
    backend,
    bought,
    deposits,
    is_undone,
    news,
    place,
    proofs_of,
    rollups_of,
    row,
    run_out,
    told,
    units,
    until,
    world,
)
from tests.shop import Shop
from tests.world import ADMIN_KEY, Answer, Person, World, at_once, eventually

__all__ = ["backend", "place", "world"]


def report(place: Shop, person: Person, proof_id: str, reason: str | None = "late") -> Answer:
    return person.call("POST", f"{place.path}/proofs/{proof_id}/report", {"reason": reason})


def resolve(
    world: World,
    proof_id: str,
    verdict: str,
    reason: Any = "Both were heard.",
    key: Any = ADMIN_KEY,
) -> Answer:
    headers = {} if key is None else {"x-admin-key": key}
    body = {"verdict": verdict, "reason": reason}
    return world.call("POST", f"/admin/proofs/{proof_id}/resolve", body, headers=headers)


def settle(place: Shop, person: Person | None = None) -> list[Any]:
    rollups: list[Any] = (person or place.vendor).post(f"{place.path}/rollups")["rollups"]
    return rollups


def disputed(place: Shop, by: str = "client") -> tuple[Person, str, str]:
    """(buyer, task id, proof id) of an order that the clock approved and somebody reported."""
    buyer, task_id = bought(place)
    proof_id = place.deliver(task_id, "the key")
    run_out()
    person = buyer if by == "client" else place.vendor
    assert report(place, person, proof_id).ok()["proof"]["reported_by"] == by
    return buyer, task_id, proof_id


def is_paid(place: Shop, buyer: Person, task_id: str, proof_id: str) -> None:
    (escrow,), (rollup,) = deposits(task_id), rollups_of(task_id)
    assert (escrow.status, rollup.status) == ("settled", "paid")
    assert units(place, buyer) == 10 * DOLLAR - PRICE_UNITS
    wallet = place.vendor.get("/mailboxes/mine")["mailboxes"][0]["wallet_address"]
    assert place.world.usdc_units(wallet) == NET_UNITS
    place.withdraw(buyer, task_id).refused(409, "already_settled")
    report(place, buyer, proof_id).refused(409, "not_reportable")
    assert row(task_id).status == "approved"
    assert told(place, "order.withdrawn") == []


def is_returned(place: Shop, buyer: Person, task_id: str, proof_id: str, by: str) -> None:
    is_undone(place, buyer, task_id, by, proof_id)
    (escrow,) = deposits(task_id)
    assert escrow.status == "refunded" and rollups_of(task_id) == []
    assert units(place, buyer) == 10 * DOLLAR
    settle(place)
    assert [one.paid_out_at for one in proofs_of(task_id)] == [None]
    assert told(place, "payout.paid") == []


@pytest.mark.case("F21")
@pytest.mark.rule("O-07")
@pytest.mark.rule("R-05")
def test_nothing_is_disputed_before_the_clock_has_ruled_nor_once_it_is_being_paid(
    place: Shop,
) -> None:
    buyer, task_id = bought(place)
    proof_id = place.deliver(task_id)
    for person in (buyer, place.vendor):
        report(place, person, proof_id).refused(409, "not_reportable")
    run_out()
    (paid,) = settle(place)
    assert paid["status"] == "paid"
    for person in (buyer, place.vendor):
        report(place, person, proof_id).refused(409, "not_reportable")
    is_paid(place, buyer, task_id, proof_id)


@pytest.mark.case("F21")
@pytest.mark.rule("O-07")
@pytest.mark.parametrize("by", ["client", "gigworker"])
def test_a_dispute_in_time_keeps_it_from_being_paid(place: Shop, by: str) -> None:
    buyer, task_id, proof_id = disputed(place, by)
    # Again, by either side, changes nothing.
    for person in (buyer, place.vendor):
        assert report(place, person, proof_id, "else").ok()["proof"]["reported_by"] == by
    report(place, place.buyer(), proof_id).refused(404, "not_found")
    report(place, place.world.person(), proof_id).refused(403, "not_joined")
    for person in (place.vendor, buyer):
        assert settle(place, person) == []
    place.rule(buyer, proof_id, "reject").refused(409, "reported")
    place.rule(place.vendor, proof_id, "approve").refused(403, "not_permitted")
    (event,) = told(place, "proof.reported")
    assert (event["reported_by"], event["reason"]) == (by, "late")
    other = buyer if by == "gigworker" else place.vendor
    assert news(other, "proof.reported") == 1
    read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
    assert (read["status"], read["private_note"]) == ("reported", None)
    place.withdraw(buyer, task_id).ok()


@pytest.mark.case("F21")
@pytest.mark.rule("O-07")
def test_a_dispute_that_the_buyer_ends_by_approving_is_paid_once(place: Shop) -> None:
    buyer, task_id, proof_id = disputed(place)
    place.rule(buyer, proof_id).ok()
    place.withdraw(place.vendor, task_id).refused(409, "already_approved")
    report(place, buyer, proof_id).refused(409, "not_reportable")
    (paid,) = settle(place, buyer)
    assert paid["status"] == "paid" and settle(place) == []
    is_paid(place, buyer, task_id, proof_id)


@pytest.mark.case("F21")
@pytest.mark.rule("O-07")
@pytest.mark.parametrize("by", ["participant", "vendor"])
def test_a_dispute_that_either_side_ends_by_undoing_is_over_in_that_step(
    place: Shop, by: str
) -> None:
    buyer, task_id, proof_id = disputed(place)
    place.world.stop_following()
    person = buyer if by == "participant" else place.vendor
    path = f"{place.path}/tasks/{task_id}/withdraw"
    assert person.call("POST", path, headers={"prefer": "wait=0"}).status == 202
    # The money is under way, and the dispute is over.
    (proof,) = proofs_of(task_id)
    assert (proof.status, proof.returned) == ("rejected", True)
    assert buyer.get(f"{place.path}/proofs?status=reported")["proofs"] == []
    place.rule(buyer, proof_id).refused(409, "in_progress")
    resolve(place.world, proof_id, "pay").refused(409, "not_reported")
    place.world.follow()
    until(task_id, "withdrawn")
    is_returned(place, buyer, task_id, proof_id, by)


@pytest.mark.case("F21")
@pytest.mark.rule("O-07")
def test_of_all_that_ends_a_dispute_one_does(place: Shop) -> None:
    for _ in range(2):
        buyer, task_id, proof_id = disputed(place)
        before = place.world.usdc_units(_vendor_wallet(place))

        def act(
            number: int, task_id: str = task_id, proof_id: str = proof_id, buyer: Person = buyer
        ) -> Any:
            if number == 0:
                return place.rule(buyer, proof_id)
            if number == 1:
                return place.withdraw(place.vendor, task_id)
            if number == 2:
                return place.withdraw(buyer, task_id)
            if number == 3:
                return resolve(place.world, proof_id, "refund")
            return db.write(lambda: settlement.record(place.gig.id))

        approved, *undone, refunded, _ = at_once(5, act)
        settle(place)
        end = until(task_id, "approved", "withdrawn").status
        paid = place.world.usdc_units(_vendor_wallet(place)) - before
        if end == "approved":
            assert approved.status == 200 and paid == NET_UNITS
            assert [one.status for one in (*undone, refunded)] == [409, 409, 409]
            assert units(place, buyer) == 10 * DOLLAR - PRICE_UNITS
        else:
            assert approved.status == 409 and paid == 0
            assert units(place, buyer) == 10 * DOLLAR
            assert len(told(place, "order.withdrawn", task_id)) == 1


def _vendor_wallet(place: Shop) -> str:
    address: str = place.vendor.get("/mailboxes/mine")["mailboxes"][0]["wallet_address"]
    return address


@pytest.mark.rule("O-07")
@pytest.mark.parametrize("verdict", ["pay", "refund"])
def test_the_operator_rules_where_neither_side_moves(place: Shop, verdict: str) -> None:
    buyer, task_id, proof_id = disputed(place)
    other = {"pay": "refund", "refund": "pay"}[verdict]
    done = resolve(place.world, proof_id, verdict).ok()
    assert (done["success"], done["verdict"], done["task_id"]) == (True, verdict, task_id)
    if verdict == "pay":
        assert (done["status"], done["task_status"]) == ("approved", "approved")
        place.withdraw(buyer, task_id).refused(409, "already_approved")
        settle(place)
        is_paid(place, buyer, task_id, proof_id)
    else:
        assert (done["status"], done["task_status"]) == ("rejected", "undoing")
        until(task_id, "withdrawn")
        is_returned(place, buyer, task_id, proof_id, "operator")
        assert row(task_id).order_withdrawn_reason == "Both were heard."
        for person in (buyer, place.vendor):
            assert news(person, "order.withdrawn") == 1
    # The same outcome again is the same; the other is too late.
    resolve(place.world, proof_id, verdict, "again").ok()
    resolve(place.world, proof_id, other).refused(409, "not_reported")
    (event,) = told(place, "proof.resolved")
    assert (event["verdict"], event["reason"]) == (verdict, "Both were heard.")
    for person in (buyer, place.vendor):
        assert news(person, "proof.resolved") == 1


@pytest.mark.rule("O-07")
@pytest.mark.rule("H-14")
def test_the_operator_rules_on_nothing_but_a_dispute_and_with_his_key_alone(place: Shop) -> None:
    world = place.world
    buyer, task_id = bought(place)
    proof_id = place.deliver(task_id)
    resolve(world, proof_id, "pay", key=None).refused(401, "no_admin_key")
    resolve(world, proof_id, "pay", key="wrong").refused(403, "wrong_admin_key")
    for verdict in ("pay", "refund"):
        resolve(world, proof_id, verdict).refused(409, "not_reported")
    resolve(world, "PROOF_01JZZZZZZZZZZZZZZZZZZZZZZZ", "pay").refused(404, "not_found")
    for bad, field in (
        (("maybe", "x"), "verdict"),
        (("pay", ""), "reason"),
        (("pay", None), "reason"),
    ):
        assert list(resolve(world, proof_id, *bad).refused(400)["errors"]) == [field]
    place.rule(buyer, proof_id).ok()
    resolve(world, proof_id, "pay").refused(409, "not_reported")
    gig = world.gig()
    worker = world.worker(gig)
    outbound = worker.post(f"{gig.path}/proofs", {"task_identifier": world.task(gig)})["proof"]
    resolve(world, outbound["id"], "pay").refused(409, "not_inbound_order")


@pytest.mark.case("F21")
@pytest.mark.rule("O-06")
@pytest.mark.parametrize("end", ["approve", "undo", "pay", "refund"])
def test_a_free_order_is_disputed_and_ends_likewise(place: Shop, end: str) -> None:
    place = FreeShop(place)
    buyer = place.buyer()
    task_id = place.order(buyer)
    proof_id = place.deliver(task_id, "the key")
    run_out()
    report(place, buyer, proof_id).ok()
    if end == "approve":
        place.rule(buyer, proof_id).ok()
    elif end == "undo":
        place.withdraw(place.vendor, task_id).ok()
    else:
        done = resolve(place.world, proof_id, end).ok()
        assert done["task_status"] == ("approved" if end == "pay" else "withdrawn")
    if end in ("approve", "pay"):
        place.withdraw(buyer, task_id).refused(409, "already_approved")
        place.rule(buyer, proof_id, "reject").refused(409, "free_order_approved")
        read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
        assert read["private_note"] == "the key"
    else:
        is_undone(place, buyer, task_id, "vendor" if end == "undo" else "operator", proof_id)


@pytest.mark.rule("Y-08")
@pytest.mark.rule("R-05")
def test_the_daily_settlement_leaves_time_to_dispute_what_the_clock_approved(place: Shop) -> None:
    buyer, task_id = bought(place)
    proof_id = place.deliver(task_id)
    run_out()
    assert settlement.request_all() == 0
    path = f"{place.path}/proofs/{proof_id}"
    assert buyer.get(path)["proof"]["rollup_id"] is None
    clock.advance(payable.DISPUTE_MS // 1000 + 1)
    assert settlement.request_all() == 1
    eventually(lambda: buyer.get(path)["proof"]["paid_out_at"] is not None)


@pytest.mark.rule("R-01")
def test_an_empty_delivery_is_refused(place: Shop) -> None:
    buyer, task_id = bought(place)
    body = {"task_identifier": task_id}
    refused = place.vendor.call("POST", f"{place.path}/proofs", body).refused(400, "invalid")
    assert refused["errors"].keys() == {"proofs", "private_note"}
    assert place.task(buyer, task_id)["status"] == "claimed"


@pytest.mark.rule("O-08")
def test_an_empty_order_is_not_sent(place: Shop) -> None:
    buyer = place.buyer(dollars=1)
    task_id = place.draft(buyer, "")
    refused = place.publish(buyer, task_id, amount=PRICE).refused(400, "invalid")
    assert refused["errors"].keys() == {"payload"}
    buyer.patch(f"{place.path}/tasks/{task_id}/payload", {"payload": "a haiku"})
    place.publish(buyer, task_id, amount=PRICE).ok()


@pytest.mark.rule("O-07")
@pytest.mark.rule("R-04")
@pytest.mark.parametrize("ruled_by", ["operator", "buyer"])
def test_an_approval_that_ended_a_dispute_is_final(place: Shop, ruled_by: str) -> None:
    buyer, task_id, proof_id = disputed(place)
    if ruled_by == "operator":
        resolve(place.world, proof_id, "pay").ok()
    else:
        place.rule(buyer, proof_id).ok()
    shown = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
    assert (shown["status"], shown["can_revise"]) == ("approved", False)
    place.rule(buyer, proof_id, "reject", rejection_tag="fake_proof").refused(409, "dispute_over")
    place.withdraw(buyer, task_id).refused(409, "already_approved")
    settle(place)
    is_paid(place, buyer, task_id, proof_id)
