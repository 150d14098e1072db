"""A vendor who changes his price while orders are under way (O-06)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from engine import development
from tests.orders.test_quote import Cold, ask, publish
from tests.shop import Shop, shop
from tests.world import Answer, World, at_once


@pytest.fixture
def place(paying_world: World) -> Shop:
    return shop(paying_world, "0.50")


def reprice(place: Shop, price: str) -> Answer:
    return place.vendor.call("PATCH", place.path, {"list_price": price})


@pytest.mark.rule("O-06")
@pytest.mark.rule("O-04")
def test_a_tip_is_the_same_wherever_it_is_told_if_the_price_rose_between_two_tries(
    place: Shop,
) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 0)
    task_id = place.draft(buyer)
    first = ask(place, buyer, task_id, wallet, "0.60").ok()
    signed = wallet.sign(first)
    publish(place, buyer, task_id, authorization=signed).refused(402, "insufficient_funds")
    reprice(place, "0.60").ok()
    again = ask(place, buyer, task_id, wallet, "0.60").ok()
    assert (first["split"]["tip"], again["split"]["tip"]) == (Decimal("0.1"), 0)
    assert again["deposit_id"] == first["deposit_id"]
    development.faucet(wallet.address, 600_000, 0)
    told = publish(place, buyer, task_id, authorization=signed).ok()
    (row,) = place.vendor.get(f"{place.path}/deposits")["deposits"]
    seen: list[Any] = [told, place.task(buyer, task_id), place.task(place.vendor, task_id), row]
    assert [one["tip"] for one in seen] == [0] * 4
    assert [one["funded_minimum"] for one in seen[:3]] == [Decimal("0.6")] * 3


@pytest.mark.rule("O-08")
@pytest.mark.rule("O-10")
def test_terms_that_were_signed_are_sent_at_the_price_of_that_moment(place: Shop) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 10)
    task_id = place.draft(buyer)
    signed = {"authorization": wallet.sign(ask(place, buyer, task_id, wallet, "0.60").ok())}
    reprice(place, "0.70").ok()
    told = publish(place, buyer, task_id, **signed).refused(400, "below_list_price")
    assert "$0.70" in told["errors"]["amount"] and wallet.units == 10_000_000
    assert place.task(buyer, task_id)["status"] == "draft"
    reprice(place, "0.40").ok()
    told = publish(place, buyer, task_id, **signed).ok()
    assert (told["funded_minimum"], told["tip"]) == (Decimal("0.4"), Decimal("0.2"))
    # What is paid stays as it was.
    reprice(place, "0.90").ok()
    view = place.task(buyer, task_id)
    assert (view["funded_minimum"], view["tip"]) == (Decimal("0.4"), Decimal("0.2"))
    (row,) = buyer.get("/orders")["orders"]
    assert row["tip_estimate"] is None


@pytest.mark.rule("O-06")
@pytest.mark.rule("O-08")
def test_of_a_new_price_and_an_order_at_once_no_order_is_below_the_price_it_was_made_at(
    place: Shop,
) -> None:
    """Each quote is by the old price or the new one, and refused where that is too little."""
    buyer, wallet = place.buyer(), Cold.of(place.world, 0)
    for new in ("0.60", "0.50") * 3:
        drafts = [place.draft(buyer) for _ in range(3)]

        def act(number: int, new: str = new, drafts: list[str] = drafts) -> Answer:
            if number == len(drafts):
                return reprice(place, new)
            return ask(place, buyer, drafts[number], wallet, "0.55")

        *answers, changed = at_once(len(drafts) + 1, act)
        assert changed.ok()["gig"]["list_price"] == Decimal(new)
        for one in answers:
            if one.status == 200:
                assert one.json["split"]["tip"] == Decimal("0.05")
            else:
                one.refused(400, "below_list_price")
        last = ask(place, buyer, drafts[0], wallet, "0.55")
        assert last.status == (400 if new == "0.60" else 200)
