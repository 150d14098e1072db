"""The page of a share link (R-07, T-08)."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
import simplejson

from engine import holds
from engine.handing_in import MAX_NOTE_CHARACTERS
from engine.ids import new_share_token
from tests.contract.links import SOLO, Link
from tests.contract.scene import everything
from tests.contract.shares import Share, regenerate, token_of
from tests.contract.test_link_pages import EVIL, Page, framed
from tests.world import World

PROOF, DECLINE, REPORT = "submit-proof", "task/decline", "task/violation"


def page_of(link: Link, task_id: str | None = None, token: str | None = None) -> Page:
    query = "" if task_id is None else f"?task={task_id}"
    return Page(link.world, f"/submit/{token or token_of(link.worker)}{query}")


def forms(page: Page) -> dict[str, Any]:
    """What the page's buttons send, by the route that they send it to."""
    found = {}
    for form in page.tags.of("form"):
        if form["data-does"] == "post":
            path = str(form["data-path"])
            found[path.removeprefix("/api/public/")] = simplejson.loads(str(form["data-body"]))
    return found


@pytest.mark.rule("R-07")
def test_a_link_alone_tells_where_it_leads_and_asks_for_the_task(world: World) -> None:
    link = Link.of(world, title="Birds", terms="Be kind.", notes="the owner's notes")
    page = page_of(link)
    assert page.status == 200 and forms(page) == {}
    for told in ("Birds", "Be kind.", "$2.50"):
        assert told in page.main
    assert "the owner's notes" not in page.text and "@" not in page.main
    (field,) = page.tags.of("input")
    assert field["name"] == "task" and "required" in field


@pytest.mark.rule("R-07")
def test_a_task_is_shown_with_what_can_be_done_about_it(world: World) -> None:
    query = {"subject": "Film a cat", "tags": "cat,film", "price": "7.25"}
    link = Link.of(world, task_timeout=600, query=query)
    link.owner_sets("private-details", {"private_details": "in the garden"})
    token = token_of(link.worker)
    page = page_of(link, link.task_id)
    assert page.status == 200 and "Handing in a proof takes it" in page.notice
    for told in ("Film a cat", "cat, film", "$7.25"):
        assert told in page.main
    assert forms(page) == {
        PROOF: {"share_token": token, "task_identifier": link.task_id},
        DECLINE: {"share_token": token, "task": link.task_id},
        REPORT: {"share_token": token, "task": link.task_id},
    }
    before = everything()
    page_of(link, link.task_id)
    assert {**everything(), "counter": before["counter"]} == before
    link.take(link.worker)
    page = page_of(link, link.task_id)
    (until,) = page.tags.of("time")
    held = link.worker.get(f"{link.gig.path}/tasks/{link.task_id}")["task"]
    assert until["datetime"] == held["expires_at"]
    assert set(forms(page)) == {PROOF, DECLINE, REPORT} and page.notice == ""
    assert "in the garden" not in page.text
    # The names of the fields are the API's, and what it refuses cannot be typed.
    every = (one for kind in ("input", "textarea") for one in page.tags.of(kind))
    fields = {one["name"]: one for one in every if one.get("type") != "file"}
    assert set(fields) == {"proofs", "tags", "private_note", "violation", "task"}
    assert fields["private_note"]["maxlength"] == str(MAX_NOTE_CHARACTERS)
    assert (fields["proofs"]["data-list"], fields["tags"]["data-list"]) == ("lines", "commas")
    bodies = forms(page)
    bodies[PROOF] |= {"proofs": ["done"], "tags": ["cat"], "private_note": ""}
    bodies[REPORT] |= {"violation": "Spam."}
    for path, body in reversed(bodies.items()):
        world.call("POST", f"/public/{path}", body).ok()


@pytest.mark.rule("R-07")
def test_what_can_no_longer_be_done_is_a_sentence_without_a_button(world: World) -> None:
    link = Link.of(world, task_timeout=60)

    def over(said: str, shown: set[str], status: int = 200) -> None:
        page = page_of(link, link.task_id)
        assert (page.status, set(forms(page))) == (status, shown), said
        assert said in page.notice, page.notice
        # Another task can be asked for.
        assert "task" in {one.get("name") for one in page.tags.of("input")}

    link.take(link.worker)
    link.world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    over("ran out", set())
    link.task_id = world.task(link.gig, availability="view_only")
    over("reading only", {DECLINE, REPORT})
    for verdict, said in (
        (None, "waits for its review"),
        ("approve", "approved"),
        ("reject", "rejected"),
    ):
        link.task_id = world.task(link.gig)
        proof = f"{link.gig.path}/proofs/{link.prove(link.worker)}"
        if verdict is not None:
            body = {"action": verdict, **({"requeue": False} if verdict == "reject" else {})}
            link.gig.owner.patch(proof, body)
        over(said, set())
    link.task_id = world.task(link.gig)
    link.take(link.colleague)
    over("no such task", set(), 404)
    link = Link.of(world, **SOLO)
    over("a copy of this task", {DECLINE, REPORT})


@pytest.mark.rule("R-04")
@pytest.mark.rule("R-07")
@pytest.mark.parametrize("requeue", [True, False])
def test_a_rejected_worker_reads_why_and_has_no_form(world: World, requeue: bool) -> None:
    link = Link.of(world)
    proof = f"{link.gig.path}/proofs/{link.prove(link.worker)}"
    body = {"action": "reject", "feedback": f"Too dark. {EVIL}", "rejection_tag": "low_quality"}
    link.gig.owner.patch(proof, {**body, "requeue": requeue})
    page = page_of(link, link.task_id)
    assert page.status == 200 and "Your proof of this task was rejected" in page.notice
    assert forms(page) == {} and len(page.tags.of("script")) == 1
    assert "Too dark." in page.main and "low quality" in page.main
    # What the form would have been answered.
    share = Share.of(link.worker)
    share.prove(link.task_id).refused(409, "already_proven")
    # It went back to the others, who read nothing of it.
    other = page_of(link, link.task_id, token_of(link.colleague))
    assert other.status == (200 if requeue else 404)
    assert "Too dark." not in other.text and (PROOF in forms(other)) == requeue


