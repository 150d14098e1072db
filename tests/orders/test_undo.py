"""Either side undoes an order until it is approved, and its money goes back (O-09)."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from engine import audit
from engine.db import db
from engine.models.purchase import Purchase
from engine.models.task import Task
from tests.engine.escrow_world import token
from tests.orders.undoing import (
    DOLLAR,
    NET_UNITS,
    NOT_WAITING,
    PRICE,
    PRICE_UNITS,
    address,
    bought,
    deposits,
    fine,
    is_undone,
    news,
    place,
    proofs_of,
    row,
    run_out,
    told,
    units,
    until,
    world,
)
from tests.shop import Shop, shop
from tests.world import Answer, Person, World, at_once

__all__ = ["place", "world"]

SIDES = ("participant", "vendor")


def side(place: Shop, buyer: Person, by: str) -> Person:
    return buyer if by == "participant" else place.vendor


@pytest.mark.rule("O-09")
@pytest.mark.rule("O-02")
@pytest.mark.parametrize("by", SIDES)
def test_either_side_undoes_an_order_and_the_deposit_goes_back(place: Shop, by: str) -> None:
    buyer, task_id = bought(place, amount="0.75")
    proof_id = place.deliver(task_id, "the key")
    assert units(place, buyer) == 10 * DOLLAR - 750_000
    done = place.withdraw(side(place, buyer, by), task_id).ok()
    (escrow,) = deposits(task_id)
    assert (escrow.status, escrow.amount_units) == ("refunded", 750_000)
    assert done == {
        "success": True,
        "state": "withdrawn",
        "gig_id": place.gig.id,
        "task_id": task_id,
        "deposit_id": escrow.id,
        "tx_hash": escrow.tx_hash,
        "amount": Decimal("0.75"),
        "claimable": False,
        "withdrawn_by": by,
        "withdrawn_at": done["withdrawn_at"],
    }
    assert units(place, buyer) == 10 * DOLLAR
    is_undone(place, buyer, task_id, by, proof_id)
    assert [one.timeout_at for one in proofs_of(task_id)] == [None]
    # Whoever did it himself is not told.
    assert news(buyer, "order.withdrawn") == (by == "vendor")
    assert news(place.vendor, "order.withdrawn") == (by == "participant")
    # That it was undone is no verdict on the vendor.
    assert told(place, "proof.rejected") == []
    # Again, by either side, is the same.
    for person in (buyer, place.vendor):
        assert place.withdraw(person, task_id).ok() == done
    # What stays of it is on the name of the wallet that had paid.
    seen = buyer.get(f"/reputation/{address(buyer)}/events")["events"]
    assert [(one["type"], one["withdrawn_by"]) for one in seen] == [("order_withdrawn", by)]
    place.deliver_refused(task_id, "order_withdrawn")
    assert len(told(place, "order.withdrawn")) == 1


@pytest.mark.rule("O-09")
@pytest.mark.rule("O-02")
def test_who_does_not_wait_is_told_how_far_it_is(place: Shop) -> None:
    buyer, task_id = bought(place)
    proof_id = place.deliver(task_id)
    place.world.stop_following()
    path = f"{place.path}/tasks/{task_id}/withdraw"
    begun = buyer.call("POST", path, headers=NOT_WAITING)
    assert begun.status == 202
    url = begun.headers["location"].removeprefix("/api")
    assert row(task_id).status == "undoing"
    for person in (buyer, place.vendor):
        assert place.withdraw(person, task_id).refused(409, "in_progress")["retry_after"] >= 1
        place.rule(buyer, proof_id).refused(409, "in_progress")
        report = f"{place.path}/proofs/{proof_id}/report"
        person.call("POST", report, {}).refused(409, "in_progress")
    place.deliver_refused(task_id, "in_progress")
    place.publish(buyer, task_id, amount=PRICE).refused(409, "in_progress")
    run_out()
    assert [one.status for one in proofs_of(task_id)] == ["rejected"]
    place.world.follow()
    until(task_id, "withdrawn")
    done = buyer.call("GET", url, headers={"prefer": "wait=5"}).ok()
    assert done["status"] in ("running", "waiting", "done")
    assert place.withdraw(buyer, task_id).ok()["state"] == "withdrawn"


@pytest.mark.rule("O-02")
@pytest.mark.rule("O-09")
def test_nothing_is_undone_or_delivered_while_its_deposit_is_on_its_way(place: Shop) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    place.world.stop_following()
    body = {"amount": PRICE, "wallet_alias_id": buyer.wallet_id}  # type: ignore[attr-defined]
    path = f"{place.path}/tasks/{task_id}/publish"
    assert buyer.call("POST", path, body, headers=NOT_WAITING).status == 202
    for person in (buyer, place.vendor):
        place.withdraw(person, task_id).refused(409, "in_progress")
    place.withdraw(place.buyer(), task_id).refused(404, "not_found")
    place.deliver_refused(task_id, "in_progress")
    place.world.follow()
    until(task_id, "claimed")
    place.withdraw(buyer, task_id).ok()


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-09")
def test_an_undone_order_is_sent_again_with_a_fresh_deposit(place: Shop) -> None:
    buyer, task_id = bought(place)
    first = place.deliver(task_id)
    place.rule(buyer, first, "reject").ok()
    place.withdraw(place.vendor, task_id).ok()
    assert place.publish(buyer, task_id, amount=PRICE).ok()["message_id"] == task_id
    assert [(one.attempt, one.status) for one in deposits(task_id)] == [
        (1, "refunded"),
        (2, "open"),
    ]
    task = place.task(buyer, task_id)
    assert (task["status"], task.get("order_withdrawn_at")) == ("claimed", None)
    assert row(task_id).order_withdrawn_by is None
    second = place.deliver(task_id, "the key")
    place.rule(buyer, first).refused(409, "returned")
    place.rule(buyer, second).ok()
    (rollup,) = buyer.post(f"{place.path}/rollups")["rollups"]
    assert rollup["status"] == "paid"
    assert [one.status for one in deposits(task_id)] == ["refunded", "settled"]
    assert units(place, buyer) == 10 * DOLLAR - PRICE_UNITS
    place.withdraw(buyer, task_id).refused(409, "already_settled")
    read = buyer.get(f"{place.path}/proofs/{second}")["proof"]
    assert (read["private_note"], read["private_note_locked"]) == ("the key", False)


@pytest.mark.rule("R-03")
@pytest.mark.rule("O-09")
def test_what_the_vendor_had_drafted_goes_with_the_order(place: Shop) -> None:
    buyer, task_id = bought(place)
    draft = place.deliver(task_id, draft=True)
    place.withdraw(buyer, task_id).ok()
    assert proofs_of(task_id) == []
    place.vendor.call("POST", f"{place.path}/proofs/{draft}/submit").refused(404, "not_found")


# -- every reason of the table -------------------------------------------------------------------


def draft(place: Shop) -> tuple[Person, str]:
    buyer = place.buyer(dollars=10)
    return buyer, place.draft(buyer)


def short(place: Shop) -> tuple[Person, str]:
    """Its publishing planned a deposit that the token would not move."""
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    token(place.world, "blacklist", address(buyer))
    place.publish(buyer, task_id, amount=PRICE).refused(502, "deposit_failed")
    assert row(task_id).deposit_id is not None
    return buyer, task_id


def approved(place: Shop) -> tuple[Person, str]:
    buyer, task_id = bought(place)
    place.rule(buyer, place.deliver(task_id)).ok()
    return buyer, task_id


def timed_out(place: Shop) -> tuple[Person, str]:
    buyer, task_id = bought(place)
    place.deliver(task_id)
    run_out()
    return buyer, task_id


def paid(place: Shop) -> tuple[Person, str]:
    buyer, task_id = approved(place)
    place.vendor.post(f"{place.path}/rollups")
    return buyer, task_id


def of_free(make: Callable[[Shop], tuple[Person, str]]) -> Callable[[Shop], tuple[Person, str]]:
    """The same in a shop that takes no money."""

    def made(place: Shop) -> tuple[Person, str]:
        return make(FreeShop(place))

    return made


class FreeShop(Shop):
    """Whatever is paid in it is nothing."""

    def __init__(self, place: Shop) -> None:
        free = shop(place.world, 0, place.vendor, review_timeout=3600)
        super().__init__(place.world, free.gig, free.mailbox_id)
        place.gig = free.gig

    def order(self, buyer: Person, payload: str = "one haiku", **body: Any) -> str:
        return super().order(buyer, payload)


def adrift(place: Shop) -> tuple[Person, str]:
    """Its row and its deposit's do not go together."""
    buyer, task_id = bought(place)
    (mine,) = deposits(task_id)
    # Put right at once by whoever gives it back.
    with db.reading():
        assert Task.get(Task.id == task_id).status == "claimed"
    db.write(lambda: db.rows("UPDATE escrow SET status = 'planned' WHERE id = ?", (mine.id,)))
    return buyer, task_id


