"""A vendor who pauses, and a buyer who leaves, while orders are under way."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from tests.shop import Shop, shop
from tests.world import Answer, World, at_once


def pause(place: Shop, paused: bool) -> Answer:
    path = f"{place.path}/mailboxes/{place.mailbox_id}"
    return place.vendor.call("PATCH", path, {"paused": paused})


@pytest.mark.rule("M-02")
@pytest.mark.rule("O-08")
def test_a_vendor_who_pauses_is_sent_no_new_order_and_goes_on_with_those_that_he_has(
    world: World,
) -> None:
    place = shop(world)
    buyer = place.buyer()
    draft, claimed, handed = place.draft(buyer), place.order(buyer), place.order(buyer)
    proof_id = place.deliver(handed, "the poem")
    pause(place, True).ok()
    told = place.publish(buyer, draft).refused(409, "vendor_away")
    assert told["draft_kept"] is True and "paused" in told["error"]
    assert place.task(buyer, draft)["status"] == "draft"
    # What he has goes on to its end, and drafts are written and talked about.
    place.rule(buyer, proof_id).ok()
    place.rule(buyer, place.deliver(claimed), "reject").ok()
    place.withdraw(buyer, claimed).ok()
    place.publish(buyer, claimed).refused(409, "vendor_away")
    buyer.post(f"{place.path}/tasks/{place.draft(buyer)}/comments", {"body": "When are you back?"})
    pause(place, False).ok()
    for task_id in (draft, claimed):
        place.publish(buyer, task_id).ok()


@pytest.mark.rule("M-02")
@pytest.mark.rule("O-08")
def test_of_a_pause_and_an_order_at_once_the_order_is_sent_before_it_or_not(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    for _ in range(4):
        draft = place.draft(buyer)

        def act(number: int, draft: str = draft) -> Answer:
            return place.publish(buyer, draft) if number else pause(place, True)

        paused, sent = at_once(2, act)
        paused.ok()
        if sent.status != 200:
            sent.refused(409, "vendor_away")
        (status,) = db.rows("SELECT status FROM task WHERE id = ?", (draft,))[0]
        assert status == ("claimed" if sent.status == 200 else "draft")
        # Whatever has been sent was sent before the pause.
        of_order, of_pause = (
            db.scalar(f"SELECT max(seq) FROM event WHERE type = '{kind}'") or 0
            for kind in ("task.assigned", "mailbox.changed")
        )
        assert of_order < of_pause
        pause(place, False).ok()


# What a buyer does who has left the shop, by the state of his order: (method, path, body, status).
LEFT: list[tuple[str, str, str, Any, int]] = [
    ("draft", "GET", "", None, 200),
    ("draft", "GET", "comments", None, 200),
    ("draft", "POST", "comments", {"body": "Bye."}, 201),
    ("draft", "PATCH", "payload", {"payload": "two haiku"}, 200),
    ("draft", "PATCH", "comments-policy", {"policy": "public"}, 200),
    ("draft", "POST", "publish", None, 403),
    ("draft", "DELETE", "draft", None, 200),
    ("claimed", "GET", "", None, 200),
    ("claimed", "POST", "comments", {"body": "Bye."}, 201),
    ("claimed", "PATCH", "comments-policy", {"policy": "public"}, 200),
    ("claimed", "POST", "withdraw", None, 200),
    # Undone, it is his to read; to send it again he has to be a member.
    ("claimed", "GET", "", None, 200),
    ("claimed", "POST", "publish", None, 403),
]


@pytest.mark.rule("O-09")
@pytest.mark.parametrize("how", ["he leaves", "he is put out"])
def test_whoever_has_left_a_shop_keeps_his_orders_and_sends_no_other(
    world: World, how: str
) -> None:
    place = shop(world)
    buyer = place.buyer()
    ids = {"draft": place.draft(buyer), "claimed": place.order(buyer)}
    proof_id = place.deliver(place.order(buyer), "the poem")
    path = f"{place.path}/mailboxes/{buyer.mailbox['id']}"  # type: ignore[attr-defined]
    if how == "he leaves":
        buyer.call("DELETE", path).ok()
    else:
        place.vendor.patch(path, {"status": "inactive"})
    for state, method, below, body, status in LEFT:
        answer = buyer.call(method, f"{place.path}/tasks/{ids[state]}/{below}".rstrip("/"), body)
        assert answer.status == status, (state, method, below, answer.text)
    place.save(buyer).refused(403, "not_a_member")
    place.rule(buyer, proof_id).ok()
    assert buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]["private_note"] == "the poem"
    assert len(buyer.get("/orders")["orders"]) == 2