@pytest.mark.rule("Q-07")
@pytest.mark.rule("R-07")
def test_who_has_lost_a_task_to_the_clock_has_no_form_for_it(world: World) -> None:
    link = Link.of(world, task_timeout=60)
    link.take(link.worker)
    link.world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    holds.expire()
    page = page_of(link, link.task_id)
    assert "ran out" in page.notice and PROOF not in forms(page)
    assert PROOF in forms(page_of(link, link.task_id, token_of(link.colleague)))


@pytest.mark.rule("M-01")
@pytest.mark.rule("R-07")
def test_the_link_of_a_place_that_waits_says_so(world: World) -> None:
    gig = world.gig(requires_approval=True)
    person = world.person()
    made = person.post(f"{gig.path}/mailboxes", {"invite": gig.invite})["mailbox"]
    person.mailbox = made  # type: ignore[attr-defined]
    page = page_of(Link(world, gig, person, person, ""))
    assert page.status == 403 and page.notice.startswith("The owner has not let you in yet.")


@pytest.mark.rule("U-03")
@pytest.mark.rule("R-07")
def test_where_workers_name_their_work_the_page_asks_for_the_name(world: World) -> None:
    gig = world.gig(title="Birds", distribution="inbound_proof")
    link = Link(world, gig, world.worker(gig), world.worker(gig), "")
    page = page_of(link, "a%20wren")
    assert page.status == 200 and "A proof pays" in page.main
    assert forms(page) == {PROOF: {"share_token": token_of(link.worker)}}
    (name,) = [one for one in page.tags.of("input") if one.get("name") == "task_identifier"]
    assert (name["value"], name["maxlength"]) == ("a wren", "200") and "required" in name


@pytest.mark.rule("H-12")
@pytest.mark.rule("R-07")
def test_a_link_that_opens_nothing_says_so_and_shows_nothing(world: World) -> None:
    link = Link.of(world, title="Birds")
    old = token_of(link.worker)
    regenerate(link.gig, link.worker).ok()
    for token in (old, new_share_token(), "x" * 5000, "%00", "%ff", quote(EVIL.replace("/", ""))):
        page = page_of(link, link.task_id, token)
        assert page.status == 404 and page.notice
        assert "Birds" not in page.text and not page.tags.of("form")
    link.shut(link.worker)
    page = page_of(link)
    assert page.status == 403 and "inactive" in page.notice and "Birds" not in page.text
    for _ in range(6):
        page = page_of(link, token=new_share_token())
    assert page.status == 429 and page.notice and not page.tags.of("form")


@pytest.mark.rule("R-07")
@pytest.mark.rule("T-08")
def test_the_page_runs_its_own_script_alone_whatever_a_task_says(world: World) -> None:
    link = Link.of(world, title=EVIL, terms=EVIL, query={"subject": EVIL, "tags": EVIL})
    link.worker.patch(
        f"{link.gig.path}/mailboxes/{link.worker.mailbox['id']}",  # type: ignore[attr-defined]
        {"name": EVIL},
    )
    path = f"/api/inbound/webhook/{link.gig.id}?token={link.gig.token}"
    sent: Any = world.app.test_client().post(
        path,
        data='<h1 onclick="x()">Cats</h1><script>alert(1)</script><img src="https://x.example/a">',
        content_type="text/html",
    )
    html_task = sent.get_json()["message_id"]
    part = quote(EVIL.replace("/", ""), safe="")
    for page in (
        page_of(link),
        page_of(link, link.task_id),
        page_of(link, html_task),
        page_of(link, part),
        page_of(link, token=part),
    ):
        assert "<script>alert" not in page.text and "<img" not in page.text
        (script,), (style,) = page.tags.of("script"), page.tags.of("style")
        rules = page.headers["content-security-policy"]
        for name, element in (("script-src", script), ("style-src", style)):
            assert f"{name} 'nonce-{element['nonce']}'" in rules
        assert "default-src 'none'" in rules and "connect-src 'self'" in rules
        assert page.headers["referrer-policy"] == "no-referrer"
        assert page.headers["cache-control"] == "no-store"
        assert "set-cookie" not in page.headers
        for _, attrs in page.tags.found:
            assert not any(name.startswith("on") or name == "style" for name in attrs)
            assert not any(attrs.get(name) for name in ("src", "href", "action"))
    assert {name for name, _ in framed(page_of(link, html_task)).found} == {"style", "h1"}


@pytest.mark.rule("R-07")
def test_every_field_has_a_label_and_every_message_is_announced(world: World) -> None:
    link = Link.of(world)
    for page in (page_of(link), page_of(link, link.task_id), page_of(link, token="wrong")):
        labels = {one["for"] for one in page.tags.of("label")}
        fields = [one for kind in ("input", "textarea") for one in page.tags.of(kind)]
        assert labels == {one["id"] for one in fields}
        assert len(labels) == len(fields)
        assert len([1 for _, attrs in page.tags.found if attrs.get("role") == "status"]) == 1
        assert len(page.tags.of("h1")) == 1 and 'lang="en"' in page.text