def unknown(place: Shop) -> tuple[Person, str]:
    """The buyer's ledger lacks it."""
    buyer, task_id = bought(place)
    db.write(lambda: Purchase.delete().where(Purchase.task_id == task_id).execute())
    return buyer, task_id


def of_others(place: Shop) -> tuple[Person, str]:
    """Neither the buyer nor the vendor asks."""
    _, task_id = bought(place)
    return place.buyer(), task_id


def outbound(place: Shop) -> tuple[Person, str]:
    """A task of a gig whose owner sends the work."""
    place.gig = place.world.gig()
    return place.gig.owner, place.world.task(place.gig)


def restored(task_id: str) -> None:
    for one in deposits(task_id):
        if one.opened_at is not None and one.status == "planned":
            db.write(
                lambda one=one: db.rows("UPDATE escrow SET status = 'open' WHERE id = ?", (one.id,))
            )
        with db.reading():
            known = Purchase.select().where(Purchase.deposit_id == one.id).exists()
            task = Task.get(Task.id == task_id)
        if not known:
            # Whoever is sent to the audit by the refusal is told there what is missing.
            assert any(one.id in fault for fault in audit.run().faults)
            lost = {"deposit_id": one.id, "gig_id": one.gig_id, "task_id": task_id}
            lost |= {"minimum_units": one.amount_units, "created_at": one.created_at}
            lost |= {"client_id": task.client_id}
            db.write(lambda lost=lost: Purchase.create(**lost))


