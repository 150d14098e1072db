"""Joining a gig, taking a task and opening another, pressed in a real browser."""

from __future__ import annotations

import pytest

from tests.pages.chromium import Tab
from tests.pages.visiting import base, visit
from tests.processes import Stack

pytestmark = pytest.mark.browser


@pytest.mark.rule("G-05")
@pytest.mark.rule("C-01")
def test_a_stranger_with_a_link_joins_once_and_takes_the_task(site: Stack, tab: Tab) -> None:
    gig = site.gig(title="Birds")
    task_id = site.task(gig, "name the bird", subject="Bird 17")
    stranger = site.person("stranger")
    path = f"/claim/{gig.id}/{task_id}?invite={gig.invite}"
    text = visit(tab, site, path, stranger, "Join this gig")
    assert "Bird 17" not in text
    tab.press_twice("Join this gig")
    tab.wait("Accept this task")
    assert "name the bird" in tab.text()
    (_,) = stranger.get("/mailboxes/mine")["mailboxes"]

    tab.press_twice("Accept this task")
    tab.wait("This task is yours.")
    assert tab.focus() == "This task is yours."
    # After a reload he still has it, and the link leads on to where he hands in.
    tab.ask("Page.reload")
    tab.wait("This task is yours.")
    tab.run("document.querySelector('a.go').click()")
    tab.wait("Your proof")
    assert tab.run("location.pathname.startsWith('/submit/')")
    tab.run("history.back()")
    tab.wait("This task is yours.")
    assert "Accept this task" not in tab.text()


@pytest.mark.rule("C-01")
def test_whoever_was_slower_reads_so_and_has_no_button_any_more(site: Stack, tab: Tab) -> None:
    gig = site.gig()
    slow, quick = site.worker(gig), site.worker(gig)
    task_id = site.task(gig)
    visit(tab, site, f"/claim/{gig.id}/{task_id}", slow, "Accept this task")
    quick.post(f"{gig.path}/queue/{task_id}/claim")
    tab.press("Accept this task")
    tab.wait("Another worker")
    assert "Accept this task" not in tab.text()


@pytest.mark.rule("A-01")
def test_an_offered_task_is_accepted_or_passed_on(site: Stack, tab: Tab) -> None:
    gig = site.gig(distribution="round_robin", accept_timeout=3600)
    worker = site.worker(gig)
    first, second = site.task(gig, "one"), site.task(gig, "two")
    visit(tab, site, f"/task/{gig.id}/{first}", worker, "This task is offered to you.")
    tab.press("Accept this task")
    tab.wait("The task is yours.")
    assert "Pass on it" not in tab.text()
    tab.open(base(site) + f"/task/{gig.id}/{second}")
    tab.wait("This task is offered to you.")
    tab.press("Pass on it")
    tab.wait("You passed on this task.")


@pytest.mark.rule("G-05")
def test_a_server_that_is_away_is_said_and_the_button_can_be_pressed_again(
    site: Stack, tab: Tab
) -> None:
    gig = site.gig()
    stranger = site.person("stranger")
    visit(tab, site, f"/join/{gig.id}?invite={gig.invite}", stranger, "Join this gig")
    site.kill()
    tab.press("Join this gig")
    tab.wait("The server does not answer. Try again shortly.")
    site.start()
    tab.press("Join this gig")
    tab.wait("You have a place in this gig")
    (_,) = stranger.get("/mailboxes/mine")["mailboxes"]
