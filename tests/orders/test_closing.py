"""Closing a shop: never while money of an order is under way, and never with a new order (O-06)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engine import clock, commands, departures, shop_closing
from engine import proofs as timers
from engine.db import db
from engine.ids import new_id
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.models.wallet import Wallet
from engine.states import TABLES
from tests.shop import Shop, shop
from tests.world import Answer, Person, World, at_once

HALF = 500_000
# Every state of a deposit: what a buyer calls it, and whether it stands in the way.
DEPOSITS = [
    ("planned", "pending", True),
    ("open", "open", True),
    ("refunding", "open", True),
    ("settled", "settled", False),
    ("refunded", "withdrawn", False),
    ("reclaimed", "withdrawn", False),
    ("abandoned", "pending", False),
]


def close(place: Shop) -> Answer:
    return place.vendor.call("PATCH", place.path, {"status": "closed"})


def _wallet(buyer: Person) -> str:
    with db.reading():
        wallet: Wallet = Wallet.get(Wallet.account_id == buyer.id)
    return str(wallet.id)


def deposit(
    place: Shop,
    buyer: Person,
    task_id: str,
    status: str,
    attempt: int = 1,
    *,
    quoted: bool = False,
) -> str:
    """Write an order's deposit as the books have it in some state."""

    def write() -> str:
        key = "0x" + new_id("X")[2:].lower().ljust(64, "0")
        command = commands.record("order.publish", {}, account_id=buyer.id, gig_id=place.gig.id)
        Escrow.create(
            id=key,
            gig_id=place.gig.id,
            task_id=task_id,
            attempt=attempt,
            status=status,
            depositor="0x" + "1" * 40,
            payee="0x" + "2" * 40,
            amount_units=HALF,
            fee_bps=1000,
            reclaimer="0x" + "0" * 40,
            salt="0x" + "3" * 64,
            expires_at=clock.now() + 1000,
            wallet_id=None if quoted else _wallet(buyer),
            command_id=command.id,
            created_at=clock.now(),
        )
        Purchase.create(
            client_id=buyer.id,
            gig_id=place.gig.id,
            task_id=task_id,
            deposit_id=key,
            minimum_units=HALF,
            created_at=clock.now(),
        )
        Task.update(deposit_id=key, escrow_units=HALF).where(Task.id == task_id).execute()
        return key

    return db.write(write)


@pytest.fixture
def paid(world: World) -> Shop:
    """A shop that takes money, in an install whose chain is away: what counts is in the books."""
    place = shop(world)
    db.write(lambda: Gig.update(list_price_units=HALF).where(Gig.id == place.gig.id).execute())
    return place


@pytest.mark.rule("O-06")
@pytest.mark.parametrize(("status", "state", "blocks"), DEPOSITS)
def test_only_a_deposit_that_is_under_way_keeps_a_shop_from_being_closed(
    paid: Shop, status: str, state: str, blocks: bool
) -> None:
    buyer = paid.buyer()
    task_id = paid.draft(buyer)
    key = deposit(paid, buyer, task_id, status)
    if blocks:
        row = {"deposit_id": key, "state": state, "amount": Decimal("0.5"), "task_id": task_id}
        told = close(paid).refused(409, "unsettled_orders")
        assert told["unsettled"] == 1 and told["deposits"] == [row]
        assert paid.vendor.get(paid.path)["gig"]["status"] == "active"
    else:
        assert close(paid).ok()["gig"]["status"] == "closed"


@pytest.mark.rule("O-06")
def test_every_state_of_a_deposit_is_in_that_table() -> None:
    moves = TABLES["escrow"]
    assert {status for status, *_ in DEPOSITS} == {one for one, _ in moves} | set(moves.values())


@pytest.mark.rule("O-06")
def test_the_refusal_counts_all_orders_and_names_the_first_of_them(
    paid: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shop_closing, "MOST_NAMED", 3)
    buyer, other = paid.buyer(), shop(paid.world)
    tasks = [paid.draft(buyer) for _ in range(4)]
    # An order whose first deposit was given up counts once, and one of another shop not at all.
    deposit(paid, buyer, tasks[0], "abandoned")
    keys = [deposit(paid, buyer, tasks[0], "planned", attempt=2)]
    keys += [deposit(paid, buyer, task_id, "open") for task_id in tasks[1:3]]
    stranger = other.buyer()
    deposit(other, stranger, other.draft(stranger), "open")
    told = close(paid).refused(409, "unsettled_orders")
    assert told["unsettled"] == 3 and [one["deposit_id"] for one in told["deposits"]] == keys
    # Being funded, and without terms yet.
    db.write(lambda: Task.update(status="unfunded").where(Task.id == tasks[3]).execute())
    monkeypatch.setattr(shop_closing, "MOST_NAMED", 100)
    told = close(paid).refused(409, "unsettled_orders")
    none_yet = {"deposit_id": None, "state": "pending", "amount": None, "task_id": tasks[3]}
    assert told["unsettled"] == 4 and told["deposits"][-1] == none_yet
    assert "4 orders are" in told["error"]


