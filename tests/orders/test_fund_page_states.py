"""Every state of the payment page in one table: what came about, and what its visitor sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import cycle

import pytest

from engine import install
from tests.conftest import BACKENDS
from tests.contract.test_link_pages import Page
from tests.orders.node import Way
from tests.orders.test_fund_page import PAY, WITHDRAW, Order, buttons, plain
from tests.orders.test_publish_refused import ROWS as REASONS
from tests.orders.test_publish_refused import Case, _shut_mailbox, undelivered
from tests.shop import shop
from tests.world import World, eventually

# How one looks at an order of a shop that asks for $0.50, by a buyer who has ten dollars.
Look = Callable[[Order], Page]


def payable(order: Order) -> Page:
    return order.page()


def missing(order: Order) -> Page:
    order.id = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    return order.page()


def deleted(order: Order) -> Page:
    order.buyer.call("DELETE", f"{order.place.path}/tasks/{order.id}/draft").ok()
    return order.page()


def of_another_buyer(order: Order) -> Page:
    return order.page(order.place.buyer())


def in_his_own_shop(order: Order) -> Page:
    return order.page(order.place.vendor)


def to_a_stranger(order: Order) -> Page:
    return order.page(order.place.world.person())


def sent_by_another_buyer(order: Order) -> Page:
    order.send(amount="0.50")
    return order.page(order.place.buyer())


def paid(order: Order) -> Page:
    order.send(amount="0.50")
    return order.page()


def paid_and_opened_again_by_its_key(order: Order) -> Page:
    order.send(amount="0.60")
    assert buttons(order.page()) == set()
    return order.page(query=f"?api_key={order.buyer.key}")


def paid_in_a_shop_that_has_closed(order: Order) -> Page:
    order.send(amount="0.50")
    order.place.rule(order.buyer, order.place.deliver(order.id)).ok()
    order.buyer.post(f"{order.place.path}/rollups")
    order.place.vendor.patch(order.place.path, {"status": "closed"})
    return order.page()


def undone(order: Order) -> Page:
    order.send(amount="0.50")
    order.place.withdraw(order.place.vendor, order.id).ok()
    return order.page()


def in_another_kind_of_gig(order: Order) -> Page:
    world = order.place.world
    gig = world.gig()
    return Page(world, f"/fund/{gig.id}/{world.task(gig)}", gig.owner)


def closed(order: Order) -> Page:
    order.place.vendor.patch(order.place.path, {"status": "closed"})
    return order.page()


def under_way(order: Order) -> Page:
    order.place.world.stop_following()
    path = f"{order.place.path}/tasks/{order.id}/publish"
    body = {"amount": "0.50", "wallet_alias_id": order.buyer.wallet_id}  # type: ignore[attr-defined]
    assert order.buyer.call("POST", path, body, headers={"prefer": "wait=0"}).status == 202
    page = order.page()
    assert "data-follows" in page.main
    order.place.world.follow()
    eventually(lambda: order.place.task(order.buyer, order.id)["status"] == "claimed")
    return page


def without_a_wallet(order: Order) -> Page:
    world, place = order.place.world, order.place
    person = world.worker(place.gig, wallet_address="0x" + "11" * 20)
    return Order(place, person, place.draft(person)).page()


def _holding(order: Order, dollars: int, wei: int) -> Page:
    """What whoever has one wallet with so much is shown."""
    place = order.place
    buyer = place.buyer()
    (wallet,) = buyer.get("/wallets")["wallets"]
    if dollars:
        body = {"address": wallet["evm_address"], "usdc": dollars}
        place.world.call("POST", "/dev/faucet", body).ok()
    install.treasury().chain.request("anvil_setBalance", wallet["evm_address"], hex(wei))
    return Order(place, buyer, place.draft(buyer)).page()


def short_of_usdc(order: Order) -> Page:
    return _holding(order, 0, 10**18)


def short_of_gas(order: Order) -> Page:
    return _holding(order, 10, 0)


def short_of_both(order: Order) -> Page:
    return _holding(order, 0, 0)


def paid_and_not_delivered(order: Order) -> Page:
    case = Case(order.place, order.buyer, order.id, Way())
    undelivered(case)
    page = order.page()
    _shut_mailbox(case, "active")
    return page


USDC, GAS = "This wallet is short of USDC", "too little ether for gas"
# What happened, the page's status, what it says, what it must not say, and what its buttons ask.
ROWS: list[tuple[Look, int, list[str], list[str], set[str]]] = [
    (payable, 200, ["$0.50", "gets $0.45", "USDC $10.00"], [USDC, GAS], {PAY}),
    (missing, 404, ["This order is not here"], [], set()),
    (deleted, 404, ["This order is not here"], ["a haiku"], set()),
    (of_another_buyer, 404, ["This order is not here"], ["a haiku"], set()),
    (in_his_own_shop, 403, ["only its buyer pays for it"], [], set()),
    (to_a_stranger, 403, ["belongs to somebody else"], ["a haiku"], set()),
    (sent_by_another_buyer, 403, ["belongs to somebody else"], ["$0.50"], set()),
    (paid, 200, ["is paid for", "Receipt", "Deposit $0.50", "gets $0.45"], ["cancelled"], set()),
    (paid_and_opened_again_by_its_key, 200, ["is paid for", "Receipt", "a tip $0.10"], [], set()),
    (paid_in_a_shop_that_has_closed, 200, ["is paid for", "Receipt"], ["closed"], set()),
    (undone, 200, ["was cancelled", "$0.50 came back to 0x"], ["Receipt"], set()),
    (in_another_kind_of_gig, 409, ["does not take orders"], [], set()),
    (closed, 200, ["This shop is closed", "Nothing was charged"], [], set()),
    (under_way, 200, ["under way"], ["Receipt"], set()),
    (without_a_wallet, 200, ["no wallet here"], [USDC, GAS], set()),
    (short_of_usdc, 200, [USDC], [GAS], {PAY}),
    (short_of_gas, 200, [GAS], [USDC], {PAY}),
    (short_of_both, 200, [USDC, GAS], [], {PAY}),
    (
        paid_and_not_delivered,
        200,
        ["You have paid $0.50", "Finish this order (already paid)", "Cancel and refund me"],
        ["Receipt"],
        {PAY, WITHDRAW},
    ),
]
# Each row on one of the two databases.
TABLE = [
    pytest.param(backend, *row, id=f"{row[0].__name__}-{backend}")
    for row, backend in zip(ROWS, cycle(BACKENDS), strict=False)
]


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-08")
@pytest.mark.parametrize(
    ("backend", "look", "status", "says", "never", "asks"), TABLE, indirect=["backend"]
)
def test_every_state_of_an_order_is_a_sentence_and_nobody_is_offered_to_pay_twice(
    paying_world: World, look: Look, status: int, says: list[str], never: list[str], asks: set[str]
) -> None:
    page = look(Order.of(shop(paying_world, "0.50"), 10))
    words = f"{page.notice} {plain(page)}"
    assert page.status == status, words
    assert [one for one in says if one not in words] == [], words
    assert [one for one in never if one in words] == [], words
    assert buttons(page) == asks
    if PAY in asks and WITHDRAW not in asks and look is not payable:
        # A wall, and no warning.
        (field,) = [one for one in page.tags.of("input") if one["name"] == "amount"]
        assert GAS not in says or "data-wall" in field


@pytest.mark.rule("O-08")
def test_the_page_has_what_to_do_for_every_reason_of_the_publish_table(
    paying_world: World,
) -> None:
    page = Order.of(shop(paying_world, "0.50"), 10).page()
    (element,) = [attrs for _, attrs in page.tags.found if "data-advice" in attrs]
    advice = json.loads(str(element["data-advice"]))
    # What is wrong with an amount stands at its field; the rest are states of the page.
    fields = {"amount_required", "below_list_price", "fractional_cents"}
    states = {"ledger_write_failed", "shop_closed", "vendor_away"}
    assert {reason for reason, *_ in REASONS} - fields - states <= advice.keys()
