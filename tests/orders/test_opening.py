"""Opening a shop, and what its owner may say of it (O-03, O-08; G-01)."""

from __future__ import annotations

import socket
import time
from decimal import Decimal
from typing import Any

import pytest

from engine import install, modes
from engine.chain import fee_rate
from engine.chain.client import Chain
from engine.chain.fee_rate import FeeRate
from engine.chain.pulse import Pulse
from engine.chain.treasury import Treasury
from tests.contract.scene import all_hold, everything
from tests.engine.escrow_world import treasury_call
from tests.shop import shop
from tests.world import Person, World, at_once

SHOP = {"title": "Haiku on demand", "distribution": "inbound_order", "list_price": 0}
MODE = "inbound_order"
# What is said of a shop, and how that is refused when it is opened; (status, reason, field).
REFUSED: list[tuple[dict[str, Any], int, str, str]] = [
    ({"list_price": None}, 400, "invalid", "list_price"),
    *(
        ({"list_price": price}, 400, "invalid", "list_price")
        for price in ("0.01", "0.019999", "0.000001", "0.025", "1.005", -1, "x")
    ),
    *(({"price": price}, 400, "invalid", "price") for price in ("0.50", 1)),
    *(
        ({"review_timeout": seconds}, 400, "invalid", "review_timeout")
        for seconds in (-1, 0, 1, 3599)
    ),
    *(
        ({field: value}, 409, MODE, field)
        for field, value in (
            ("price_tbd", True),
            ("allow_price_offers", True),
            ("task_timeout", 3600),
            ("min_payout", "0.01"),
            ("task_escrow", True),
            ("webhook_max_price", 1),
            ("webhook_daily_spend", 1),
            ("default_max_open_tasks", 3),
            ("default_rate_limit_count", 3),
            ("default_rate_limit_minutes", 3),
        )
    ),
    # Settings of queues alone.
    ({"queue_order": "lifo"}, 400, "invalid", "queue_order"),
    ({"queue_aging_seconds": 5}, 400, "invalid", "queue_aging_seconds"),
    ({"max_claims_per_task": 2}, 400, "invalid", "max_claims_per_task"),
    ({"max_hold_seconds": 60}, 400, "invalid", "max_hold_seconds"),
]
# What says nothing but what a shop is anyway.
USUAL = {
    "price_tbd": False,
    "allow_price_offers": False,
    "task_timeout": None,
    "min_payout": 0,
    "task_escrow": False,
    "webhook_max_price": None,
    "webhook_daily_spend": None,
    "default_max_open_tasks": None,
}


@pytest.fixture
def vendor(world: World) -> Person:
    return world.person("vendor")


@pytest.mark.rule("O-03")
@pytest.mark.rule("O-08")
def test_what_a_shop_cannot_be_is_refused_by_name_when_it_is_opened_and_later(
    world: World, vendor: Person
) -> None:
    place = shop(world, vendor=vendor)
    before = everything()

    def refused(row: tuple[dict[str, Any], int, str, str]) -> None:
        said, status, reason, field = row
        told = vendor.call("POST", "/gigs", {**SHOP, **said}).refused(status, reason)
        assert list(told["errors"]) == [field] and field in told["error"]
        # A price is never the owner's to say, so a change of it is one of what the mode refuses.
        status, reason = (409, MODE) if field == "price" else (status, reason)
        told = vendor.call("PATCH", place.path, said).refused(status, reason)
        assert list(told["errors"]) == [field] and field in told["error"]

    all_hold(REFUSED, refused)
    missing = {name: value for name, value in SHOP.items() if name != "list_price"}
    told = vendor.call("POST", "/gigs", missing).refused(400, "invalid")
    assert list(told["errors"]) == ["list_price"]
    assert everything() == before
    vendor.call("PATCH", place.path, {"price": 0}).refused(409, MODE)
    vendor.call("PATCH", place.path, {"price": "0.5", "title": "T"}).refused(409, MODE)
    vendor.post("/gigs", {**SHOP, **USUAL, "price": 0})
    vendor.patch(place.path, USUAL)


