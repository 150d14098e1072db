"""The button of the payment page, pressed in a real browser.

Run by `make test-browser`: Chromium comes from the system's packages, not from pip.
"""

from __future__ import annotations

import functools
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Miner
from tests.pages.chromium import KEY, Tab
from tests.pages.visiting import visit
from tests.processes import SQLITE, Stack, Starter
from tests.shop import Shop, shop
from tests.world import Person, eventually

pytestmark = pytest.mark.browser


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-02")
def test_a_buyer_pays_from_his_link_and_a_reload_shows_the_receipt(
    start_stack: Starter, reset_chain: LocalChain, tab: Tab
) -> None:
    stack = start_stack(SQLITE, reset_chain)
    place = shop(stack, "2.50")
    base = f"http://127.0.0.1:{stack.serves[0].port}"
    buyer = place.buyer(20)
    task_id = place.draft(buyer, '{"order": "one haiku"}')
    path = f"/fund/{place.gig.id}/{task_id}"
    tab.size(390, 844, mobile=True)

    # The key leaves the address for the tab, at once.
    tab.open(f"{base}{path}?api_key={buyer.key}")
    tab.wait("Pay $2.50 and send")
    assert tab.run("location.href") == base + path
    assert tab.run("document.referrer") == "" and tab.run(KEY) == buyer.key
    assert tab.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")

    disabled = "document.querySelector('form[data-does=pay] button').disabled"
    for typed, says in (("2.49", "asks for $2.50"), ("3.333", "whole cents"), ("21", "short of")):
        tab.type("amount", typed)
        assert says in tab.text() and tab.run(disabled), typed
    tab.type("amount", "5.00")
    text = tab.text()
    assert not tab.run(disabled)
    for told in ("$4.54", "$0.454", "$0.006", "Of the deposit a tip\n$2.50"):
        assert told in text, text

    # Whoever has topped up his wallet looks again, and pays what he had typed.
    tab.press("Look again")
    tab.wait("Pay $5.00 and send")

    with Miner(stack):
        tab.press("Pay $5.00 and send")
        tab.wait("Receipt")
    assert "Pay " not in tab.text().replace("Pay for an order", "")
    assert place.task(buyer, task_id)["funded_total"] == 5
    for address in (path, f"{path}?api_key={buyer.key}"):
        tab.open("about:blank")
        tab.open(base + address)
        tab.wait("Receipt")
    assert stack.complaints() == []


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-02")
def test_two_presses_pay_once_and_the_way_back_leads_to_no_second_payment(
    start_stack: Starter, reset_chain: LocalChain, tab: Tab
) -> None:
    stack = start_stack(SQLITE, reset_chain)
    place = shop(stack, "2.50")
    buyer = place.buyer(20)
    task_id, other = place.draft(buyer), place.draft(buyer, "another haiku")
    path = f"/fund/{place.gig.id}/{task_id}"
    visit(tab, stack, path, buyer, "Pay $2.50 and send")

    # Looked at again by keyboard, the page keeps the focus where it was.
    tab.run("document.getElementById('again').focus()")
    tab.run("document.getElementById('amount').dataset.old = 'yes'")
    tab.key("Enter")
    eventually(lambda: tab.run("document.getElementById('amount').dataset.old === undefined"))
    assert tab.focus() == "Look again"

    # Nothing is mined yet: a reload finds it under way, and follows it to the receipt.
    tab.press_twice("Pay $2.50 and send")
    eventually(lambda: _is_under_way(place, buyer, task_id))
    tab.ask("Page.reload")
    assert "Pay $" not in tab.wait("Your deposit is under way.")
    with Miner(stack):
        tab.wait("Receipt")
        assert "Pay $" not in tab.text()
        visit(tab, stack, f"/fund/{place.gig.id}/{other}", None, "Pay $2.50 and send")
        tab.press("Pay $2.50 and send")
        tab.wait("Receipt")
        tab.run("history.back()")
        tab.wait(task_id)
        tab.run("history.forward()")
        tab.wait(other)
        assert "Pay $" not in tab.text()
    assert len(buyer.get("/orders")["orders"]) == 2
    wallet = buyer.get(f"/wallets/{buyer.wallet_id}/balances")  # type: ignore[attr-defined]
    assert wallet["usdc_balance"] == "15"
    stack.audit()
    assert stack.complaints() == []


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-02")
@pytest.mark.rule("O-09")
def test_what_is_paid_and_not_handed_over_is_finished_or_had_back_on_the_page(
    start_stack: Starter, reset_chain: LocalChain, tab: Tab
) -> None:
    stack = start_stack(SQLITE, reset_chain)
    place = shop(stack, "2.50")
    buyer = place.buyer(20)
    ends = {"Finish this order": "This order is paid for.", "Cancel and refund me": "was cancelled"}
    key: Person | None = buyer
    for words, end in ends.items():
        task_id = place.draft(buyer)
        visit(tab, stack, f"/fund/{place.gig.id}/{task_id}", key, "Pay $2.50 and send")
        key = None
        tab.press("Pay $2.50 and send")
        eventually(functools.partial(_is_under_way, place, buyer, task_id))
        _shop_is(stack, place, "inactive")
        with Miner(stack):
            tab.wait("Your money is safe on chain")
        assert "The page has the buttons for that." in tab.text()
        tab.ask("Page.reload")
        tab.wait("You have paid $2.50 for this order")
        assert "Pay $" not in tab.text()
        _shop_is(stack, place, "active")
        with Miner(stack):
            tab.press_twice(words)
            tab.wait(end)
        assert "Finish" not in tab.text()
    states = [one["state"] for one in buyer.get("/orders")["orders"]]
    assert states == ["withdrawn", "open"]
    wallet = buyer.get(f"/wallets/{buyer.wallet_id}/balances")  # type: ignore[attr-defined]
    assert wallet["usdc_balance"] == "17.5"
    stack.audit()
    assert stack.complaints() == []


