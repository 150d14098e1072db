"""What a shop refuses, row by row of the table that its owner is given (O-03)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

from engine.operations import DEFAULT
from engine.rules import mail_addresses
from plugins.inbound_order import REFUSES
from tests.contract.scene import all_hold, everything
from tests.shop import Shop, shop
from tests.world import Answer, Person, World

MODE = "inbound_order"
NOBODYS = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"


@dataclass
class Orders:
    """A shop with an order in each state that matters, and its parties."""

    place: Shop
    buyer: Person
    draft: str
    claimed: str
    delivered: str
    proof: str

    @classmethod
    def of(cls, place: Shop) -> Orders:
        buyer = place.buyer()
        draft, claimed, delivered = place.draft(buyer), place.order(buyer), place.order(buyer)
        return cls(place, buyer, draft, claimed, delivered, place.deliver(delivered))

    def call(self, person: Person, method: str, path: str, body: Any = None) -> Answer:
        return person.call(method, f"{self.place.path}/{path}".rstrip("/"), body)


# Operation, method, path and body of each row that the vendor is refused. `*` is any task, one that
# exists or not: what the mode never does is told before anything else.
VENDORS: list[tuple[str, str, str, Any]] = [
    ("gig.deposit", "POST", "deposit", {"amount": "1", "wallet_alias_id": "WALLET_none"}),
    ("gig.deposit", "POST", "deposit", {"amount": "0.001", "wallet_alias_id": "WALLET_none"}),
    ("gig.cancel", "POST", "cancel", None),
    ("task.delete", "DELETE", "tasks/*", None),
    ("task.delete", "DELETE", "queue/*", None),
    ("queue.clear", "DELETE", "queue/all", None),
    ("inbound.clear", "DELETE", "inbound/all", None),
    ("proof.clear", "DELETE", "proofs/all", None),
    ("task.recycle", "POST", "tasks/*/recycle", None),
    ("task.assign", "POST", "tasks/*/assign", {"assign_to": "MBX_none"}),
    ("task.extend", "POST", "tasks/*/extend", None),
    ("task.extend", "POST", "tasks/*/extend", {"seconds": 60}),
    ("task.availability", "PATCH", "tasks/*/availability", {"availability": "view_only"}),
    ("task.availability", "PATCH", "tasks/*/availability", {"availability": "open"}),
    ("task.priority", "PATCH", "tasks/*/priority", {"priority": 5}),
    ("task.priority", "PATCH", "queue/priorities", {"updates": [{"id": NOBODYS, "priority": 5}]}),
    ("queue.violation", "POST", "queue/*/violation", {"violation": "Spam."}),
    ("queue.decline", "POST", "queue/*/decline", None),
    ("queue.poll", "POST", "queue/poll", {}),
    ("queue.claim", "POST", "queue/*/claim", {}),
    ("task.price", "PATCH", "tasks/*/price", {"price": "0.50"}),
    ("task.price", "PATCH", "tasks/*/price", {"price": "tbd"}),
    ("draft.edit", "PATCH", "tasks/*/draft", {"subject": "Mine now"}),
    ("draft.edit", "PATCH", "tasks/*/draft", {"price": 2}),
    ("proof.withdraw", "POST", "proofs/PROOF_none/withdraw", None),
]


@pytest.mark.rule("O-03")
@pytest.mark.parametrize(("operation", "method", "path", "body"), VENDORS)
def test_what_a_shop_never_does_is_refused_whatever_is_named(
    world: World, operation: str, method: str, path: str, body: Any
) -> None:
    orders = Orders.of(shop(world))
    before = everything()
    named = [NOBODYS, orders.draft, orders.claimed, orders.delivered] if "*" in path else [""]
    for task_id in named:
        for person in (orders.place.vendor, orders.buyer):
            answer = orders.call(person, method, path.replace("*", task_id), body)
            told = answer.refused(409, MODE)
            assert told["error"] == REFUSES[operation] and told["error"].endswith(".")
    assert everything() == before


@pytest.mark.rule("O-03")
@pytest.mark.parametrize(("operation", "method", "path"), sorted({row[:3] for row in VENDORS}))
def test_what_a_shop_never_does_is_told_before_what_is_wrong_with_the_body(
    world: World, operation: str, method: str, path: str
) -> None:
    place = shop(world)
    for body in ({"no_such_field": 1}, {"updates": "all"}, {"amount": -1, "price": []}):
        named = f"{place.path}/{path.replace('*', NOBODYS)}"
        told = place.vendor.call(method, named, body).refused(409, MODE)
        assert told["error"] == REFUSES[operation]


@pytest.mark.rule("O-03")
def test_a_delivery_is_not_taken_back(world: World) -> None:
    orders = Orders.of(shop(world))
    told = orders.call(orders.place.vendor, "POST", f"proofs/{orders.proof}/withdraw")
    assert told.refused(409, MODE)["error"] == REFUSES["proof.withdraw"]
    assert orders.place.task(orders.buyer, orders.delivered)["status"] == "submitted"


@pytest.mark.rule("O-03")
def test_prices_of_many_orders_are_left_out_one_by_one(world: World) -> None:
    orders = Orders.of(shop(world))
    ids = [orders.draft, orders.claimed, orders.delivered]
    updates = [{"id": one, "price": "0.50"} for one in [*ids, NOBODYS]]
    before = everything()
    told = orders.call(orders.place.vendor, "PATCH", "queue/prices", {"updates": updates}).ok()
    assert told["updated"] == 0 and told["applied"] == []
    assert {row["id"]: row["reason"] for row in told["skipped"]} == {
        **dict.fromkeys(ids, MODE),
        NOBODYS: "not_found",
    }
    orders.call(orders.buyer, "PATCH", "queue/prices", {"updates": updates}).refused(403)
    assert everything() == before


@pytest.mark.rule("O-03")
def test_the_door_takes_drafts_alone(world: World) -> None:
    """An order is placed by its buyer, in the call that funds it."""
    place = shop(world)
    buyer = place.buyer()
    before = everything()
    path = f"/inbound/webhook/{place.gig.id}?token={place.gig.token}"

    def refused(query: str) -> None:
        for person in (buyer, place.vendor):
            told = person.call("POST", f"{path}{query}", raw=b"one haiku")
            assert told.refused(409, MODE)["error"].endswith(".")

    all_hold(
        [
            "",
            "&draft=false",
            "&draft=true&price=0.50",
            "&draft=true&price=tbd",
            f"&draft=true&assign_to={place.mailbox_id}",
            "&price=1",
        ],
        refused,
    )
    assert everything() == before


# Whose the two halves of a brief are: (who, what state of the order, status, reason).
BRIEFS = [
    ("buyer", "draft", 200, ""),
    ("vendor", "draft", 403, ""),
    ("buyer", "claimed", 409, MODE),
    ("vendor", "claimed", 409, MODE),
    ("buyer", "delivered", 409, MODE),
    ("vendor", "delivered", 409, MODE),
]


@pytest.mark.rule("O-03")
@pytest.mark.rule("O-06")
@pytest.mark.parametrize(("who", "state", "status", "reason"), BRIEFS)
def test_a_brief_is_its_buyers_until_it_is_sent_and_then_nobodys(
    world: World, who: str, state: str, status: int, reason: str
) -> None:
    orders = Orders.of(shop(world))
    person = orders.buyer if who == "buyer" else orders.place.vendor
    task_id = getattr(orders, state)
    for part, body in (
        ("payload", {"payload": "two haiku"}),
        ("private-details", {"private_details": "for my wife"}),
    ):
        answer = orders.call(person, "PATCH", f"tasks/{task_id}/{part}", body)
        if status == 200:
            answer.ok()
        else:
            answer.refused(status, reason or None)


@pytest.mark.rule("O-03")
@pytest.mark.rule("R-07")
def test_the_vendors_share_link_does_what_he_may_do_and_no_more(world: World) -> None:
    orders = Orders.of(shop(world))
    (mailbox,) = orders.place.vendor.get("/mailboxes/mine")["mailboxes"]
    link = {"share_token": mailbox["share_token"], "task": orders.claimed}
    before = everything()["task"]
    for path, body in (("decline", link), ("violation", {**link, "violation": "Spam."})):
        told = world.call("POST", f"/public/task/{path}", body).refused(409, MODE)
        assert told["error"] == REFUSES[f"queue.{path}"]
    assert everything()["task"] == before


@pytest.mark.rule("O-06")
def test_only_a_shop_that_takes_money_refuses_to_be_deleted(world: World) -> None:
    place = shop(world)
    place.vendor.call("DELETE", place.path).ok()


@pytest.mark.rule("O-03")
@pytest.mark.rule("T-03")
def test_an_order_does_not_come_by_mail(backend: tuple[str, str]) -> None:
    """Nobody reads a refusal of a letter, so it is ignored."""
    world = World(*backend, INBOUND_EMAIL_DOMAIN="tasks.example.com")
    place = shop(world)
    before = everything()
    to = quote(mail_addresses.of(place.gig.id, place.gig.token, "tasks.example.com"))
    told = world.call("POST", f"/inbound/email?to={to}", raw=b"Subject: An order\n\none haiku").ok()
    assert told == {"status": "ignored", "reason": MODE}
    assert everything() == before
    world.stop()


@pytest.mark.rule("O-03")
def test_every_refusal_of_the_mode_is_in_these_tables() -> None:
    # Closing is told of in test_closing.py, and there is no bulk file that names buyers.
    apart = {"gig.close", "task.bulk", "task.send_by_mail"}
    asked = {operation for operation, *_ in VENDORS} | apart
    assert asked == set(REFUSES) and set(REFUSES) <= set(DEFAULT)


@pytest.mark.rule("O-03")
def test_tasks_do_not_come_in_bulk(world: World) -> None:
    orders = Orders.of(shop(world))
    path = f"{orders.place.path}/tasks/bulk"
    for query in ("", "?dry_run=true"):
        told = orders.place.vendor.call(
            "POST",
            path + query,
            raw=b'{"payload": "one haiku"}\n',
            headers={"content-type": "application/x-ndjson"},
        )
        assert told.refused(409, MODE)["error"] == REFUSES["task.bulk"]


# The same routes in a gig that takes no orders.
@pytest.mark.rule("A-02")
def test_elsewhere_these_routes_delete_what_waits_and_no_proof(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    first, *_ = tasks = [world.task(gig) for _ in range(4)]
    for path in ("inbound/all", "proofs/all", f"queue/{first}"):
        worker.call("DELETE", f"{gig.path}/{path}").refused(403)
    told = gig.owner.call("DELETE", f"{gig.path}/proofs/all").refused(409, "proofs_are_kept")
    assert "Review" in told["error"]
    gig.owner.call("DELETE", f"{gig.path}/queue/{first}").ok()
    gig.owner.call("DELETE", f"{gig.path}/queue/{first}").refused(404)
    worker.post(f"{gig.path}/queue/poll", {"count": 1})
    told = gig.owner.call("DELETE", f"{gig.path}/inbound/all").ok()
    assert told == {"success": True, "deleted": 2, "more": False}
    left = {gig.owner.get(f"{gig.path}/tasks/{one}")["task"]["status"] for one in tasks[1:2]}
    assert left == {"claimed"}
    own = world.gig(distribution="inbound_proof")
    own.owner.call("DELETE", f"{own.path}/inbound/all").refused(409, "inbound_proof")
    body = {"updates": [{"id": first, "price": 1}]}
    own.owner.call("PATCH", f"{own.path}/queue/prices", body).refused(409, "inbound_proof")