@pytest.mark.rule("G-01")
def test_only_a_shop_has_a_list_price(world: World, vendor: Person) -> None:
    for said in ({"list_price": 0}, {"list_price": 1}, {"price_tbd": True}):
        for body in ({}, {"distribution": "inbound_proof"}, {"distribution": "queue_solo"}):
            told = vendor.call("POST", "/gigs", {"title": "A gig", **body, **said}).refused(400)
            assert list(told["errors"]) == list(said)
    gig = world.gig(vendor)
    vendor.call("PATCH", gig.path, {"list_price": "0.50"}).refused(400)
    view = vendor.patch(gig.path, {"list_price": None, "price_tbd": False})["gig"]
    assert view["list_price"] is None
    shops_alone = {"fee_bps", "chain", "vendor", "escrowed_funds", "vendor_mailbox_id"}
    assert not shops_alone & view.keys()
    assert not shops_alone & vendor.get(gig.path)["gig"].keys()


@pytest.mark.rule("O-03")
def test_a_free_shop_opens_without_a_chain_and_a_paid_one_needs_one(
    world: World, vendor: Person
) -> None:
    made = vendor.post("/gigs", {**SHOP, "list_price": 0, "review_timeout": 3600})
    gig = made["gig"]
    assert gig["list_price"] == 0 and gig["price"] == 0 and gig["distribution"] == MODE
    assert gig["fee_bps"] is None and gig["chain"] is None and gig["escrowed_funds"] == 0
    assert gig["vendor_mailbox_id"] == made["vendor_mailbox_id"]
    assert gig["webhook"] and gig["invite_url"] and made["webhook_secret"].startswith("whsec_")
    (mine,) = vendor.get("/mailboxes/mine")["mailboxes"]
    assert mine["id"] == made["vendor_mailbox_id"] and mine["status"] == "active"
    before = everything()
    for price in ("0.02", "0.50", 5):
        vendor.call("POST", "/gigs", {**SHOP, "list_price": price}).refused(
            503, "chain_not_configured"
        )
    assert everything() == before


@pytest.mark.rule("O-04")
@pytest.mark.rule("G-04")
def test_each_reader_of_a_shop_is_shown_what_he_must_know_and_no_more(world: World) -> None:
    place = shop(world, join_policy="open", requires_approval=True)
    world.call("PATCH", "/auth/me", {"display_name": "The Poet"}, headers=_key(place.vendor)).ok()
    buyer = world.worker(place.gig)
    assert buyer.mailbox["status"] == "pending_approval"  # type: ignore[attr-defined]
    shared = {"list_price", "fee_bps", "chain", "vendor"}
    member = world.worker(place.gig)
    mailbox = f"{place.path}/mailboxes/{member.mailbox['id']}"  # type: ignore[attr-defined]
    place.vendor.patch(mailbox, {"status": "active"})
    for person, more in (
        (None, set()),
        (world.person(), set()),
        (buyer, set()),
        (member, {"escrowed_funds", "webhook"}),
        (place.vendor, {"escrowed_funds", "vendor_mailbox_id", "webhook", "notes"}),
    ):
        headers = {} if person is None else _key(person)
        view = world.call("GET", place.path, headers=headers).ok()["gig"]
        assert view["vendor"] == "The Poet" and view["fee_bps"] is None and view["chain"] is None
        hidden = {"escrowed_funds", "vendor_mailbox_id", "webhook", "notes"} - more
        assert shared | more <= view.keys() and not hidden & view.keys()
    place.vendor.patch(mailbox, {"status": "inactive"})
    assert not {"webhook", "escrowed_funds"} & member.get(place.path)["gig"].keys()


def _key(person: Person) -> dict[str, str]:
    return {"x-api-key": person.key}


@pytest.mark.rule("O-03")
def test_a_shop_keeps_taking_money_or_none(paying_world: World) -> None:
    for price, crossing in ((0, ("0.02", 5)), ("0.50", (0,))):
        place = shop(paying_world, price)
        for other in crossing:
            told = place.vendor.call("PATCH", place.path, {"list_price": other, "title": "New"})
            told.refused(409, "list_price_mode_change")
        assert place.vendor.get(place.path)["gig"]["title"] == "Haiku on demand"
        place.vendor.patch(place.path, {"list_price": price})
    for dearer in ("0.02", "3.30"):
        view = place.vendor.patch(place.path, {"list_price": dearer})["gig"]
        assert view["list_price"] == Decimal(dearer) and view["price"] == 0


