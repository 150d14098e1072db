"""What a publish is refused for where no money is taken, and how often it may be asked."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import install
from tests.shop import shop
from tests.world import World


@pytest.mark.rule("O-02")
@pytest.mark.rule("O-08")
def test_free_shops_take_no_money_and_say_so(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)
    told = place.publish(buyer, task_id, amount="0.01").refused(409, "free_order")
    assert told["draft_kept"] is True
    assert place.publish(buyer, task_id, amount=0).ok()["free"] is True


@pytest.mark.rule("O-08")
def test_so_many_a_minute_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    few = replace(install.current().settings, ORDERS_PER_MINUTE=3)
    monkeypatch.setattr(install.current(), "settings", few)
    place = shop(world)
    buyer = place.buyer()
    tasks = [place.draft(buyer) for _ in range(3)]
    place.publish(buyer, tasks[0]).ok()
    place.withdraw(buyer, tasks[0]).ok()
    place.publish(buyer, tasks[1]).ok()
    told = place.publish(buyer, tasks[2]).refused(429, "rate_limited")
    assert told["retry_after"] > 0
    place.withdraw(buyer, tasks[1]).refused(429, "rate_limited")
