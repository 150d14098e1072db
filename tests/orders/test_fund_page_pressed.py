"""The button of the payment page, pressed in a real browser.

Run by `make test-browser`: Chromium comes from the system's packages, not from pip.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from engine.chain.local import LocalChain
from tests.faults.conftest import start_stack
from tests.faults.flow import Miner
from tests.orders import chromium
from tests.orders.chromium import Tab
from tests.processes import SQLITE, Starter
from tests.shop import shop

__all__ = ["start_stack"]

pytestmark = pytest.mark.browser
KEY = "sessionStorage.getItem('muster-api-key')"


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with chromium.tab(tmp_path) as opened:
        yield opened


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
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")

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