@pytest.mark.rule("O-04")
@pytest.mark.rule("H-13")
def test_a_paid_shop_tells_the_fee_the_chain_and_what_is_in_escrow(
    paying_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shop(paying_world, "0.50")
    chain = {"chain_id": 31337, "chain_name": "Local", "is_testnet": True}
    view = place.vendor.get(place.path)["gig"]
    assert view["fee_bps"] == 1000 and view["chain"] == chain and view["escrowed_funds"] == 0
    assert view["available_funds"] == 0 and view["reserved_funds"] == 0
    health = paying_world.call("GET", "/health").ok()
    assert health["chain"] == chain and health["treasury_address"] and health["usdc_address"]
    monkeypatch.setattr(fee_rate, "KEPT_SECONDS", 0.0)
    # A platform that takes nothing says 0, which is not the same as not knowing.
    for rate in (250, 0):
        treasury_call(paying_world, "setFeeBps", rate)
        assert place.vendor.get(place.path)["gig"]["fee_bps"] == rate


@pytest.mark.rule("H-13")
def test_a_node_that_hangs_makes_the_fee_and_the_chain_unknown_and_holds_up_nobody(
    paying_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shop(paying_world, "0.50")
    buyer = place.buyer()
    assert place.vendor.get(place.path)["gig"]["fee_bps"] == 1000
    here = install.current()
    assert here.treasury is not None
    with socket.create_server(("127.0.0.1", 0)) as silent:
        away = Chain(f"http://127.0.0.1:{silent.getsockname()[1]}", 30)
        treasury = Treasury(away, here.treasury.address, here.treasury.usdc_address)
        monkeypatch.setattr(here, "pulse", Pulse(away))
        monkeypatch.setattr(here, "fee_rate", FeeRate(treasury))
        for person, method, path in (
            (place.vendor, "GET", place.path),
            (buyer, "GET", place.path),
            (place.vendor, "GET", "/gigs/mine"),
            (place.vendor, "PATCH", place.path),
        ):
            began = time.monotonic()
            told = person.call(method, path, {} if method == "PATCH" else None).ok()
            assert time.monotonic() - began < 5
            view = told.get("gig") or told["gigs"][0]
            assert view["fee_bps"] is None and view["chain"] is None
            assert view["escrowed_funds"] == 0
        assert paying_world.call("GET", "/health").ok()["chain"] is None
        # With a key the request is one transaction, in which nobody waits at all.
        keyed = {"idempotency-key": "once"}
        began = time.monotonic()
        place.vendor.call("PATCH", place.path, {"title": "New"}, headers=keyed).ok()
        assert time.monotonic() - began < 0.9


@pytest.mark.rule("O-04")
def test_a_fee_that_could_not_be_read_is_soon_read_again(
    paying_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    treasury = install.treasury()
    away = Treasury(Chain("http://127.0.0.1:9", 0.5), treasury.address, treasury.usdc_address)
    rate = FeeRate(away)
    assert rate.readable(ask=False) is None and rate.readable(ask=True) is None
    monkeypatch.setattr(rate, "_treasury", treasury)
    assert rate.readable(ask=True) is None, "asked a moment ago"
    monkeypatch.setattr(fee_rate, "TRIED_AGAIN_SECONDS", 0.0)
    assert rate.readable(ask=False) is None
    assert rate.readable(ask=True) == 1000 == rate.readable(ask=False)
    monkeypatch.setattr(rate, "_treasury", away)
    assert rate.readable(ask=True) == 1000, "kept for a while"
    monkeypatch.setattr(fee_rate, "KEPT_SECONDS", 0.0)
    assert rate.readable(ask=True) is None and rate.seen(ask=False) == 1000


@pytest.mark.rule("M-02")
@pytest.mark.rule("M-03")
def test_the_vendors_own_mailbox_stays_active_and_his_only_one(world: World) -> None:
    place = shop(world, requires_approval=True)
    mine = f"{place.path}/mailboxes/{place.mailbox_id}"
    vendor = place.vendor
    before = everything()
    vendor.call("DELETE", mine).refused(409, "vendor_mailbox")
    for status in ("inactive",):
        vendor.call("PATCH", mine, {"status": status}).refused(409, "vendor_mailbox")
    body = {"invite": place.gig.invite, "new": True}
    vendor.call("POST", f"{place.path}/mailboxes", body).refused(409, "vendor_mailbox")
    assert everything() == before
    again = vendor.post(f"{place.path}/mailboxes", {"invite": place.gig.invite})
    assert again["mailbox"]["id"] == place.mailbox_id
    vendor.patch(mine, {"status": "active", "name": "The counter", "priority": 3})
    # Buyers come in as workers do.
    buyer = world.worker(place.gig)
    assert buyer.mailbox["status"] == "pending_approval"  # type: ignore[attr-defined]
    place.save(buyer).refused(403)
    theirs = f"{place.path}/mailboxes/{buyer.mailbox['id']}"  # type: ignore[attr-defined]
    vendor.patch(theirs, {"status": "active"})
    place.draft(buyer)
    vendor.patch(theirs, {"status": "inactive"})
    buyer.call("DELETE", theirs).ok()


@pytest.mark.rule("M-01")
def test_a_vendor_is_paid_where_he_says_unless_it_is_somebody_elses(world: World) -> None:
    person = world.person()
    wallet = person.post("/wallets")["wallet"]
    body = {**SHOP, "owner_wallet": wallet["evm_address"]}
    made = person.post("/gigs", body)
    (mailbox,) = person.get("/mailboxes/mine")["mailboxes"]
    assert mailbox["id"] == made["vendor_mailbox_id"]
    assert mailbox["wallet_address"] == wallet["evm_address"]
    world.person().call("POST", "/gigs", body).refused(409, "address_proven")


@pytest.mark.rule("G-04")
def test_a_new_token_of_a_shop_is_made_only_when_it_is_meant(world: World) -> None:
    place, gig = shop(world), world.gig()
    rotate = f"{place.path}/rotate-token"
    before = everything()
    for body in (None, {}, {"confirm": False}):
        told = place.vendor.call("POST", rotate, body).refused(409, "requires_confirmation")
        assert "confirm" in told["error"]
    for wrong in ({"confirm": "true"}, {"confirm": 1}, {"confirm": None}, {"sure": True}):
        place.vendor.call("POST", rotate, wrong).refused(400)
    place.buyer().call("POST", rotate).refused(403)
    after = everything()
    assert before["gig"] == after["gig"]
    view = place.vendor.post(rotate, {"confirm": True})["gig"]
    token = view["webhook"].rpartition("=")[2]
    assert token != place.gig.token
    buyer = place.buyer()
    place.save(buyer).refused(403, "wrong_token")
    place.gig.token = token
    place.draft(buyer)
    for body in (None, {}, {"confirm": True}, {"confirm": False}):
        gig.owner.post(f"{gig.path}/rotate-token", body)


@pytest.mark.rule("G-03")
def test_the_list_of_modes_says_what_a_shop_takes_and_refuses(world: World) -> None:
    (told,) = [one for one in world.call("GET", "/modes").ok()["modes"] if one["name"] == MODE]
    settings = told["settings"]
    assert settings["list_price"]["anyOf"] == [{"const": 0}, {"minimum": Decimal("0.02")}]
    assert settings["list_price"]["multipleOf"] == Decimal("0.01")
    assert settings["price"]["const"] == 0 and settings["review_timeout"]["minimum"] == 3600
    assert settings["task_timeout"]["const"] is None and settings["min_payout"]["const"] == 0
    assert all(shape["description"] for shape in settings.values())
    assert told["refuses"] == dict(modes.ask(MODE).refuses())
    assert list(told["confirms"]) == ["gig.rotate_token"]
    view = shop(world).vendor.get("/gigs/mine")["gigs"][0]
    assert settings.keys() - view.keys() == {"price_tbd"}


@pytest.mark.rule("F28")
def test_shops_that_one_vendor_opens_at_once_each_have_a_mailbox(
    world: World, vendor: Person
) -> None:
    made = at_once(4, lambda _: vendor.post("/gigs", SHOP))
    assert len({one["vendor_mailbox_id"] for one in made}) == 4
    assert len(vendor.get("/mailboxes/mine")["mailboxes"]) == 4
