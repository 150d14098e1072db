"""What the links open: a task's page, and the page that joins a gig (C-01, G-05, T-06, T-08)."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote

import pytest

from engine import install
from tests.contract.links import SOLO, Link, place
from tests.contract.scene import everything
from tests.contract.shares import token_of
from tests.world import Person, World

SANDBOX = "allow-popups allow-popups-to-escape-sandbox"
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

    def links(self) -> list[str]:
        """Where the page's links lead; those to elsewhere open apart and learn of nothing."""
        for attrs in self.of("a"):
            if not str(attrs["href"]).startswith("/"):
                assert attrs["target"] == "_blank" and attrs["rel"] == "noopener noreferrer"
        return [str(attrs["href"]) for attrs in self.of("a")]

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


def style_rules(page: Page) -> tuple[str, str]:
    """What may style the page: its own element's nonce, and the hash of a frame's style."""
    told = dict(
        one.strip().split(" ", 1) for one in page.headers["content-security-policy"].split(";")
    )
    nonce, digest = told["style-src"].split()
    return nonce, digest


def framed(page: Page) -> Tags:
    """What is in the page's frame, whose style the policy knows."""
    (frame,) = page.tags.of("iframe")
    assert frame["sandbox"] == SANDBOX
    inside = str(frame["srcdoc"])
    (style,) = re.findall("<style>(.*?)</style>", inside)
    assert "color-scheme:light dark" in style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert style_rules(page)[1] == f"'sha256-{digest}'"
    return Tags(inside)


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
            assert rules["script-src"] == f"'nonce-{script['nonce']}'"
            assert style_rules(page)[0] == f"'nonce-{style['nonce']}'"
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
            for tag, attrs in page.tags.found:
                assert not {"src", "style", "action"} & set(attrs)
                assert tag == "a" or "href" not in attrs
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
            fields = {one["name"]: one for one in page.tags.of("input")}
            assert set(fields) == {"key", "email", "code"}
            given = fields["key"]
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
    # His own page is the way on, and it is nobody else's to see.
    on = f"/submit/{token_of(link.worker)}?task={link.task_id}"
    assert held.tags.links() == [on] and "POST /api" not in held.main
    assert Page(world, on).status == 200
    assert token_of(link.worker) not in _page(link, link.gig.owner).text
    assert token_of(link.worker) not in _page(link, link.colleague).text


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
    assert page.tags.links() == [f"/submit/{token_of(worker)}"]
    assert f"POST {'/api'}{gig.path}/queue/poll" in page.main
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
        '<a href="https://x.example/b?c=1&amp;d=2" target="_top" rel="opener">b</a>'
        '<a href="/c">c</a>'
        '<a href="#d">d</a><a href="data:text/html,x">e</a><a href="mailto:ana@example.com">f</a>'
        '<map><area href="https://x.example/g"></map><style>p{color:red}</style>'
    )
    path = f"/api/inbound/webhook/{gig.id}?token={gig.token}"
    sent: Any = world.app.test_client().post(
        path, data=body, content_type="text/html; charset=utf-8"
    )
    task_id = sent.get_json()["message_id"]
    page = Page(world, f"/claim/{gig.id}/{task_id}", worker)
    (frame,) = page.tags.of("iframe")
    inside = framed(page)
    assert {name for name, _ in inside.found} == {"style", "h1", "a", "p"}
    for tag, attrs in inside.found:
        kept = {"rel", "target"} if tag == "a" else set()
        assert set(attrs) <= kept | {"href"} and ("href" not in attrs or tag == "a")
    hrefs = [one["href"] for one in inside.of("a") if "href" in one]
    assert hrefs == ["https://x.example/b?c=1&d=2", "mailto:ana@example.com"]
    for one in inside.of("a"):
        assert (one["target"], one["rel"]) == ("_blank", "noopener noreferrer")
    assert "Cats" in (frame["srcdoc"] or "") and "alert" not in page.main
    # A reader of the API has it to the byte.
    assert worker.get(f"{gig.path}/tasks/{task_id}")["task"]["payload"] == body


@pytest.mark.rule("T-08")
def test_web_addresses_in_a_text_are_links_and_nothing_else_is(world: World) -> None:
    link = Link.of(world)
    text = (
        "See https://a.example/x?y=1&z=2. Or (HTTP://B.example/c_(d)), not javascript:alert(1), "
        'data:text/html,x, ftp://c.example or nohttps://d.example. <a href="https://e.example/'
        "\"onclick='x()'>https://f.example/<script>alert(1)</script> https://!"
    )
    link.set(payload=text)
    page = _page(link, link.worker)
    assert page.tags.links() == [
        "https://a.example/x?y=1&z=2",
        "HTTP://B.example/c_(d)",
        "https://e.example/",
        "https://f.example/",
    ]
    assert all(set(one) == {"href", "target", "rel"} for one in page.tags.of("a"))
    assert len(page.tags.of("script")) == 1
    shown = page.main.partition("<pre>")[2].partition("</pre>")[0]
    assert html.unescape(re.sub("<[^>]*>", "", shown)) == text


