"""What a task says is only looked at: nothing in it runs, and it reaches nothing of the visitor's.

Whatever its sanitiser lets through, its frame has no scripts and an origin of its own.
"""

from __future__ import annotations

import json

import pytest

from tests.pages.chromium import Tab
from tests.pages.visiting import base, send_html, share_path, visit
from tests.processes import Stack

pytestmark = pytest.mark.browser
RUNS = "top.document.title = 'hurt'"
EVIL = (
    "<p>Film a <b>cat</b>.</p>"
    f"<script>{RUNS}</script><img src=x onerror=\"{RUNS}\"><svg onload=\"{RUNS}\"></svg>"
    f"<iframe srcdoc=\"<script>{RUNS}</script>\"></iframe>"
    f"<a id=evil href=\"javascript:{RUNS}\">press me</a>"
    "<form action='/api/auth/rotate-key' method=post><input name=key></form>"
    "<meta http-equiv=refresh content='0;url=http://example.com/'><base href='http://example.com/'>"
    "<style>body{display:none}</style><link rel=stylesheet href='http://example.com/a.css'>"
)  # fmt: skip
REACHES = """(() => {
  const told = [];
  for (const look of [() => document.cookie, () => sessionStorage.length, () => top.document.title])
    try { look(); told.push("reached"); } catch (error) { told.push(error.name); }
  return told;
})()"""


@pytest.mark.rule("T-08")
def test_a_body_of_html_runs_nothing_and_reaches_nothing(site: Stack, tab: Tab) -> None:
    gig = site.gig()
    worker = site.worker(gig)
    task_id = send_html(site, gig, EVIL)
    text = site.task(gig, EVIL)
    place = f"/claim/{gig.id}/{task_id}"
    visit(tab, site, place, worker, "Accept this task")
    tab.run("document.cookie = 'secret=yes'")
    for path in (place, f"{share_path(worker)}?task={task_id}"):
        tab.open(base(site) + path)
        tab.wait("What to do")
        title = tab.run("document.title")
        # The page cannot look into the frame, nor the frame out of it.
        assert tab.run("document.querySelector('iframe').contentDocument") is None
        tab.enter()
        assert "Film a cat." in tab.wait("Film a cat.")
        assert tab.run(REACHES) == ["SecurityError"] * 3
        assert tab.run("document.querySelectorAll('script,img,iframe,form,meta,link').length") == 0
        tab.run("document.querySelectorAll('a').forEach((one) => one.click())")
        tab.leave()
        assert tab.run("document.title") == title != "hurt"

        # And had the sanitiser let all of it through, the frame would not have.
        raw = json.dumps(EVIL.replace("<meta", "<x"))
        tab.run(
            "new Promise((resolve) => { const frame = document.querySelector('iframe');"
            f" frame.onload = resolve; frame.srcdoc = {raw}; }})"
        )
        assert tab.run("document.title") == title
        assert tab.run("location.pathname") == path.partition("?")[0]
    # As plain text it is shown to the letter.
    tab.open(f"{base(site)}/claim/{gig.id}/{text}")
    assert "<script>" in tab.wait("Accept this task")
    assert tab.run("document.title") == "Muster: a task"
