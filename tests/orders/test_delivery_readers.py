"""What a delivery shows its two sides of the order that it is for, wherever one is answered."""

from __future__ import annotations

import pytest

from engine import clock, proofs
from tests.contract.scene import all_hold
from tests.orders.test_readers import BUYERS, FIELDS, NOBODYS, NONE, ORDERS, SENT_ONCE, Scene, is_
from tests.shop import shop
from tests.world import World

# What a delivery shows of its order, wherever one is answered.
BOUGHT = (
    "funded_total",
    "funded_minimum",
    "tip",
    "price",
    "fee_bps",
    "deposit_id",
    "client_email",
    "accepted_at",
    "order_free",
    "order_withdrawn_at",
    "order_withdrawn_by",
    "order_withdrawn_reason",
)


@pytest.mark.rule("O-08")
@pytest.mark.rule("R-06")
def test_a_delivery_shows_its_two_sides_what_was_bought_and_nobody_else(world: World) -> None:
    scene = Scene.of(world, deliver=True)
    place, buyer = scene.place, scene.people["buyer"]

    def holds(row: tuple[str, str]) -> None:
        who, name = row
        person, proof_id = scene.people[who], scene.proofs[name]
        path = f"{place.path}/proofs/{proof_id}"
        listed = person.get(f"{place.path}/proofs?task={scene.ids[name]}")["proofs"]
        shown = [person.get(path)["proof"], *listed]
        if who == "vendor":
            found = person.get(f"{place.path}/dashboard")["proofs"]
            shown += [one for one in found if one["id"] == proof_id]
        assert len(shown) == (3 if who == "vendor" else 2)
        for view in shown:
            for field in BOUGHT:
                is_(view, field, FIELDS[field][ORDERS.index(name)])
            is_(view, "is_my_order", who == "buyer")
            is_(view, "client_user_id", buyer.id if who == "buyer" else NONE)
            assert not {*NOBODYS, "private_details", "public_token"} & set(view)
        for other in ("other buyer", "member"):
            scene.people[other].call("GET", path).refused(404, "not_found")

    all_hold([(who, name) for who in ("buyer", "vendor") for name in SENT_ONCE], holds)


@pytest.mark.rule("O-08")
def test_what_answers_a_delivery_and_its_dispute_shows_what_was_bought(world: World) -> None:
    place = shop(world, review_timeout=3600)
    buyer = place.buyer()
    task_id = place.order(buyer)
    path = f"{place.path}/proofs"
    body = {"task_identifier": task_id, "proofs": ["a preview"], "draft": True}
    made = place.vendor.post(path, body)["proof"]
    answers = [
        made,
        place.vendor.patch(f"{path}/{made['id']}/draft", {"private_note": "key"})["proof"],
    ]
    answers.append(place.vendor.post(f"{path}/{made['id']}/submit")["proof"])
    clock.advance(3600)
    proofs.time_out()
    answers.append(buyer.post(f"{path}/{made['id']}/report", {})["proof"])
    for view in answers:
        assert (view["client_email"], view["funded_total"], view["order_free"]) == (
            buyer.email,
            0,
            True,
        )
    assert [view["is_my_order"] for view in answers] == [False, False, False, True]
    gig = world.gig()
    worker = world.worker(gig)
    own = worker.post(f"{gig.path}/proofs", {"task_identifier": world.task(gig)})["proof"]
    for view in (own, gig.owner.get(f"{gig.path}/proofs/{own['id']}")["proof"]):
        assert not {*BOUGHT, *BUYERS, "is_my_order"} & set(view)
