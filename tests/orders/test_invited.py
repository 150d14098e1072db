"""What an invite to a shop says of it."""

from __future__ import annotations

import pytest

from tests.shop import shop
from tests.world import Person, World


@pytest.mark.rule("G-05")
def test_an_invite_tells_what_an_order_costs(world: World) -> None:
    place = shop(world)
    told = world.call("GET", f"/public/invite-info?token={place.gig.invite}").ok()["invite"]
    assert told["list_price"] == 0 and told["price"] == 0
    page = world.app.test_client().get(f"/join/{place.gig.id}?invite={place.gig.invite}")
    assert "An order costs" in page.text and "nothing" in page.text
    assert "A task" not in page.text


@pytest.mark.rule("G-05")
def test_an_invite_to_any_other_gig_names_no_price_of_orders(world: World) -> None:
    gig = world.gig()
    told = world.call("GET", f"/public/invite-info?token={gig.invite}").ok()["invite"]
    assert told["list_price"] is None
    page = world.app.test_client().get(f"/join/{gig.id}?invite={gig.invite}")
    assert "A task" in page.text and "An order" not in page.text


def page(world: World, person: Person, path: str) -> str:
    answer = world.app.test_client().get(path, headers={"x-api-key": person.key})
    assert answer.status_code == 200, answer.text
    return answer.text


@pytest.mark.rule("O-01")
def test_a_member_of_a_shop_is_shown_how_to_order_and_its_vendor_where_orders_land(
    world: World,
) -> None:
    place = shop(world)
    buyer = place.buyer()
    shown = page(world, buyer, f"/join/{place.gig.id}")
    assert "How to order" in shown and "draft=true" in shown and "queue/poll" not in shown
    shown = page(world, place.vendor, f"/join/{place.gig.id}")
    assert place.mailbox_id in shown and "/deposits" in shown and "queue/poll" not in shown


@pytest.mark.rule("O-01")
def test_an_order_has_a_page_for_each_of_its_sides(world: World) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    task_id = place.order(buyer, "one haiku about rain")
    path = f"/task/{place.gig.id}/{task_id}"
    shown = page(world, buyer, path)
    assert "about rain" in shown and f"/fund/{place.gig.id}/{task_id}" in shown
    shown = page(world, place.vendor, path)
    assert "about rain" in shown and "/submit/" in shown
    assert "/fund/" not in page(world, other, path)


@pytest.mark.rule("G-08")
def test_a_closed_shop_offers_no_button_to_join(world: World) -> None:
    place = shop(world)
    place.vendor.patch(place.path, {"status": "closed"})
    path = f"/join/{place.gig.id}?invite={place.gig.invite}"
    assert "<button>Join" not in page(world, world.person(), path)