REASONS: list[tuple[str, Callable[[Shop], tuple[Person, str]], int, str]] = [
    ("another kind of gig", outbound, 409, "not_inbound_order"),
    ("somebody else", of_others, 403, "not_a_party"),
    ("draft", draft, 409, "not_funded"),
    ("free draft", of_free(draft), 409, "not_funded"),
    ("planned and never opened", short, 200, "never_funded"),
    ("approved", approved, 409, "already_approved"),
    ("approved by the clock", timed_out, 409, "already_approved"),
    ("free and approved", of_free(approved), 409, "already_approved"),
    ("free and approved by the clock", of_free(timed_out), 409, "already_approved"),
    ("paid", paid, 409, "already_settled"),
    ("rows at odds", adrift, 409, "state_mismatch"),
    ("no ledger row", unknown, 409, "ledger_missing"),
]


@pytest.mark.rule("O-09")
@pytest.mark.parametrize(
    ("make", "status", "reason"), [pytest.param(*one[1:], id=one[0]) for one in REASONS]
)
def test_every_reason_of_the_table(
    place: Shop, make: Callable[[Shop], tuple[Person, str]], status: int, reason: str
) -> None:
    buyer, task_id = make(place)
    before = row(task_id).status
    both = (buyer, place.vendor, buyer)
    for person in (buyer,) if reason == "not_a_party" else both:
        answer = place.withdraw(person, task_id)
        if status == 200:
            assert answer.ok()["reason"] == reason
            assert (answer.json["amount"], answer.json["tx_hash"]) == (0, None)
            assert (answer.json["success"], answer.json["state"]) == (True, "withdrawn")
        else:
            answer.refused(status, reason)
    assert row(task_id).status == before
    assert not any(one.status == "refunding" for one in deposits(task_id))
    assert told(place, "order.withdrawn") == []
    restored(task_id)


@pytest.mark.rule("O-09")
def test_nobody_but_its_two_sides_undoes_an_order(place: Shop) -> None:
    buyer, task_id = bought(place)
    member, stranger = place.buyer(), place.world.person()
    place.withdraw(member, task_id).refused(403, "not_a_party")
    place.withdraw(stranger, task_id).refused(403, "not_joined")
    place.withdraw(member, place.draft(buyer)).refused(404, "not_found")
    place.withdraw(member, "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ").refused(404, "not_found")
    place.withdraw(place.vendor, task_id).ok()
    # An order that is not sent is nobody else's to know of.
    place.withdraw(member, task_id).refused(404, "not_found")


@pytest.mark.rule("O-09")
@pytest.mark.parametrize("distribution", ["queue", "queue_solo"])
def test_no_other_kind_of_gig_has_orders_to_undo(world: World, distribution: str) -> None:
    gig = world.gig(distribution=distribution)
    worker = world.worker(gig)
    path = f"{gig.path}/tasks/{world.task(gig)}/withdraw"
    gig.owner.call("POST", path).refused(409, "not_inbound_order")
    worker.call("POST", path).refused(403)
    world.person().call("POST", path).refused(403)


# -- free orders ---------------------------------------------------------------------------------


