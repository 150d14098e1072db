"""Handing in by a share link, in a real browser."""

from __future__ import annotations

import pytest

from tests.contract.links import place
from tests.pages.chromium import KEY, Tab
from tests.pages.visiting import share_path, visit
from tests.processes import Stack

pytestmark = pytest.mark.browser
VALUE = "document.querySelector('[name={}]').value"


def _value(tab: Tab, name: str) -> str:
    return str(tab.run(VALUE.format(name)))


@pytest.mark.rule("R-07")
def test_what_is_written_outlives_a_refusal_and_a_reload_and_is_handed_in_once(
    site: Stack, tab: Tab
) -> None:
    gig = site.gig()
    worker = site.worker(gig)
    task_id = site.task(gig, "name the bird")
    visit(tab, site, share_path(worker), None, "its id is all that is missing")
    # Its id is typed with a space too many.
    tab.type("task", f" {task_id} ")
    tab.press("Show this task")
    tab.wait("name the bird")
    assert tab.run("location.search") == f"?task={task_id}"

    tab.type("proofs", "A wren.\n\n  A second line. ")
    tab.type("tags", "bird, " + "x" * 300)
    tab.type("private_note", "sung")
    tab.press("Hand in")
    tab.wait("Tags, entry 2:")
    assert tab.focus() == "Tags If any, with commas between them."
    assert tab.run("document.activeElement.getAttribute('aria-invalid')") == "true"
    tab.ask("Page.reload")
    tab.wait("Your proof")
    assert _value(tab, "proofs").startswith("A wren.") and _value(tab, "private_note") == "sung"
    tab.type("tags", "bird, wren")
    assert tab.run("document.querySelector('[aria-invalid]')") is None

    tab.press_twice("Hand in")
    tab.wait("Your proof is handed in.")
    assert tab.focus() == "Your proof is handed in." and tab.run(KEY) is None
    assert "Hand in" not in tab.text().split("\n")
    (proof,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert proof["proofs"] == ["A wren.", "A second line."] and proof["tags"] == ["bird", "wren"]
    # Back is where no task was chosen yet.
    tab.run("history.back()")
    tab.wait("its id is all that is missing")
    tab.run("history.forward()")
    tab.wait("handed in and waits for its review")


@pytest.mark.rule("R-07")
@pytest.mark.rule("C-08")
def test_a_task_is_passed_on_or_reported(site: Stack, tab: Tab) -> None:
    gig = site.gig()
    worker = site.worker(gig)
    path, first, second = share_path(worker), site.task(gig, "one"), site.task(gig, "two")
    visit(tab, site, f"{path}?task={first}", None, "Pass on this task")
    tab.press("Pass on this task")
    tab.wait("You passed on this task.")
    assert tab.run("location.search") == ""

    visit(tab, site, f"{path}?task={second}", None, "Something is wrong with this task")
    tab.run("document.querySelector('summary').click()")
    tab.press("Report it and pass on it")
    # The browser itself asks for what is wrong.
    assert tab.run("document.querySelector('[name=violation]:invalid') !== null")
    tab.type("violation", "It asks for a password.")
    tab.press("Report it and pass on it")
    tab.wait("The task is reported, and you passed on it.")
    assert site.events(gig, "task.declined")[0]["data"]["mailbox_id"] == place(worker)
    (reported,) = site.events(gig, "task.violation")
    assert reported["data"]["violation"] == "It asks for a password."


@pytest.mark.rule("U-03")
def test_work_of_ones_own_is_named_and_the_next_is_another(site: Stack, tab: Tab) -> None:
    gig = site.gig(title="Bounties", distribution="inbound_proof")
    worker = site.worker(gig)
    visit(tab, site, share_path(worker), None, "Your name for this work")
    for name in ("first", "second"):
        tab.type("task_identifier", name)
        tab.type("proofs", f"the {name}")
        tab.press("Hand in")
        tab.wait("Your proof is handed in.")
        assert _value(tab, "proofs") == ""
        tab.ask("Page.reload")
        tab.wait("Your name for this work")
    proofs = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert sorted(one["proofs"][0] for one in proofs) == ["the first", "the second"]