@pytest.mark.rule("O-06")
@pytest.mark.rule("O-10")
def test_terms_that_were_only_quoted_end_with_the_shop(paid: Shop) -> None:
    buyer = paid.buyer()
    quote = deposit(paid, buyer, paid.draft(buyer), "planned", quoted=True)
    under_way = deposit(paid, buyer, paid.draft(buyer), "open", quoted=True)

    def state(deposit_id: str) -> str:
        with db.reading():
            return str(Escrow.get(Escrow.id == deposit_id).status)

    assert close(paid).refused(409, "unsettled_orders")["unsettled"] == 1
    assert state(quote) == "planned", "the shop is still open"
    db.write(lambda: Escrow.update(status="settled").where(Escrow.id == under_way).execute())
    close(paid).ok()
    assert state(quote) == "abandoned"


@pytest.mark.rule("O-06")
def test_a_deposit_that_the_books_do_not_know_is_not_taken_for_none(paid: Shop) -> None:
    buyer = paid.buyer()
    task_id = paid.draft(buyer)

    def name(deposit_id: str | None) -> None:
        db.write(lambda: Task.update(deposit_id=deposit_id).where(Task.id == task_id).execute())

    name("0x" + "9" * 64)
    close(paid).refused(409, "ledger_unreadable")
    deposit(paid, buyer, paid.draft(buyer), "open")
    close(paid).refused(409, "ledger_unreadable")
    name(None)
    close(paid).refused(409, "unsettled_orders")


@pytest.mark.rule("O-06")
def test_a_paid_shop_is_closed_by_patch_alone_and_opened_again(paid: Shop) -> None:
    for said in (None, {}):
        told = paid.vendor.call("DELETE", paid.path, said).refused(409, "inbound_order")
        assert "PATCH" in told["error"]
    assert close(paid).ok()["gig"]["status"] == "closed"
    assert close(paid).ok()["gig"]["status"] == "closed", "again changes nothing"
    buyer = _member(paid)
    paid.save(buyer).refused(409)
    view = paid.vendor.patch(paid.path, {"status": "active", "list_price": "0.60"})["gig"]
    assert view["status"] == "active" and view["list_price"] == Decimal("0.6")
    paid.draft(buyer)
    # What else the same call wanted is not done when the closing is refused.
    deposit(paid, buyer, paid.draft(buyer), "open")
    told = paid.vendor.call("PATCH", paid.path, {"title": "Closed", "status": "closed"})
    told.refused(409, "unsettled_orders")
    assert paid.vendor.get(paid.path)["gig"]["title"] == "Haiku on demand"
    paid.vendor.patch(paid.path, {"title": "Open", "status": "active"})


def _member(place: Shop) -> Person:
    """A buyer who has joined before the shop was closed."""
    place.vendor.patch(place.path, {"status": "active"})
    buyer = place.buyer()
    place.vendor.patch(place.path, {"status": "closed"})
    return buyer


@pytest.mark.rule("O-06")
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_a_free_shop_is_closed_at_any_time_and_its_orders_go_on(world: World, method: str) -> None:
    place = shop(world, review_timeout=3600)
    buyer = place.buyer()
    draft = place.draft(buyer)
    undone, approved, timed, delivered = (place.order(buyer) for _ in range(4))
    proofs = {task_id: place.deliver(task_id) for task_id in (approved, timed)}
    body = {"status": "closed"} if method == "PATCH" else None
    answer = place.vendor.call(method, place.path, body).ok()
    assert answer["gig"]["status"] == "closed"

    told = place.publish(buyer, draft).refused(409, "shop_closed")
    assert "not open" in told["error"]
    place.save(buyer).refused(409)
    newcomer = world.person()
    join = {"invite": place.gig.invite}
    newcomer.call("POST", f"{place.path}/mailboxes", join).refused(409, "gig_closed")

    proof_id = place.deliver(delivered)
    place.rule(buyer, proof_id, "reject", rejection_tag="low_quality").ok()
    place.rule(buyer, proofs[approved]).ok()
    place.withdraw(buyer, undone).ok()
    world.call("POST", "/dev/clock/advance", {"seconds": 3601}).ok()
    assert timers.time_out() == 1
    proof = buyer.get(f"{place.path}/proofs/{proofs[timed]}")["proof"]
    assert proof["status"] == "timeout_approved"
    states = [place.task(buyer, one)["status"] for one in (undone, approved, timed, delivered)]
    assert states == ["withdrawn", "approved", "approved", "rejected"]

    place.vendor.patch(place.path, {"status": "active"})
    place.publish(buyer, draft).ok()