@pytest.mark.rule("O-06")
@pytest.mark.parametrize("by", SIDES)
def test_a_free_order_is_undone_in_one_step_and_sent_again(place: Shop, by: str) -> None:
    place = FreeShop(place)
    buyer = place.buyer()
    task_id = place.order(buyer)
    proof_id = place.deliver(task_id, "the key")
    done = place.withdraw(side(place, buyer, by), task_id).ok()
    assert (done["state"], done["free"], done["amount"]) == ("withdrawn", True, 0)
    assert not {"deposit_id", "tx_hash", "claimable"} & set(done)
    is_undone(place, buyer, task_id, by, proof_id)
    read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
    assert (read["private_note"], read["private_note_locked"]) == (None, True)
    assert place.withdraw(buyer, task_id).ok() == done
    with db.reading():
        (purchase,) = Purchase.select().where(Purchase.task_id == task_id)
    assert purchase.withdrawn_at is not None
    wallet = place.vendor.get("/mailboxes/mine")["mailboxes"][0]["wallet_address"]
    seen = place.vendor.get(f"/reputation/{wallet}/events")["events"]
    assert "order_withdrawn" not in {one["type"] for one in seen}
    place.publish(buyer, task_id).ok()
    again = place.deliver(task_id)
    place.rule(buyer, again).ok()
    place.withdraw(buyer, task_id).refused(409, "already_approved")


@pytest.mark.rule("O-08")
def test_publishing_and_undoing_are_limited_together(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    limit = world.settings.ORDERS_PER_MINUTE
    object.__setattr__(world.settings, "ORDERS_PER_MINUTE", 3)
    try:
        task_id = place.order(buyer)
        place.withdraw(buyer, task_id).ok()
        place.publish(buyer, task_id).ok()
        refused = place.withdraw(buyer, task_id).refused(429, "rate_limited")
        assert 0 < refused["retry_after"] <= 60
        # Each account has its own.
        place.withdraw(place.vendor, task_id).ok()
    finally:
        object.__setattr__(world.settings, "ORDERS_PER_MINUTE", limit)


# -- at once -------------------------------------------------------------------------------------


@pytest.mark.rule("O-09")
@pytest.mark.rule("O-02")
def test_of_many_who_undo_at_once_one_refund_is_made(place: Shop) -> None:
    buyer, task_id = bought(place)

    def undo(number: int) -> Answer:
        return place.withdraw(buyer if number % 2 else place.vendor, task_id)

    answers = at_once(6, undo)
    assert {one.status for one in answers} <= {200, 409}
    assert all(one.status == 200 or one.json["reason"] == "in_progress" for one in answers)
    until(task_id, "withdrawn")
    assert units(place, buyer) == 10 * DOLLAR
    assert len(told(place, "order.withdrawn")) == 1
    assert len(told(place, "escrow.refund_requested")) == 1


@pytest.mark.rule("O-09")
def test_undo_and_deliver_at_once_leave_nothing_half_done(place: Shop) -> None:
    buyer = place.buyer(dollars=10)
    for _ in range(3):
        _, task_id = bought(place, buyer)
        body = {"task_identifier": task_id, "proofs": ["x"]}

        def act(number: int, task_id: str = task_id, body: Any = body) -> Answer:
            if number:
                return place.withdraw(buyer, task_id)
            return place.vendor.call("POST", f"{place.path}/proofs", body)

        handed, undone = at_once(2, act)
        undone.ok()
        if handed.status != 201:
            assert handed.refused(409)["reason"] in ("in_progress", "order_withdrawn")
        is_undone(place, buyer, task_id, "participant")
    assert units(place, buyer) == 10 * DOLLAR


@pytest.mark.rule("O-09")
@pytest.mark.rule("Y-03")
def test_undo_and_settle_at_once_pay_or_return_and_never_both(place: Shop) -> None:
    buyer = place.buyer(dollars=10)
    spent = 0
    for number in range(3):
        _, task_id = bought(place, buyer)
        proof_id = place.deliver(task_id)

        def act(which: int, task_id: str = task_id, proof_id: str = proof_id) -> Answer:
            if which == 0:
                return place.rule(buyer, proof_id)
            if which == 1:
                return place.withdraw(place.vendor, task_id)
            return place.vendor.call("POST", f"{place.path}/rollups")

        ruled, undone, _ = at_once(3, act)
        assert (ruled.status, undone.status) in ((200, 409), (409, 200)), number
        if ruled.status == 200:
            assert undone.json["reason"] in ("already_approved", "already_settled")
            place.vendor.post(f"{place.path}/rollups")
            spent += PRICE_UNITS
        else:
            assert ruled.json["reason"] in ("in_progress", "order_withdrawn")
            is_undone(place, buyer, task_id, "vendor")
        (escrow,) = deposits(task_id)
        assert escrow.status == ("settled" if ruled.status == 200 else "refunded")
        fine()
    assert units(place, buyer) == 10 * DOLLAR - spent
    wallet = place.vendor.get("/mailboxes/mine")["mailboxes"][0]["wallet_address"]
    assert place.world.usdc_units(wallet) == spent // PRICE_UNITS * NET_UNITS
