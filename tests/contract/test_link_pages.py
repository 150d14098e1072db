"""What the links open: a task's page, and the page that joins a gig (C-01, G-05, T-06, T-08)."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest

from tests.contract.links import SOLO, Link, place
from tests.contract.scene import everything
from tests.world import Person, World

ACCEPT, JOIN = "Accept this task", "Join this gig"
EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.found if name == tag]


class Page:
    """A page as one visitor is answered it."""

    def __init__(self, world: World, path: str, who: Person | str | None = None) -> None:
        key = who.key if isinstance(who, Person) else who
        headers = {} if key is None else {"x-api-key": key}
        answer = world.app.test_client().get(path, headers=headers)
        self.status, self.headers = answer.status_code, answer.headers
        self.text = answer.get_data(as_text=True)
        self.main = self.text.partition("<main>")[2].partition("</main>")[0]
        self.tags = Tags(self.text)
        (notice,) = re.findall(r'role="status">(.*?)</p>', self.main)
        self.notice = html.unescape(notice)

    def posts(self) -> dict[str, str | None]:
        """The button that calls the API: where it posts to, and what."""
        (form,) = [one for one in self.tags.of("form") if one["data-does"] == "post"]
        assert form["method"] == "post"
        return {"path": form["data-path"], "body": form["data-body"]}


def _page(
    link: Link, who: Person | str | None = None, form: str = "claim", query: str = ""
) -> Page:
    return Page(link.world, f"/{form}/{link.gig.id}/{link.task_id}{query}", who)


@pytest.mark.rule("C-01")
def test_a_page_loads_nothing_from_elsewhere_and_runs_only_its_own_script(world: World) -> None:
    link = Link.of(world)
    for path in (
        f"/claim/{link.gig.id}/{link.task_id}",
        f"/task/{link.gig.id}/{link.task_id}",
        f"/join/{link.gig.id}?invite={link.gig.invite}",
    ):
        nonces = set()
        for who in (None, "wrong", link.worker, link.gig.owner, world.person()):
            page = Page(world, path, who)
            told = page.headers["content-security-policy"]
            rules = dict(one.strip().split(" ", 1) for one in told.split(";"))
            assert rules["default-src"] == "'none'"
            (script,), (style,) = page.tags.of("script"), page.tags.of("style")
            for name, element in (("script-src", script), ("style-src", style)):
                assert rules[name] == f"'nonce-{element['nonce']}'"
            assert "src" not in script
            nonces.add(script["nonce"])
            assert rules["connect-src"] == "'self'"
            for name in ("base-uri", "form-action", "frame-ancestors"):
                assert rules[name] == "'none'"
            assert page.headers["x-content-type-options"] == "nosniff"
            assert page.headers["referrer-policy"] == "no-referrer"
            assert page.headers["cache-control"] == "no-store"
            assert "x-api-key" in page.headers["vary"]
            assert "set-cookie" not in page.headers
            for _, attrs in page.tags.found:
                assert not {"href", "src", "style", "action"} & set(attrs)
                assert not any(name.startswith("on") for name in attrs)
            assert 'name="viewport"' in page.text
        assert len(nonces) == 5


@pytest.mark.rule("H-02")
def test_a_visitor_without_a_key_is_asked_for_it_and_told_nothing(world: World) -> None:
    link = Link.of(world, query={"subject": "a secret subject"})
    for form in ("claim", "task"):
        for who, status in ((None, 200), ("wrong", 401)):
            page = _page(link, who, form)
            assert page.status == status
            (given,) = page.tags.of("input")
            assert (given["type"], given["autocomplete"]) == ("password", "off")
            assert ACCEPT not in page.main
            assert "a secret subject" not in page.text and "A gig" not in page.main
    # It is kept in the tab and leaves in a header alone.
    script = page.text.partition("<script")[2]
    assert "sessionStorage" in script and '"x-api-key"' in script
    for leak in ("localStorage", "document.cookie", "location.hash", "innerHTML", "eval("):
        assert leak not in script


@pytest.mark.rule("C-01")
def test_a_member_sees_the_task_and_the_button_that_takes_it(world: World) -> None:
    link = Link.of(world, query={"subject": "Film a cat", "tags": "cat,film", "price": "7.25"})
    page = _page(link, link.worker)
    assert page.status == 200
    for told in ("Film a cat", "cat, film", "$7.25"):
        assert told in page.main
    posts = page.posts()
    assert (posts["path"], posts["body"]) == (f"/api{link.path}", "{}")
    assert ACCEPT in page.main
    # Reading takes nothing.
    before = everything()
    _page(link, link.worker)
    assert everything() == before
    link.open().ok()
    held = _page(link, link.worker)
    assert ACCEPT not in held.main and held.notice == "This task is yours."
    assert link.task_id in held.main


@pytest.mark.rule("C-01")
def test_the_owner_reads_his_task_and_has_no_button(world: World) -> None:
    link = Link.of(world, query={"subject": "Film a cat"})
    page = _page(link, link.gig.owner)
    assert page.status == 200 and "Film a cat" in page.main
    assert ACCEPT not in page.main and JOIN not in page.main


@pytest.mark.rule("C-01")
@pytest.mark.rule("T-06")
def test_what_is_published_for_reading_has_no_button_at_either_address(world: World) -> None:
    link = Link.of(world, query={"subject": "Film a cat", "availability": "view_only"})
    for form in ("task", "claim"):
        page = _page(link, link.worker, form)
        assert page.status == 200 and "Film a cat" in page.main
        assert ACCEPT not in page.main
        assert page.notice == "This task is for reading only; nobody can take it."


@pytest.mark.rule("C-01")
def test_whoever_cannot_take_it_reads_why(world: World) -> None:
    link = Link.of(world, query={"subject": "Film a cat"})
    link.take(link.colleague)
    page = _page(link, link.worker)
    refusal = link.open().refused(409, "taken")
    assert page.notice == refusal["error"] and ACCEPT not in page.main
    assert page.status == 200 and "Film a cat" in page.main
    for unknown in ("TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ", "%00", "%ff", "x" * 5000):
        link.task_id = unknown
        assert _page(link, link.worker).status == 404
    link.task_id = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    page = _page(link, link.worker)
    assert page.status == 404 and page.notice == link.open().json["error"]
    link = Link.of(world, **SOLO, query={"subject": "Film a cat"})
    link.task_id = link.take(link.colleague)
    page = _page(link, link.worker)
    assert page.notice == link.open().refused(409, "other_worker")["error"]
    assert "Film a cat" not in page.text


@pytest.mark.rule("C-01")
@pytest.mark.rule("S-01")
def test_in_a_solo_gig_the_page_shows_the_visitors_own_copy(world: World) -> None:
    link = Link.of(world, **SOLO, query={"subject": "Film a cat"})
    link.owner_sets("private-details", {"private_details": "in the garden"})
    assert ACCEPT in _page(link, link.worker).main
    copy_id = link.take(link.worker)
    page = _page(link, link.worker)
    assert copy_id in page.main and link.task_id not in page.main
    assert "in the garden" in page.main
    other = _page(link, link.colleague)
    assert ACCEPT in other.main and "in the garden" not in other.main


@pytest.mark.rule("C-01")
@pytest.mark.rule("G-05")
def test_whoever_has_not_joined_joins_and_comes_back_to_the_task(world: World) -> None:
    link = Link.of(world, title="Cats", terms="Be kind.", query={"subject": "Film a cat"})
    stranger = world.person("stranger")
    page = _page(link, stranger)
    assert (page.status, "Film a cat" in page.text, JOIN in page.main) == (403, False, False)
    assert page.notice == "This gig is by invite. Ask its owner for a link with an invite."
    assert "Cats" not in page.main
    query = f"?invite={link.gig.invite}"
    page = _page(link, stranger, query=query)
    assert page.status == 403 and "Film a cat" not in page.text
    assert "Cats" in page.main and "Be kind." in page.main
    posts = page.posts()
    assert posts["path"] == f"/api{link.gig.path}/mailboxes"
    assert posts["body"] == f'{{"invite": "{link.gig.invite}"}}'
    stranger.post(f"{link.gig.path}/mailboxes", {"invite": link.gig.invite})
    assert ACCEPT in _page(link, stranger, query=query).main


@pytest.mark.rule("C-01")
@pytest.mark.rule("G-05")
def test_a_bad_invite_is_a_sentence_and_guessing_them_is_limited(world: World) -> None:
    link, other = Link.of(world), world.gig()
    stranger = world.person("stranger")
    for token in ("wrong", other.invite, "%00", "x" * 500, "%22%3E%3Cscript%3E"):
        page = _page(link, stranger, query=f"?invite={token}")
        assert page.status == 404 and JOIN not in page.main and page.notice
    for n in range(10):
        page = _page(link, stranger, query=f"?invite=guess{n}")
    assert page.status == 429
    assert _page(link, stranger, query=f"?invite={link.gig.invite}").status == 429


@pytest.mark.rule("G-05")
@pytest.mark.rule("M-01")
def test_the_page_of_an_invite_joins_its_gig(world: World) -> None:
    gig = world.gig(title="Cats", terms="Be kind.")
    url = gig.owner.post(f"{gig.path}/invites")["invite"]["invite_url"]
    path = "/join/" + url.partition("/join/")[2]
    stranger = world.person("stranger")
    assert Page(world, path).tags.of("input")
    page = Page(world, path, stranger)
    assert page.status == 200 and "Cats" in page.main and JOIN in page.main
    assert page.posts()["path"] == f"/api{gig.path}/mailboxes"
    worker = world.worker(gig, stranger)
    page = Page(world, path, worker)
    assert place(worker) in page.notice and JOIN not in page.main
    assert Page(world, "/join/GIG_01JZZZZZZZZZZZZZZZZZZZZZZZ", stranger).status == 404
    everybody = world.gig(join_policy="open")
    page = Page(world, f"/join/{everybody.id}", stranger)
    assert JOIN in page.main and page.posts()["body"] == "{}"


@pytest.mark.rule("T-08")
def test_nothing_that_a_task_or_an_address_says_becomes_a_part_of_the_page(world: World) -> None:
    link = Link.of(world, title=EVIL, terms=EVIL, query={"subject": EVIL, "tags": EVIL})
    link.owner_sets("private-details", {"private_details": EVIL})
    link.open().ok()
    part = quote(EVIL.replace("/", ""), safe="")
    pages = [
        _page(link, link.worker),
        _page(link, link.gig.owner),
        _page(link, world.person(), query=f"?invite={link.gig.invite}"),
        Page(world, f"/claim/{part}/{part}", link.worker),
        Page(world, f"/join/{part}?invite={part}", link.worker),
        Page(world, f"/join/{link.gig.id}?invite={part}", world.person()),
    ]
    for page in pages:
        assert "<script>alert" not in page.text and "<img" not in page.text
        assert len(page.tags.of("script")) == 1
        assert "img" not in {name for name, _ in page.tags.found}
    assert "&lt;script&gt;alert(1)" in pages[0].main


@pytest.mark.rule("T-08")
def test_a_body_of_html_is_sanitised_and_shown_in_a_frame_where_nothing_runs(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    body = (
        '<h1 onclick="x()">Cats</h1><script>alert(1)</script><img src="https://x.example/a.png">'
        '<a href="javascript:alert(1)">a</a><iframe srcdoc="<script>x</script>"></iframe>'
        '<form action="https://x.example"><input name=key></form><p>"quoted"</p>'
    )
    path = f"/api/inbound/webhook/{gig.id}?token={gig.token}"
    sent: Any = world.app.test_client().post(
        path, data=body, content_type="text/html; charset=utf-8"
    )
    task_id = sent.get_json()["message_id"]
    page = Page(world, f"/claim/{gig.id}/{task_id}", worker)
    (frame,) = page.tags.of("iframe")
    assert frame["sandbox"] == ""
    inside = Tags(frame["srcdoc"] or "")
    assert {name for name, _ in inside.found} <= {"h1", "a", "p"}
    assert all(set(attrs) <= {"rel"} for _, attrs in inside.found)
    assert "Cats" in (frame["srcdoc"] or "") and "alert" not in page.main
    # A reader of the API has it to the byte.
    assert worker.get(f"{gig.path}/tasks/{task_id}")["task"]["payload"] == body
