"""Who is shown what of an order: a table of the fields, and every place that shows tasks."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal as D
from typing import Any

import pytest

from engine.db import db
from engine.models.task import Task
from tests.contract.scene import all_hold
from tests.shop import Shop, shop
from tests.world import Person, World

SECRET, HOOK = "the door code is 1234", "a-key-i-chose"
READERS = ("buyer", "vendor", "other buyer", "member", "stranger")
NONE = "no key"
# An amount, an id, a time: whatever it is, it is there and not null.
SOME = "some"

PAID = {
    "deposit_id": "0xabc",
    "escrow_units": 3_300_000,
    "escrow_fee_bps": 1000,
    "escrowed_at": 1_700_000_000_000,
    "price_units": 3_000_000,
    "funded_minimum_units": 500_000,
}
# What it was before it was undone.
UNDONE = {**PAID, "escrowed_at": None}

# Field → what it is in each of these orders, for its two sides.
#                    draft   paid    free   undone
FIELDS: dict[str, tuple[Any, Any, Any, Any]] = {
    "funded_total": (None, D("3.3"), 0, D("3.3")),
    "funded_minimum": (None, D("0.5"), 0, D("0.5")),
    "tip": (None, D("2.8"), 0, D("2.8")),
    "price": (None, 3, 0, None),
    "fee_bps": (None, 1000, None, 1000),
    "deposit_id": (None, "0xabc", None, "0xabc"),
    "client_email": (SOME, SOME, SOME, SOME),
    "accepted_at": (None, SOME, SOME, SOME),
    "claimed_at": (None, SOME, SOME, SOME),
    "escrow_funded": (False, True, False, False),
    "escrow_amount": (None, D("3.3"), None, D("3.3")),
    "escrow_fee_bps": (None, 1000, None, 1000),
    "escrowed_at": (None, SOME, None, None),
    "private_details": (SECRET, SECRET, SECRET, SECRET),
    "external_id": (SOME, SOME, SOME, SOME),
    "public_link": (True, True, True, True),
    "order_free": (NONE, NONE, True, NONE),
    "order_withdrawn_at": (NONE, NONE, NONE, SOME),
    "order_withdrawn_by": (NONE, NONE, NONE, "vendor"),
    "order_withdrawn_reason": (NONE, NONE, NONE, None),
}
# And for its buyer alone.
BUYERS: dict[str, tuple[Any, Any, Any, Any]] = {
    "client_user_id": (SOME, SOME, SOME, SOME),
    "public_token": (SOME, SOME, SOME, SOME),
}
# And for nobody.
NOBODYS = ("order_webhook_url", "order_webhook_secret", "client_id", "fingerprint")
ORDERS = ("draft", "paid", "free", "undone")
SENT = ("paid", "free")
SENT_ONCE = (*SENT, "undone")


@dataclass
class Scene:
    place: Shop
    people: dict[str, Person]
    ids: dict[str, str]
    proofs: dict[str, str]

    @classmethod
    def of(cls, world: World, *, deliver: bool = False) -> Scene:
        place = shop(world)
        buyer = place.buyer()
        people = {
            "buyer": buyer,
            "vendor": place.vendor,
            "other buyer": place.buyer(),
            "member": place.buyer(),
            "stranger": world.person("stranger"),
        }
        place.order(people["other buyer"], "of the other")
        ids, handed = {}, {}
        for name in ORDERS:
            task_id = place.draft(buyer, name, external_id=name, subject=f"Order {name}")
            path = f"{place.path}/tasks/{task_id}"
            buyer.patch(f"{path}/private-details", {"private_details": SECRET})
            buyer.patch(f"{path}/comments-policy", {"policy": "public"})
            if name != "draft":
                hook = {"order_webhook_url": "http://127.0.0.1:9/", "order_webhook_secret": HOOK}
                place.publish(buyer, task_id, **hook).ok()
                if deliver:
                    handed[name] = place.deliver(task_id)
            ids[name] = task_id
        place.withdraw(place.vendor, ids["undone"]).ok()
        for name, columns in (("paid", PAID), ("undone", UNDONE)):
            sets = {**columns, "order_free": False}
            db.write(lambda i=ids[name], s=sets: Task.update(**s).where(Task.id == i).execute())
        return cls(place, people, ids, handed)

    def shown(self, who: str, name: str) -> Any:
        """The order as somebody reads it; None where there is none for him."""
        answer = self.people[who].call("GET", f"{self.place.path}/tasks/{self.ids[name]}")
        if answer.status != 200:
            answer.refused(403 if who == "stranger" else 404)
            return None
        assert HOOK not in answer.text
        assert not set(NOBODYS) & set(answer.json["task"])
        return answer.json["task"]


def is_(view: dict[str, Any], field: str, wanted: Any) -> None:
    told = view.get(field, NONE)
    if wanted == SOME:
        assert told not in (None, NONE), f"{field}: {told}"
    else:
        assert (type(told) is bool) == (type(wanted) is bool), f"{field}: {told}"
        assert told == wanted, f"{field}: {told}"


@pytest.mark.rule("O-08")
def test_what_each_field_of_an_order_is_to_each_reader(world: World) -> None:
    scene = Scene.of(world)

    def holds(row: tuple[str, int]) -> None:
        who, number = row
        name = ORDERS[number]
        view = scene.shown(who, name)
        party = who in ("buyer", "vendor")
        member = who in ("other buyer", "member") and name in SENT
        assert (view is not None) == (party or member)
        if view is None:
            return
        for field, values in FIELDS.items():
            is_(view, field, values[number] if party else NONE)
        for field, values in BUYERS.items():
            is_(view, field, values[number] if who == "buyer" else NONE)
        is_(view, "is_my_order", who == "buyer" if party else NONE)
        assert view["payload"] == name
        assert "price_source" not in view
        assert who == "vendor" or "mailbox_id" not in view

    all_hold([(who, number) for who in READERS for number in range(len(ORDERS))], holds)


# Everything that lists or shows tasks; `{id}` is the order's.
PLACES = (
    "/gigs/{gig}/drafts",
    "/gigs/{gig}/queue",
    "/gigs/{gig}/reserved",
    "/gigs/{gig}/dashboard",
    "/gigs/{gig}/export.csv?what=tasks",
    "/gigs/{gig}/export.jsonl?what=tasks",
    "/gigs/{gig}/events",
    "/gigs/{gig}/tasks/{id}",
    "/gigs/{gig}/tasks/{id}/comments",
    "/gigs/{gig}/proofs",
    "/mailboxes/mine",
    "/mailboxes/{own}/inbound",
    "/mailboxes/{vendors}/inbound",
    "/work/available",
    "/notifications",
    "/deliveries",
    "/public/task?token={link}&task={id}",
)


@pytest.mark.rule("O-08")
def test_no_place_that_shows_tasks_shows_others_what_is_not_theirs(world: World) -> None:
    """Whoever is no party finds no draft, nothing private, no money and no address anywhere."""
    scene = Scene.of(world)
    place, buyer = scene.place, scene.people["buyer"]
    token = scene.shown("buyer", "draft")["public_token"]
    secrets = [SECRET, HOOK, token, buyer.email, buyer.id, "0xabc", "Order draft", "Order undone"]

    def holds(row: tuple[str, str]) -> None:
        who, template = row
        person = scene.people[who]
        own = getattr(person, "mailbox", {"id": place.mailbox_id})
        (mine, *_) = person.get("/mailboxes/mine")["mailboxes"] or [{}]
        for name, task_id in scene.ids.items():
            path = template.format(
                gig=place.gig.id,
                id=task_id,
                own=own["id"],
                vendors=place.mailbox_id,
                link=mine.get("share_token") or "none",
            )
            answer = person.call("GET", path)
            assert answer.status in (200, 403, 404), answer.text
            told = [one for one in secrets if one in answer.text]
            if task_id in answer.text and name not in SENT:
                told.append(name)
            assert not told, f"{path}: {told}"

    others = ("other buyer", "member", "stranger")
    rows = [(who, one) for one in PLACES for who in others]
    # What somebody without a share link tries is not what is looked at here.
    all_hold([row for row in rows if row[0] != "stranger" or "{link}" not in row[1]], holds)


@pytest.mark.rule("R-07")
def test_a_share_link_opens_what_its_mailbox_holds_and_no_order_besides(world: World) -> None:
    scene = Scene.of(world)
    place = scene.place

    def link(person: Person) -> str:
        (mailbox,) = person.get("/mailboxes/mine")["mailboxes"]
        token: str = mailbox["share_token"]
        return token

    def read(person: Person, name: str) -> Any:
        path = f"/public/task?token={link(person)}&task={scene.ids[name]}"
        return world.call("GET", path)

    for name in ORDERS:
        answer = read(place.vendor, name)
        if name in SENT:
            task = answer.ok()["task"]
            assert task["payload"] == name and not {"price", "private_details"} & set(task)
            assert SECRET not in answer.text and scene.people["buyer"].email not in answer.text
        else:
            answer.refused(404)
        for who in ("buyer", "other buyer"):
            read(scene.people[who], name).refused(404)


@pytest.mark.rule("O-08")
def test_the_vendors_lists_show_him_whose_orders_they_are(world: World) -> None:
    scene = Scene.of(world)
    place, buyer = scene.place, scene.people["buyer"]
    inbound = place.vendor.get(f"/mailboxes/{place.mailbox_id}/inbound")["tasks"]
    dashboard = place.vendor.get(f"{place.path}/dashboard")["tasks"]
    drafts = place.vendor.get(f"{place.path}/drafts")["drafts"]
    for name, listed in (("paid", inbound), ("paid", dashboard), ("undone", drafts)):
        (view,) = [one for one in listed if one["id"] == scene.ids[name]]
        number = ORDERS.index(name)
        for field in ("funded_total", "tip", "price", "fee_bps", "deposit_id", "private_details"):
            is_(view, field, FIELDS[field][number])
        assert view["client_email"] == buyer.email and view["is_my_order"] is False
        assert "client_user_id" not in view and "public_token" not in view
    emails = {one["client_email"] for one in inbound}
    assert emails == {buyer.email, scene.people["other buyer"].email}


@pytest.mark.rule("O-08")
def test_tasks_of_other_gigs_have_no_field_of_an_order(world: World) -> None:
    gig = world.gig()
    task_id = world.task(gig)
    draft_id = world.task(gig, draft="true")
    view = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    (draft,) = gig.owner.get(f"{gig.path}/drafts")["drafts"]
    assert draft["id"] == draft_id
    theirs = {"funded_total", "funded_minimum", "tip", "fee_bps", "is_my_order", "client_email"}
    theirs |= {"order_free", "order_withdrawn_at", "public_link", "accepted_at", "client_user_id"}
    assert not theirs & (set(view) | set(draft))
    assert {"price", "price_source", "deposit_id", "escrow_funded", "claimed_at"} <= set(view)


@pytest.mark.rule("O-08")
def test_a_name_that_a_buyer_gives_his_order_is_his_alone(world: World) -> None:
    scene = Scene.of(world)
    place, buyer = scene.place, scene.people["buyer"]
    for name in ORDERS:
        path = f"{place.path}/tasks/{scene.ids[name]}/alias"
        buyer.patch(path, {"alias": "for my mother"})
        assert scene.shown("buyer", name)["alias"] == "for my mother"
        assert scene.shown("vendor", name)["alias"] is None
        status = 200 if name in SENT else 404
        assert scene.people["member"].call("PATCH", path, {"alias": "his"}).status == status