def _is_under_way(place: Shop, buyer: Person, task_id: str) -> bool:
    return bool(place.task(buyer, task_id)["status"] == "unfunded")


def _shop_is(stack: Stack, place: Shop, status: str) -> None:
    """As no route brings it about: the mailbox in which orders land is shut, or open."""
    file = stack.database_url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(file, timeout=20)) as database:
        row = (status, place.mailbox_id)
        database.execute("UPDATE mailbox SET status = ? WHERE id = ?", row)
        database.commit()


@pytest.mark.rule("O-08")
@pytest.mark.rule("O-10")
def test_a_wallet_that_cannot_pay_is_topped_up_and_then_pays(
    start_stack: Starter, reset_chain: LocalChain, tab: Tab
) -> None:
    stack = start_stack(SQLITE, reset_chain)
    place = shop(stack, "2.50")
    outside = {"wallet_address": "0x" + "11" * 20}
    buyer = stack.worker(place.gig, stack.person("buyer"), **outside)
    task_id = place.draft(buyer)
    visit(tab, stack, f"/fund/{place.gig.id}/{task_id}", buyer, "You have no wallet here")
    tab.press("Make a wallet")
    tab.wait("This wallet is short of USDC")
    assert "too little ether for gas" in tab.text()
    assert tab.run("document.querySelector('form[data-does=pay] button').disabled")
    address = tab.run("document.getElementById('address').textContent")
    tab.press("Copy the address")
    tab.wait("The address is")
    body = {"address": address, "usdc": "5", "eth": "1"}
    with Miner(stack):
        stack.call("POST", "/dev/faucet", body).ok()
        tab.press("Look again")
        tab.wait("Pay $2.50 and send")
        # A refusal of the server's is its sentence, and what to do.
        place.vendor.patch(place.path, {"status": "closed"})
        tab.press("Pay $2.50 and send")
        tab.wait("This shop is not open: it takes no new orders. Nothing was charged.")
        place.vendor.patch(place.path, {"status": "active"})
        tab.ask("Page.reload")
        tab.wait("Pay $2.50 and send")
        tab.press("Pay $2.50 and send")
        tab.wait("Receipt")
    assert stack.complaints() == []


@contextmanager
def _site(text: str) -> Iterator[str]:
    """The address of somebody else's page."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.mark.rule("O-01")
def test_in_a_frame_it_keeps_no_key_and_a_wrong_one_leads_to_the_way_in(
    start_stack: Starter, tab: Tab
) -> None:
    stack = start_stack(SQLITE)
    place = shop(stack)
    buyer = place.buyer()
    task_id = place.draft(buyer, "one haiku")
    url = f"http://127.0.0.1:{stack.serves[0].port}/fund/{place.gig.id}/{task_id}"
    tab.open(f"{url}?api_key=wrong")
    tab.wait("Sign in by email")
    assert tab.run(KEY) is None and "is unknown" in tab.text()

    given = f"{url}?api_key={buyer.key}&hide_navbar=true&hide_logo=true"
    with _site(f"<iframe src='{given}' width=420 height=760></iframe>") as site:
        tab.open(site)
        tab.enter()
        text = tab.wait("Send this order")
        assert "Muster" not in text and tab.run(KEY) is None
        tab.press("Send this order")
        tab.wait("This order is sent.")
        assert tab.run(KEY) is None
    assert place.task(buyer, task_id)["status"] == "claimed"
    assert stack.complaints() == []
