"""What the sides of an order are told inside Muster: notifications, events, reputation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from engine import audit, clock, proofs
from engine.db import db
from tests.orders.undoing import address
from tests.shop import Shop, shop
from tests.world import Person, World, eventually

DAY = 86_400


@pytest.fixture
def place(paying_world: World) -> Iterator[Shop]:
    yield shop(paying_world, "0.50")
    assert audit.run().faults == []


def heard(person: Person) -> Counter[str]:
    """The kinds of what he was told, but for who joined."""
    rows = person.get("/notifications?limit=200")["notifications"]
    return Counter(row["kind"] for row in rows if row["kind"] != "mailbox.joined")


def events(place: Shop, person: Person) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = person.get(f"{place.path}/events?limit=200")["events"]
    return rows


def reputation(place: Shop, address: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = place.world.call("GET", f"/reputation/{address}/events").ok()[
        "events"
    ]
    return rows


@pytest.mark.rule("T-09")
@pytest.mark.rule("H-15")
@pytest.mark.rule("R-09")
def test_each_side_hears_what_the_other_did_and_nobody_else_hears_anything(place: Shop) -> None:
    buyer, other = place.buyer(dollars=20), place.buyer(dollars=20)
    member = place.buyer()
    told: dict[str, tuple[Counter[str], Counter[str]]] = {}
    before = {person: heard(person) for person in (buyer, place.vendor)}

    def note(step: str) -> None:
        now = {person: heard(person) for person in before}
        told[step] = (now[buyer] - before[buyer], now[place.vendor] - before[place.vendor])
        before.update(now)

    paid = place.order(buyer, amount="0.50")
    note("sent")
    first = place.deliver(paid, note="the key")
    note("delivered")
    place.rule(buyer, first, "reject", rejection_tag="incomplete").ok()
    note("rejected")
    second = place.deliver(paid, note="the key")
    note("delivered again")
    place.rule(buyer, second).ok()
    note("approved")
    buyer.post(f"{place.path}/rollups")
    note("settled")
    timed = place.order(buyer, amount="0.50")
    note("sent another")
    third = place.deliver(timed)
    clock.advance(2 * DAY + 60)
    eventually(lambda: proofs.time_out() == 0)
    note("timed out")
    buyer.post(f"{place.path}/proofs/{third}/report", {"reason": "never looked"})
    note("reported")
    place.withdraw(buyer, timed).ok()
    note("undone by the buyer")
    declined = place.order(buyer, amount="0.75")
    note("sent a third")
    place.withdraw(place.vendor, declined).ok()
    note("undone by the vendor")
    assert told == {
        "sent": (Counter(), Counter({"task.assigned": 1})),
        "delivered": (Counter({"order.delivered": 1}), Counter()),
        "rejected": (Counter(), Counter({"proof.rejected": 1})),
        "delivered again": (Counter({"order.delivered": 1}), Counter()),
        "approved": (Counter(), Counter({"proof.approved": 1})),
        "settled": (Counter({"order.paid_out": 1}), Counter({"payout.paid": 1})),
        "sent another": (Counter(), Counter({"task.assigned": 1})),
        "timed out": (
            Counter({"order.delivered": 1, "order.auto_approved": 1}),
            Counter({"proof.approved": 1}),
        ),
        "reported": (Counter(), Counter({"proof.reported": 1})),
        "undone by the buyer": (Counter(), Counter({"order.withdrawn": 1})),
        "sent a third": (Counter(), Counter({"task.assigned": 1})),
        "undone by the vendor": (Counter({"order.withdrawn": 1}), Counter()),
    }
    assert heard(other) == heard(member) == Counter()
    the_events(place, buyer, other, member, {paid, timed, declined, first, second, third})
    the_reputation(place, buyer, other)


def the_events(place: Shop, buyer: Person, other: Person, member: Person, ids: set[str]) -> None:
    mine = events(place, buyer)
    kinds = Counter(one["type"] for one in mine)
    for kind, count in {
        "task.submitted": 3,
        "task.assigned": 3,
        "proof.submitted": 3,
        "proof.approved": 2,
        "proof.rejected": 1,
        "proof.reported": 1,
        "rollup.created": 1,
        "payout.paid": 1,
        "escrow.opened": 3,
        "order.delivered": 3,
        "order.auto_approved": 1,
        "order.paid_out": 1,
        "order.withdrawn": 2,
    }.items():
        assert kinds[kind] == count, kind
    seen = [one["seq"] for one in mine]
    assert seen == sorted(seen)
    # What is no order of his is none of his events.
    hers = place.order(other, amount="0.50")
    assert hers not in str(events(place, buyer)) and hers in str(events(place, other))
    for stranger in (other, member):
        shown = str(events(place, stranger))
        assert not [one for one in ids if one in shown]
    everything = [one["seq"] for one in events(place, place.vendor)]
    assert set(seen) < set(everything)
    # His rights in his orders outlast his place in the shop.
    (mailbox,) = buyer.get("/mailboxes/mine")["mailboxes"]
    buyer.call("DELETE", f"{place.path}/mailboxes/{mailbox['id']}").ok()
    assert len(events(place, buyer)) >= len(mine)


def the_reputation(place: Shop, buyer: Person, other: Person) -> None:
    rows = [
        {name: row[name] for name in ("type", "role", "gig_id", "withdrawn_by", "amount")}
        for row in reputation(place, address(buyer))
    ]
    common = {"type": "order_withdrawn", "role": "client", "gig_id": place.gig.id, "amount": None}
    assert rows == [
        {**common, "withdrawn_by": "vendor"},
        {**common, "withdrawn_by": "participant"},
    ]
    assert reputation(place, address(other)) == []
    (mine,) = place.vendor.get("/mailboxes/mine")["mailboxes"]
    of_vendor = Counter(row["type"] for row in reputation(place, mine["wallet_address"]))
    assert of_vendor == Counter(
        {"proof.approved": 2, "proof.rejected": 1, "proof.reported": 1, "payout.paid": 1}
    )


@pytest.mark.rule("R-09")
def test_cancelling_a_free_order_is_told_but_leaves_no_reputation(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    place.withdraw(place.vendor, place.order(buyer)).ok()
    place.withdraw(buyer, place.order(buyer)).ok()
    assert heard(buyer)["order.withdrawn"] == heard(place.vendor)["order.withdrawn"] == 1
    kinds = [one["type"] for one in events(place, buyer)]
    assert kinds.count("order.withdrawn") == 2
    assert db.scalar("SELECT count(*) FROM reputation_event") == 0


@pytest.mark.rule("H-15")
def test_neither_side_is_told_the_account_of_the_other(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.order(buyer)
    place.rule(buyer, place.deliver(task_id)).ok()
    for person, other, side in (
        (buyer, place.vendor, "vendor"),
        (place.vendor, buyer, "participant"),
    ):
        answer = person.call("GET", f"{place.path}/events").ok()
        actors = {one["actor"] for one in answer["events"]}
        assert {person.id, side} <= actors and other.id not in str(answer)