@pytest.mark.rule("O-06")
def test_of_closing_and_ordering_at_once_no_closed_shop_has_a_new_order(world: World) -> None:
    place = shop(world)
    buyers = [place.buyer() for _ in range(3)]
    for method in ("PATCH", "DELETE") * 4:
        drafts = [place.draft(buyer) for buyer in buyers]

        def act(
            number: int, method: str = method, drafts: list[str] = drafts
        ) -> tuple[Answer, int]:
            if number < len(buyers):
                return place.publish(buyers[number], drafts[number]), 0
            body = {"status": "closed"} if method == "PATCH" else None
            answer = place.vendor.call(method, place.path, body)
            # From here on no order may be sent any more.
            return answer, _sent(place)

        *sent, (ended, closed_with) = at_once(len(buyers) + 1, act)
        assert ended.ok()["gig"]["status"] == "closed"
        for answer, _ in sent:
            assert answer.status == 200 or answer.refused(409, "shop_closed")
        assert _sent(place) == closed_with, "an order was sent after the shop was closed"
        place.vendor.patch(place.path, {"status": "active"})


def _sent(place: Shop) -> int:
    with db.reading():
        return Purchase.select().where(Purchase.gig_id == place.gig.id).count()


@pytest.mark.rule("O-06")
@pytest.mark.rule("O-02")
def test_of_closing_and_paying_at_once_one_is_refused(paying_world: World) -> None:
    place = shop(paying_world, "0.50")
    buyer = place.buyer(10)
    for _ in range(2):
        draft = place.draft(buyer)

        def act(number: int, draft: str = draft) -> Answer:
            return close(place) if number else place.publish(buyer, draft, amount="0.50")

        sent, closed = at_once(2, act)
        if closed.status == 200:
            assert sent.refused(409, "shop_closed")
            assert place.vendor.patch(place.path, {"status": "active"})
        else:
            (told,) = closed.refused(409, "unsettled_orders")["deposits"]
            assert told["task_id"] == draft and sent.ok()["published"] is True
            place.withdraw(buyer, draft).ok()
    close(place).ok()
    place.publish(buyer, _draft_of_a_closed_shop(place, buyer), amount="0.50").refused(
        409, "shop_closed"
    )


def _draft_of_a_closed_shop(place: Shop, buyer: Person) -> str:
    """A draft in a shop that is closed by now."""
    place.vendor.patch(place.path, {"status": "active"})
    draft = place.draft(buyer)
    close(place).ok()
    return draft


@pytest.mark.rule("Z-07")
def test_a_vendor_who_is_put_out_leaves_no_order_that_its_buyer_cannot_undo(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    draft = place.draft(buyer)
    claimed, submitted, approved = (place.order(buyer) for _ in range(3))
    proofs = {task_id: place.deliver(task_id, "the poem") for task_id in (submitted, approved)}
    place.rule(buyer, proofs[approved]).ok()

    gone = departures.deactivate(place.vendor.email)
    assert gone.tasks == 0 and gone.mailboxes == 1
    place.vendor.call("GET", "/gigs/mine").refused(401)
    assert departures.deactivate(place.vendor.email).mailboxes == 0

    told = place.publish(buyer, draft).refused(409, "vendor_away")
    assert told["draft_kept"] is True
    states = [place.task(buyer, one)["status"] for one in (claimed, submitted, approved)]
    assert states == ["claimed", "submitted", "approved"]
    note = buyer.get(f"{place.path}/proofs/{proofs[approved]}")["proof"]["private_note"]
    assert note == "the poem"
    for task_id in (claimed, submitted):
        assert place.withdraw(buyer, task_id).ok()["success"] is True
        assert place.task(buyer, task_id)["status"] == "withdrawn"


@pytest.mark.rule("Y-07")
@pytest.mark.rule("O-06")
def test_a_shop_with_a_real_deposit_waits_for_it_and_shows_it_as_escrow(
    paying_world: World,
) -> None:
    place = shop(paying_world, "0.50")
    buyer = place.buyer(10)
    first = place.order(buyer, amount="0.50")
    second = place.order(buyer, amount="3.30")
    for person in (place.vendor, buyer):
        view = person.get(place.path)["gig"]
        assert view["escrowed_funds"] == Decimal("3.8") and view["available_funds"] == 0
    # Another price is for orders to come.
    place.vendor.patch(place.path, {"list_price": 2})
    assert place.task(buyer, first)["funded_minimum"] == Decimal("0.5")
    told = close(place).refused(409, "unsettled_orders")
    amounts = {one["task_id"]: one["amount"] for one in told["deposits"]}
    assert amounts == {first: Decimal("0.5"), second: Decimal("3.3")}
    assert {one["state"] for one in told["deposits"]} == {"open"}
    place.withdraw(buyer, first).ok()
    place.rule(buyer, place.deliver(second)).ok()
    assert close(place).refused(409, "unsettled_orders")["unsettled"] == 1
    buyer.post(f"{place.path}/rollups")
    assert place.vendor.get(place.path)["gig"]["escrowed_funds"] == 0
    close(place).ok()