@pytest.mark.rule("H-12")
@pytest.mark.rule("G-05")
def test_an_invite_tells_what_it_is_to_before_there_is_a_key(world: World) -> None:
    link = Link.of(world, title="Cats", terms="Be kind.", query={"subject": "a secret subject"})
    gig, other = link.gig, world.gig()
    gig.owner.patch("/auth/me", {"display_name": "Olga"})
    for form in ("join", "claim", "task"):
        path = f"/{form}/{gig.id}" + ("" if form == "join" else f"/{link.task_id}")
        for who, status in ((None, 200), ("wrong", 401)):
            page = Page(world, f"{path}?invite={gig.invite}", who)
            assert page.status == status
            for told in ("Cats", "Be kind.", "$2.50", "Olga"):
                assert told in page.main
            assert "a secret subject" not in page.text and JOIN not in page.main
        for token in ("wrong", other.invite):
            page = Page(world, f"{path}?invite={token}")
            assert page.status == 404 and "no such invite" in page.notice
            assert "Cats" not in page.text and page.tags.of("input")
    once = gig.owner.post(f"{gig.path}/invites", {"max_uses": 1})["invite"]["token"]
    world.worker(gig, invite=once)
    page = Page(world, f"/join/{gig.id}?invite={once}")
    assert page.status == 410 and "used up" in page.notice and page.tags.of("input")
    for n in range(10):
        page = Page(world, f"/join/{gig.id}?invite=guess{n}")
    assert page.status == 429
    page = Page(world, f"/join/{gig.id}?invite={gig.invite}")
    assert page.status == 429 and "Cats" not in page.text


@pytest.mark.rule("H-02")
@pytest.mark.rule("H-14")
def test_the_page_signs_in_by_email(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    gig = world.gig()
    page = Page(world, f"/join/{gig.id}?invite={gig.invite}")
    mail, code = (
        next(one for one in page.tags.of("form") if one["data-does"] == does)
        for does in ("mail", "code")
    )
    assert mail["data-path"] == "/api/auth/send-otp" and "hidden" not in mail
    assert code["data-path"] == "/api/auth/verify-otp" and "hidden" in code
    assert "this makes one" in page.main
    # Nothing is mailed by this install, and the page says where the code is.
    assert "log" in str(mail["data-done"])
    here = install.current()
    mailing = replace(here.settings, SMTP_URL="smtp://mail.example")
    monkeypatch.setattr(here, "settings", mailing)
    said = [one.get("data-done") for one in Page(world, f"/join/{gig.id}").tags.of("form")]
    assert any("by mail" in str(one) for one in said)
    fields = {one["name"]: one for one in page.tags.of("input")}
    assert (fields["email"]["type"], fields["code"]["autocomplete"]) == ("email", "one-time-code")
    assert re.fullmatch(str(fields["code"]["pattern"]), "012345")
    # The new key is shown outside what the page replaces, and it is hidden until there is one.
    (made,) = page.tags.of("aside")
    assert "hidden" in made and "<aside" not in page.main
    assert "shown only this once" in page.text
    labels = [one["for"] for one in page.tags.of("label")]
    assert sorted(map(str, labels)) == sorted(str(one["id"]) for one in page.tags.of("input"))


@pytest.mark.rule("U-03")
def test_where_workers_name_their_work_the_page_leads_to_handing_in(world: World) -> None:
    gig = world.gig(distribution="inbound_proof")
    worker = world.worker(gig)
    page = Page(world, f"/join/{gig.id}", worker)
    assert page.tags.links() == [f"/submit/{token_of(worker)}"]
    assert "queue/poll" not in page.main and f"POST /api{gig.path}/proofs" in page.main
    assert "A proof pays" in Page(world, f"/join/{gig.id}?invite={gig.invite}").main


@pytest.mark.rule("M-01")
def test_whoever_waits_to_be_let_in_reads_so(world: World) -> None:
    gig = world.gig(requires_approval=True)
    task_id = world.task(gig)
    person = world.person()
    joined = person.post(f"{gig.path}/mailboxes", {"invite": gig.invite})["mailbox"]
    assert joined["status"] == "pending_approval"
    for path in (f"/join/{gig.id}?invite={gig.invite}", f"/task/{gig.id}/{task_id}"):
        page = Page(world, path, person)
        assert page.notice.startswith("The owner has not let you in yet.")
        assert "pending_approval" not in page.text and JOIN not in page.main
    box = f"{gig.path}/mailboxes/{joined['id']}"
    gig.owner.patch(box, {"status": "active"})
    assert joined["id"] in Page(world, f"/join/{gig.id}", person).notice
    # Whom the owner has put out does not join again; who has left does.
    person.call("DELETE", box).ok()
    page = Page(world, f"/join/{gig.id}?invite={gig.invite}", person)
    assert "left" in page.notice and JOIN in page.main


@pytest.mark.rule("C-01")
def test_where_there_is_no_task_whoever_can_join_is_led_to_the_gig(world: World) -> None:
    invited, everybody = world.gig(), world.gig(join_policy="open")
    stranger, gone = world.person(), "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"
    query = f"?invite={invited.invite}"
    for gig, who, status, asked, on in (
        (everybody, stranger, 403, "", [f"/join/{everybody.id}"]),
        (everybody, world.worker(everybody), 404, "", []),
        (everybody, everybody.owner, 404, "", []),
        (invited, stranger, 403, "", []),
        (invited, stranger, 403, query, [f"/join/{invited.id}{query}"]),
    ):
        page = Page(world, f"/task/{gig.id}/{gone}{asked}", who)
        assert (page.status, page.tags.links()) == (status, on), page.notice
    # Where there is one he joins on the spot, and comes back to it.
    page = Page(world, f"/task/{everybody.id}/{world.task(everybody)}", stranger)
    assert JOIN in page.main


def test_the_bare_address_leads_to_the_description(world: World) -> None:
    answer = world.app.test_client().get("/")
    assert (answer.status_code, answer.headers["location"]) == (302, "/docs")
