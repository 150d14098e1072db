"""What an invite to a shop says of it."""

from __future__ import annotations

import pytest

from tests.shop import shop
from tests.world import World


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
