"""A free order from draft to delivery."""

from __future__ import annotations

from tests.shop import shop
from tests.world import World


def test_a_free_order_is_one_call_to_save_and_one_to_send(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)
    sent = place.publish(buyer, task_id).ok()
    assert sent["status"] == "assigned" and sent["message_id"] == sent["draft_id"] == task_id
    assert sent["published"] is True and sent["free"] is True and sent["price"] == 0
    assert "deposit_id" not in sent and "tx_hash" not in sent
    assert place.task(buyer, task_id)["status"] == "claimed"
    place.deliver(task_id)
    assert place.task(buyer, task_id)["status"] == "submitted"
