"""What the two sides of an order are sent, received over HTTP and verified (W-01, W-07, W-08)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from engine import clock, proofs
from engine.db import db
from tests.contract.scene import all_hold
from tests.deliveries.webhook_receiver import Got, Receiver
from tests.shop import Shop, shop
from tests.world import Person, World, eventually

SECRET = "a key of my own, mit Ümläuten"
BUYER, TASKS, NEWS = "/buyer", "/vendor/orders", "/vendor/news"
DAY = 86_400


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    yield server
    server.close()


@dataclass
class Story:
    """Three orders of one buyer: A is approved, B rejected and then left to the clock, C undone."""

    place: Shop
    buyer: Person
    receiver: Receiver
    ids: dict[str, str]

    def sent(self, path: str, event: str) -> list[Got]:
        return [one for one in self.receiver.to(path) if json.loads(one.body)["event"] == event]

    def bodies(self, path: str, event: str) -> list[dict[str, Any]]:
        found = []
        for one in self.sent(path, event):
            body = json.loads(one.body, parse_float=Decimal)
            assert body.pop("sent_at").endswith("Z")
            found.append(body)
        return found


def tell(world: World, receiver: Receiver, list_price: str) -> Story:
    paid = list_price != "0"
    place = shop(world, list_price)
    urls = {"webhook": receiver.url(TASKS), "events_webhook_url": receiver.url(NEWS)}
    path = f"{place.path}/mailboxes/{place.mailbox_id}"
    secret = place.vendor.patch(path, urls)["webhook_secret"]
    buyer = place.buyer(dollars=20) if paid else place.buyer()
    more: dict[str, Any] = {"amount": list_price} if paid else {}
    hook = {"order_webhook_url": receiver.url(BUYER), "order_webhook_secret": SECRET}
    ids = {"gig": place.gig.id, "mailbox": place.mailbox_id, "secret": secret}
    for name in "ABC":
        ids[name] = place.order(buyer, **more, **hook)
    ids["A1"] = place.deliver(ids["A"], note="the licence key")
    place.rule(buyer, ids["A1"]).ok()
    ids["B1"] = place.deliver(ids["B"])
    place.rule(buyer, ids["B1"], "reject", rejection_tag="incomplete").ok()
    ids["B2"] = place.deliver(ids["B"])
    undone = place.withdraw(buyer, ids["C"]).ok()
    assert undone["success"] is True
    if paid:
        (rollup,) = buyer.post(f"{place.path}/rollups")["rollups"]
        ids["rollup"], ids["tx"] = rollup["id"], rollup["tx_hash"]
        ids["wallet"] = rollup["wallet_address"]
    clock.advance(2 * DAY + 60)
    eventually(lambda: proofs.time_out() or _is_approved(ids["B2"]))
    return Story(place, buyer, receiver, ids)


def _is_approved(proof_id: str) -> bool:
    return bool(db.scalar("SELECT status FROM proof WHERE id = ?", (proof_id,)) != "pending")


# Event, who receives it, and every field but `sent_at` of each copy, in the order of sending;
# names in angle brackets are the story's ids, and its prices.
EVENTS: list[tuple[str, str, list[dict[str, Any]]]] = [
    (
        "order.delivered",
        BUYER,
        [
            {
                "gig_title": "Haiku on demand",
                "task_id": f"<{task}>",
                "proof_id": f"<{proof}>",
                "price": "<price>",
                "deliverable_locked": locked,
                "resubmitted": again,
            }
            for task, proof, locked, again in (
                ("A", "A1", True, False),
                ("B", "B1", False, False),
                ("B", "B2", False, True),
            )
        ],
    ),
    (
        "order.auto_approved",
        BUYER,
        [{"task_id": "<B>", "proof_id": "<B2>", "price": "<price>", "reportable": True}],
    ),
    (
        "order.withdrawn",
        BUYER,
        [{"task_id": "<C>", "withdrawn_by": "participant", "withdrawn_at": "<at>"}],
    ),
    (
        "order.withdrawn",
        NEWS,
        [
            {
                "task_id": "<C>",
                "withdrawn_by": "participant",
                "withdrawn_at": "<at>",
                "mailbox_id": "<mailbox>",
            }
        ],
    ),
]
PAID: list[tuple[str, str, list[dict[str, Any]]]] = [
    (
        "order.paid_out",
        BUYER,
        [
            {
                "task_id": "<A>",
                "proof_id": "<A1>",
                "paid_to_vendor": "<price>",
                "tx_hash": "<tx>",
                "deliverable_unlocked": True,
            }
        ],
    ),
    (
        "payout.paid",
        NEWS,
        [
            {
                "mailbox_id": "<mailbox>",
                "rollup_id": "<rollup>",
                "gross_amount": Decimal("0.495"),
                "net_amount": Decimal("0.45"),
                "wallet_address": "<wallet>",
                "tx_hash": "<tx>",
                "proof_ids": ["<A1>"],
            }
        ],
    ),
]
# How many of the others, whose fields the tests of workers' webhooks have.
COUNTED = [
    ("task.assigned", TASKS, ["<A>", "<B>", "<C>"], "message_id"),
    ("proof.approved", NEWS, ["<A1>", "<B2>"], "proof_id"),
    ("proof.rejected", NEWS, ["<B1>"], "proof_id"),
]


def check(story: Story, price: Decimal, rows: list[tuple[str, str, list[dict[str, Any]]]]) -> None:
    told = {f"<{name}>": value for name, value in story.ids.items()}
    told |= {"<price>": price}  # type: ignore[dict-item]
    told["<at>"] = story.place.task(story.buyer, story.ids["C"])["order_withdrawn_at"]

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(one) for one in value]
        return told.get(value, value) if isinstance(value, str) else value

    def holds(row: tuple[str, str, list[dict[str, Any]]]) -> None:
        event, path, wanted = row
        eventually(lambda: len(story.sent(path, event)) >= len(wanted), what=f"{event} at {path}")
        common = {"event": event, "gig_id": story.place.gig.id}
        copies = [
            {**common, **{name: filled(value) for name, value in fields.items()}}
            for fields in wanted
        ]
        key = "proof_id" if "proof_id" in copies[0] else "task_id"
        if path == NEWS and event == "payout.paid":
            key = "rollup_id"
        found = sorted(story.bodies(path, event), key=lambda one: str(one[key]))
        assert found == sorted(copies, key=lambda one: str(one[key]))

    all_hold(rows, holds)
    for event, path, ids, field in COUNTED:
        wanted = sorted(filled(one) for one in ids)
        eventually(lambda path=path, event=event, ids=ids: len(story.sent(path, event)) >= len(ids))
        assert sorted(one[field] for one in story.bodies(path, event)) == wanted, event


def check_signed(story: Story) -> None:
    keys = {BUYER: SECRET.encode(), TASKS: story.ids["secret"], NEWS: story.ids["secret"]}
    for got in story.receiver.requests:
        Webhook(keys[got.path]).verify(got.body, got.headers)
        assert got.headers["x-muster-event"] == json.loads(got.body)["event"]
    (first, *_) = story.receiver.to(BUYER)
    with pytest.raises(WebhookVerificationError):
        Webhook(story.ids["secret"]).verify(first.body, first.headers)


@pytest.mark.rule("W-01")
@pytest.mark.rule("W-08")
def test_each_side_of_a_paid_order_is_sent_what_concerns_it(
    paying_world: World, receiver: Receiver
) -> None:
    story = tell(paying_world, receiver, "0.50")
    check(story, Decimal("0.45"), EVENTS + PAID)
    check_signed(story)
    expected = {event for event, path, _ in EVENTS + PAID if path == BUYER}
    assert {json.loads(one.body)["event"] for one in receiver.to(BUYER)} == expected


@pytest.mark.rule("W-01")
@pytest.mark.rule("W-08")
def test_a_free_shop_sends_the_same_but_never_that_somebody_was_paid(
    world: World, receiver: Receiver
) -> None:
    story = tell(world.start(), receiver, "0")
    check(story, Decimal(0), EVENTS)
    check_signed(story)
    told = [json.loads(one.body)["event"] for one in receiver.requests]
    assert "order.paid_out" not in told and "payout.paid" not in told


def everything_shown(world: World, place: Shop, *people: Person) -> str:
    """All that anybody reads of a shop, as one text."""
    gig, texts = place.path, []
    for person in people:
        for path in (
            f"{gig}",
            f"{gig}/events?limit=200",
            f"{gig}/drafts",
            "/deliveries",
            "/deliveries/endpoints",
            "/notifications",
            "/orders",
        ):
            texts.append(person.call("GET", path).text)
        for (task_id,) in db.rows("SELECT id FROM task"):
            texts.append(person.call("GET", f"{gig}/tasks/{task_id}").text)
        for (command_id,) in db.rows("SELECT id FROM command"):
            texts.append(person.call("GET", f"/commands/{command_id}").text)
    texts += [str(row) for row in db.rows("SELECT arguments, result, error FROM command")]
    texts += [str(row) for row in db.rows("SELECT data FROM event")]
    texts += [str(row) for row in db.rows("SELECT encrypted_answer FROM stored_answer")]
    texts += [str(row) for row in db.rows("SELECT order_webhook_secret FROM task")]
    texts += [str(row) for row in db.rows("SELECT body FROM delivery")]
    texts += [str(row) for row in db.rows("SELECT error, response_excerpt FROM attempt")]
    return "\n".join(texts)


@pytest.mark.rule("W-07")
def test_nothing_shows_an_orders_url_or_secret_again(
    world: World, receiver: Receiver, caplog: pytest.LogCaptureFixture, capfd: Any
) -> None:
    world.start()
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    url, secret = receiver.url("/very-hidden-place"), "very hidden words"
    hook = {"order_webhook_url": url, "order_webhook_secret": secret}
    task_id = place.draft(buyer)
    body, key = {"amount": 0, **hook}, {"idempotency-key": "publish once"}
    path = f"{place.path}/tasks/{task_id}/publish"
    answers = [buyer.call("POST", path, body, headers=key) for _ in range(2)]
    assert answers[1].headers["idempotency-replayed"] == "true"
    proof_id = place.deliver(task_id)
    receiver.wait_for(1, "/very-hidden-place")
    (endpoint,) = buyer.get("/deliveries/endpoints")["endpoints"]
    assert (endpoint["kind"], endpoint["url"]) == ("task.order", None)
    assert endpoint["owner_id"] == task_id
    again = buyer.call("POST", f"/deliveries/endpoints/{endpoint['id']}/enable")
    (delivery,) = eventually(lambda: _tried(buyer))
    assert delivery["endpoint_kind"] == "task.order"
    redone = buyer.call("POST", f"/deliveries/{delivery['id']}/redeliver")
    shown = everything_shown(world, place, buyer, other, place.vendor)
    shown += place.vendor.call("GET", f"{place.path}/proofs/{proof_id}").text
    shown += "".join(one.text for one in (*answers, again.ok() and again, redone))
    shown += caplog.text + "".join(capfd.readouterr())
    assert "very-hidden-place" not in shown and str(receiver.port) not in shown
    assert secret not in shown
    # Only its buyer is shown that there is one.
    assert place.vendor.get("/deliveries")["deliveries"] == []
    other.call("GET", f"/deliveries?endpoint={endpoint['id']}").ok()
    other.call("POST", f"/deliveries/endpoints/{endpoint['id']}/enable").refused(404)


def _tried(person: Person) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = person.get("/deliveries")["deliveries"]
    return rows if all(row["status"] == "delivered" for row in rows) else []


@pytest.mark.rule("W-07")
@pytest.mark.parametrize("secret", ["short", "whsec_YWJj", "🔑 " * 60, None])
def test_a_secret_is_any_text_and_none_signs_nothing(
    world: World, receiver: Receiver, secret: str | None
) -> None:
    world.start()
    place = shop(world)
    buyer = place.buyer()
    given = {} if secret is None else {"order_webhook_secret": secret}
    place.deliver(place.order(buyer, order_webhook_url=receiver.url(BUYER), **given))
    (got,) = receiver.wait_for(1, BUYER)
    signatures = [name for name in got.headers if name.endswith("-signature")]
    assert got.headers["webhook-id"] == got.headers["x-muster-delivery"]
    if secret is None:
        assert signatures == []
        return
    assert len(signatures) == 2
    key = secret if secret.startswith("whsec_") else secret.encode()
    Webhook(key).verify(got.body, got.headers)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"order_webhook_url": "http://10.0.0.1/x"}, "order_webhook_url"),
    ({"order_webhook_url": "ftp://example.com/x"}, "order_webhook_url"),
    ({"order_webhook_url": "https://user:word@example.com/x"}, "order_webhook_url"),
    ({"order_webhook_url": 5}, "order_webhook_url"),
    ({"order_webhook_secret": "alone"}, "order_webhook_secret"),
    (
        {"order_webhook_url": "https://example.com/x", "order_webhook_secret": "whsec_§"},
        "order_webhook_secret",
    ),
    (
        {"order_webhook_url": "https://example.com/x", "order_webhook_secret": ""},
        "order_webhook_secret",
    ),
]


@pytest.mark.rule("W-04")
@pytest.mark.rule("W-07")
def test_a_wrong_url_or_secret_is_named_and_nothing_is_sent(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)

    def refused(row: tuple[dict[str, Any], str]) -> None:
        body, field = row
        assert field in place.publish(buyer, task_id, **body).refused(400)["errors"]

    all_hold(WRONG, refused)
    assert place.task(buyer, task_id)["status"] == "draft"
    assert buyer.get("/deliveries/endpoints")["endpoints"] == []


@pytest.mark.rule("W-07")
def test_an_order_that_is_sent_again_keeps_its_webhook_unless_another_is_named(
    world: World, receiver: Receiver
) -> None:
    world.start()
    place = shop(world)
    buyer = place.buyer()
    hook = {"order_webhook_url": receiver.url("/first"), "order_webhook_secret": SECRET}
    task_id = place.order(buyer, **hook)
    place.withdraw(buyer, task_id).ok()
    place.publish(buyer, task_id).ok()
    proof_id = place.deliver(task_id)
    for got in receiver.wait_for(2, "/first"):
        Webhook(SECRET.encode()).verify(got.body, got.headers)
    place.rule(buyer, proof_id, "reject").ok()
    place.withdraw(buyer, task_id).ok()
    receiver.wait_for(3, "/first")
    place.publish(buyer, task_id, order_webhook_url=receiver.url("/second")).ok()
    place.deliver(task_id)
    (got,) = receiver.wait_for(1, "/second")
    assert "webhook-signature" not in got.headers and len(receiver.to("/first")) == 3


@pytest.mark.rule("W-09")
def test_a_buyer_hears_that_his_webhook_was_disabled_and_the_vendor_does_not(
    world: World, receiver: Receiver
) -> None:
    from tests.deliveries.webhook_receiver import answer

    world.start()
    place = shop(world)
    buyer = place.buyer()
    receiver.answers["/gone"] = answer(410)
    place.deliver(place.order(buyer, order_webhook_url=receiver.url("/gone")))
    eventually(lambda: "endpoint.disabled" in kinds(buyer))
    assert "endpoint.disabled" not in kinds(place.vendor)
    events = buyer.get(f"{place.path}/events?limit=200")["events"]
    assert "endpoint.disabled" in [one["type"] for one in events]


def kinds(person: Person) -> list[str]:
    return [one["kind"] for one in person.get("/notifications")["notifications"]]
