"""Signing in on a page, in a real browser: by a key, and by a code sent to an address of mail."""

from __future__ import annotations

import json

import pytest

from tests.pages.chromium import KEY, Tab
from tests.pages.visiting import base, visit
from tests.processes import Stack

pytestmark = pytest.mark.browser


def _code(stack: Stack, email: str) -> str:
    """The last code for an address, which a development install writes to its log."""
    lines = [one for one in stack.serves[0].said().splitlines() if '"otp.code"' in one]
    found = [one["code"] for one in map(json.loads, lines) if one["email"] == email]
    return str(found[-1]) if found else ""


@pytest.mark.rule("H-02")
def test_a_key_is_kept_in_the_tab_alone_and_a_wrong_one_is_said(site: Stack, tab: Tab) -> None:
    gig = site.gig(title="Birds")
    worker = site.worker(gig)
    path = f"/join/{gig.id}"
    tab.open(base(site) + path)
    tab.wait("Go on with your key")
    tab.type("key", "mk_wrong")
    tab.press("Go on")
    tab.wait("This API key is unknown")
    # The focus is at what is new, and the key is not kept.
    assert "unknown" in tab.focus() and tab.run(KEY) is None
    tab.type("key", f"  {worker.key} ")
    tab.press("Go on")
    tab.wait("You have a place in this gig")
    for _ in range(2):
        assert tab.run("location.href") == base(site) + path
        assert tab.run("document.cookie") == "" and tab.run("localStorage.length") == 0
        tab.ask("Page.reload")
        tab.wait("You have a place in this gig")
    # A key that has ended leads to the way in, and a new one goes on.
    new = worker.post("/auth/rotate-key")["api_key"]
    tab.ask("Page.reload")
    tab.wait("This API key is unknown")
    assert tab.run(KEY) is None
    tab.type("key", new)
    tab.press("Go on")
    tab.wait("You have a place in this gig")


@pytest.mark.rule("H-02")
@pytest.mark.rule("G-05")
def test_a_stranger_signs_in_by_keyboard_alone_and_joins(site: Stack, tab: Tab) -> None:
    gig = site.gig(title="Birds", terms="Be kind.")
    email = "new@example.com"
    text = visit(tab, site, f"/join/{gig.id}?invite={gig.invite}", None, "Be kind.")
    assert "$2.50" in text

    def reach(words: str) -> None:
        for _ in range(12):
            tab.key("Tab")
            if tab.focus().startswith(words):
                return
        raise AssertionError(f"no way to {words!r} by keyboard, only to {tab.focus()!r}")

    reach("Email")
    tab.write("nobody")
    tab.key("Enter")
    assert not tab.run("document.querySelector('[name=email]').validity.valid")
    tab.type("email", email)
    tab.key("Enter")
    tab.wait("It is good for ten minutes.")
    assert tab.focus().startswith("Code")
    wrong = "000000" if _code(site, email) != "000000" else "111111"
    tab.write(wrong)
    tab.key("Enter")
    tab.wait("This code is wrong")
    assert tab.run(KEY) is None
    tab.type("code", _code(site, email))
    tab.run("document.querySelector('[name=code]').focus()")
    tab.key("Enter")
    tab.wait("Your API key")
    tab.wait("Join this gig")
    key = tab.run("document.querySelector('#made code').textContent")
    assert key.startswith("mk_") and tab.run(KEY) == key and tab.focus() == "Your API key"
    me = site.call("GET", "/auth/me", headers={"x-api-key": key}).ok()
    assert me["email"] == email

    # It stays on the page until he says that he has kept it, whatever the page shows next.
    reach("I have kept it")
    tab.key("Enter")
    assert key not in tab.text()
    assert tab.run("document.querySelector('#made code').textContent") == ""
    reach("Join this gig")
    tab.key("Enter")
    tab.wait("You have a place in this gig")
    assert tab.focus().startswith("You have a place")
