"""What a paid order says is what was bought: the figures, and nobody rewrites it."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.models.task import Task
from tests.shop import Shop, shop
from tests.world import Person, World, at_once


def _edits(place: Shop, task_id: str) -> tuple[tuple[str, str, Any], ...]:
    tasks = f"{place.path}/tasks/{task_id}"
    return (
        ("PATCH", f"{tasks}/payload", {"payload": "late"}),
        ("PATCH", f"{tasks}/private-details", {"private_details": "late"}),
        ("DELETE", f"{tasks}/draft", None),
    )


@pytest.mark.rule("O-06")
def test_once_it_is_paid_nobody_changes_what_an_order_says(paying_world: World) -> None:
    place = shop(paying_world, "0.50")
    buyer, member = place.buyer(dollars=10), place.buyer()
    task_id = place.draft(buyer)
    place.publish(buyer, task_id, amount="0.75").ok()
    for person in (buyer, place.vendor):
        view = place.task(person, task_id)
        paid = {name: str(view[name]) for name in ("funded_total", "funded_minimum", "tip")}
        assert paid == {"funded_total": "0.75", "funded_minimum": "0.5", "tip": "0.25"}
        # 0.75 less the fee of a tenth upon it, in whole cents.
        assert (str(view["price"]), view["fee_bps"]) == ("0.68", 1000)
        assert view["escrow_funded"] is True and view["deposit_id"].startswith("0x")
        assert view["status"] == "claimed" and view["accepted_at"] is not None
    seen = place.task(member, task_id)
    assert not {"price", "funded_total", "tip", "deposit_id", "escrow_amount"} & set(seen)
    for state in ("claimed", "draft"):
        # Paid for, and handed over or not.
        db.write(lambda s=state: Task.update(status=s).where(Task.id == task_id).execute())
        for method, path, body in _edits(place, task_id):
            for person in (buyer, place.vendor):
                person.call(method, path, body).refused(409, "inbound_order")
        place.save(buyer, "late", draft_id=task_id).refused(409, "inbound_order")
    assert place.task(buyer, task_id)["payload"] == "one haiku"


@pytest.mark.rule("O-06")
def test_what_is_rewritten_as_it_is_paid_for_is_bought_so_or_refused(paying_world: World) -> None:
    place = shop(paying_world, "0.50")
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer, "early")
    (rewrite, describe, delete) = _edits(place, task_id)

    def race(number: int) -> Any:
        if number == 0:
            return place.publish(buyer, task_id, amount="0.50")
        method, path, body = (rewrite, describe, rewrite)[number - 1]
        return buyer.call(method, path, body)

    sent, *edits = at_once(4, race)
    assert sent.status == 200, sent.text
    for one in edits:
        if one.status != 200:
            assert one.refused(409)["reason"] in ("in_progress", "inbound_order")
    told = place.task(place.vendor, task_id)
    rewritten = any(one.status == 200 for one in (edits[0], edits[2]))
    assert told["payload"] == ("late" if rewritten else "early")
    assert told["private_details"] == ("late" if edits[1].status == 200 else None)
    _refused(buyer, delete)


def _refused(person: Person, call: tuple[str, str, Any]) -> None:
    method, path, body = call
    person.call(method, path, body).refused(409, "inbound_order")


@pytest.mark.rule("O-06")
def test_a_draft_that_a_deposit_was_tried_for_is_kept_and_can_be_changed(
    paying_world: World,
) -> None:
    place = shop(paying_world, "0.50")
    buyer = place.buyer(dollars=1)
    task_id = place.draft(buyer)
    refused = place.publish(buyer, task_id, amount="5.00").refused(402, "insufficient_funds")
    assert refused["draft_kept"] is True
    rewrite, describe, delete = _edits(place, task_id)
    for method, path, body in (rewrite, describe):
        buyer.call(method, path, body).ok()
    place.publish(buyer, task_id, amount="0.50").ok()
    place.withdraw(buyer, task_id).ok()
    assert place.task(buyer, task_id)["status"] == "withdrawn"
    _refused(buyer, delete)
    for person in (buyer, place.vendor):
        (shown,) = person.get(f"{place.path}/drafts")["drafts"]
        assert (shown["id"], shown["status"]) == (task_id, "withdrawn")
        assert shown["order_withdrawn_at"] is not None and str(shown["funded_total"]) == "0.5"
        assert shown["price"] is None
    told = buyer.patch(f"{place.path}/tasks/{task_id}/payload", {"payload": "once more"})
    assert told["status"] == "withdrawn"
    place.publish(buyer, task_id, amount="0.50").ok()
    view = place.task(place.vendor, task_id)
    assert view["payload"] == "once more" and "order_withdrawn_at" not in view
