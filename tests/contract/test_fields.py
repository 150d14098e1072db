"""Every field of every body and query, with everything that it is not (H-05)."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import pytest
import simplejson

from tests.contract.scene import Route, Scene, all_hold, everything, routes
from tests.world import ADMIN_KEY, Answer, World

JSON = "application/json"
# What it takes is for the gig's mode to say, and this gig's has no verbs; see test_own_verbs.py.
BY_MODE = {"verbs.use"}
VALUES: list[Any] = [
    None,
    True,
    0,
    -1,
    1.5,
    2**63 - 1,
    "",
    "x" * 100_000,
    "\u202e",
    "\0",
    "'; DROP TABLE task; --",
    [],
    [None],
    {},
    {"$gt": ""},
]
TEXTS = [
    "",
    "0",
    "-1",
    "1.5",
    "9" * 30,
    "x" * 5_000,
    "\u202e",
    "\0",
    "null",
    "[]",
    "٣",
    "1_0",
    " 1",
]


def told_of(answer: Answer, name: str) -> None:
    """It did what it says, or the refusal is a 4xx; a 400 names the field."""
    if answer.status == 400:
        errors = answer.json["errors"]
        assert any(key == name or key.startswith(f"{name}.") for key in errors), errors
    elif answer.status >= 500:
        assert answer.status == 503, answer.text


@pytest.mark.rule("H-05")
def test_no_value_of_any_field_of_a_body_is_a_fault_of_ours(world: World) -> None:
    scene = Scene.of(world)

    def holds(row: tuple[Route, str]) -> None:
        route, name = row
        headers = {**scene.headers(route), "content-type": JSON}
        for value in VALUES:
            body = simplejson.dumps({**(scene.body(route) or {}), name: value}).encode()
            told_of(world.call(route.method, scene.path(route), raw=body, headers=headers), name)

    rows = [
        (route, one.data_key or name)
        for route in routes(world.app)
        if route.body is not None
        for name, one in route.body.fields.items()
    ]
    assert len(rows) > 60
    all_hold(rows, holds)


@pytest.mark.rule("H-05")
def test_no_value_of_any_parameter_of_a_query_is_a_fault_of_ours(world: World) -> None:
    scene = Scene.of(world)

    def holds(row: tuple[Route, str]) -> None:
        route, name = row
        base = re.sub(f"(?<=[?&]){name}=[^&]*&?", "", scene.path(route)).rstrip("?&")
        for text in TEXTS:
            path = f"{base}{'&' if '?' in base else '?'}{name}={quote(text)}"
            told_of(world.call(route.method, path, headers=scene.headers(route)), name)

    rows = [
        (route, one.data_key or name)
        for route in routes(world.app)
        if route.query is not None
        for name, one in route.query.fields.items()
    ]
    assert len(rows) > 15
    all_hold(rows, holds)


@pytest.mark.rule("H-05")
def test_a_field_that_nobody_reads_is_refused_on_every_route(world: World) -> None:
    """Also where no body is read: a change that was not made must not look like one."""
    scene = Scene.of(world)
    before = everything()

    def refused(route: Route) -> None:
        for name in ("priice", "id", "__proto__", "Title", "title ", "owner_id", "é\u202e"):
            body = simplejson.dumps({**(scene.body(route) or {}), name: None}).encode()
            headers = {**scene.headers(route), "content-type": JSON}
            answer = world.call(route.method, scene.path(route), raw=body, headers=headers)
            assert len(answer.refused(400)["errors"]) == 1

    reading = [
        route
        for route in routes(world.app)
        if route.method != "GET" and not route.takes_payload and route.endpoint not in BY_MODE
    ]
    all_hold(reading, refused)
    assert everything() == before


@pytest.mark.rule("H-05")
def test_a_parameter_that_nobody_reads_is_refused_on_every_route(world: World) -> None:
    scene = Scene.of(world)
    before = everything()

    def refused(route: Route) -> None:
        path = scene.path(route)
        more = f"{path}{'&' if '?' in path else '?'}"
        for query in ("limitt=5", "LIMIT=5", "x", "x=1&y=2", "%00=1", "a%00=1", "x=%00", "%ff=1"):
            body = None if route.takes_payload else scene.body(route)
            answer = world.call(route.method, more + query, body, headers=scene.headers(route))
            assert answer.refused(400)["errors"], query

    all_hold([route for route in routes(world.app) if route.rule != "/gigs"], refused)
    scene.owner.call("POST", "/gigs?x=1", {"title": "A gig"}).refused(400)
    assert everything() == before


@pytest.mark.rule("H-05")
def test_a_parameter_may_be_given_once(world: World) -> None:
    scene = Scene.of(world)

    def refused(route: Route) -> None:
        for name in route.query.fields:
            path = f"{scene.path(route).partition('?')[0]}?{name}=1&{name}=1"
            errors = world.call(route.method, path, headers=scene.headers(route)).refused(400)
            assert errors["errors"] == {name: "give this parameter once"}

    all_hold([route for route in routes(world.app) if route.query is not None], refused)


@pytest.mark.rule("H-05")
def test_every_bad_field_is_listed_at_once(world: World) -> None:
    body = {
        "title": "",
        "price": -1,
        "tags": ["ok", "", "x" * 257],
        "join_policy": "closed",
        "requires_approval": "yes",
        "review_timeout": -2,
        "distribution": 5,
        "nonsense": 1,
    }
    told = world.person().call("POST", "/gigs", body).refused(400)
    assert set(told["errors"]) == {*(set(body) - {"tags"}), "tags.1", "tags.2"}
    for name in told["errors"]:
        assert name in told["error"]


@pytest.mark.rule("H-04")
def test_a_refusal_is_short_and_printable_whatever_was_sent(world: World) -> None:
    owner = world.person()
    many = {f"field{number}": 1 for number in range(5000)}
    told = owner.call("POST", "/wallets", many).refused(400)
    assert len(told["errors"]) == 50 and "4950 more" in told["error"]
    for name in ("x" * 1_000_000, "a\nb\r\n\x1b[31m", "\u202eevil", "<script>"):
        told = owner.call("POST", "/wallets", {name: 1}).refused(400)
        assert all(key.isprintable() for key in told["errors"])
    query = "&".join(f"p{number}=1" for number in range(2000))
    owner.call("GET", f"/wallets?{query}").refused(400)
    owner.call("GET", f"/gigs/mine?{query}").refused(400)


@pytest.mark.rule("H-05")
def test_a_query_of_bytes_that_are_not_utf8_is_refused(world: World) -> None:
    scene = Scene.of(world)
    headers = {"x-api-key": scene.owner.key}
    for path in ("/wallets", "/gigs/mine", f"/gigs/{scene.gig.id}/queue"):
        for raw in ("tag=\xff", "\xed\xa0\x80=1", "tag=%ff", "tag=%ed%a0%80", "tag=%c0%80"):
            answer = world.app.test_client().get(
                f"/api{path}", headers=headers, environ_overrides={"QUERY_STRING": raw}
            )
            assert answer.status_code == 400
            assert answer.content_type == "application/problem+json"


NO_ADDRESSES = ["me", "a@b@c", "a b@c.d", "x@y.z\r\nBcc: all@example.com", "x@y.z\n", "@", "x@"]


@pytest.mark.rule("M-01")
def test_an_address_that_no_mail_can_reach_is_refused_wherever_it_is_given(world: World) -> None:
    gig = world.gig()
    admin = {"x-admin-key": ADMIN_KEY}
    before = everything()

    def refused(email: str) -> None:
        for path, body, headers in (
            (f"{gig.path}/mailboxes", {"invite": gig.invite, "email": email}, {}),
            (f"{gig.path}/invites", {"email": email}, {}),
            ("/admin/users/provision", {"email": email}, admin),
        ):
            told = gig.owner.call("POST", path, body, headers=headers).refused(400)
            assert list(told["errors"]) == ["email"]

    all_hold(NO_ADDRESSES, refused)
    assert everything() == before


HIDDEN = [
    "http://10.0.0.1/",
    "http://169.254.169.254/latest",
    "http://[::ffff:10.0.0.1]/",
    "https://user:pass@example.com/",
    "https://exa\nmple.com/",
    "https://example.com:22/",
    "ftp://example.com/",
    "https://",
    "example.com",
    "javascript:alert(1)",
    "https://" + "x" * 3000,
    "",
]


@pytest.mark.rule("W-04")
def test_an_address_where_no_webhook_may_go_is_refused_when_it_is_given(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    mailbox = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    before = everything()

    def refused(url: str) -> None:
        for person, method, path, name in (
            (gig.owner, "POST", "/gigs", "proof_webhook_url"),
            (gig.owner, "PATCH", gig.path, "proof_webhook_url"),
            (gig.owner, "POST", f"{gig.path}/mailboxes", "events_webhook_url"),
            (worker, "PATCH", mailbox, "events_webhook_url"),
        ):
            body = {name: url} | ({"title": "A gig"} if path == "/gigs" else {})
            body |= {"invite": gig.invite} if method == "POST" and path != "/gigs" else {}
            assert list(person.call(method, path, body).refused(400)["errors"]) == [name]

    all_hold(HIDDEN, refused)
    assert everything() == before


@pytest.mark.rule("G-01")
def test_a_picture_of_a_gig_is_an_address_that_a_browser_may_be_sent_to(world: World) -> None:
    gig = world.gig(icon_url="https://example.com/bird.png")

    def refused(url: str) -> None:
        named = gig.owner.call("PATCH", gig.path, {"icon_url": url}).refused(400)["errors"]
        assert list(named) == ["icon_url"]

    all_hold(
        [
            "javascript:1",
            "data:text/html,x",
            "//a/b",
            "bird.png",
            "https://",
            "http://[a",
            "http://a b",
        ],
        refused,
    )
    assert gig.owner.get(gig.path)["gig"]["icon_url"] == "https://example.com/bird.png"
    gig.owner.patch(gig.path, {"icon_url": ""})


SOMEBODY = "0x" + "1" * 40
LEVERS: list[tuple[str, dict[str, Any], str]] = [
    *(
        ("/dev/faucet", {"address": SOMEBODY, "eth": eth}, "eth")
        for eth in (
            "1e999999",
            "0." + "0" * 18 + "1",
            "1." + "0" * 28 + "1",
            "1_0",
            "NaN",
            "-1",
            -1,
        )
    ),
    ("/dev/faucet", {"address": SOMEBODY, "eth": "1000001"}, "eth"),
    ("/dev/faucet", {"address": SOMEBODY, "eth": True}, "eth"),
    ("/dev/faucet", {"address": SOMEBODY[:-1]}, "address"),
    ("/dev/clock/advance", {"seconds": -1}, "seconds"),
    ("/dev/clock/advance", {"seconds": 10**12}, "seconds"),
    ("/dev/clock/advance", {"seconds": True}, "seconds"),
    ("/dev/chain/mine", {"blocks": 0}, "blocks"),
    ("/dev/chain/mine", {"blocks": 1001}, "blocks"),
]


@pytest.mark.rule("H-05")
def test_the_levers_of_development_refuse_by_name_too(world: World) -> None:
    def refused(row: tuple[str, dict[str, Any], str]) -> None:
        path, body, named = row
        assert list(world.call("POST", path, body).refused(400)["errors"]) == [named]

    all_hold(LEVERS, refused)


@pytest.mark.rule("H-10")
def test_the_clock_never_leaves_what_can_be_written_down(world: World) -> None:
    for _ in range(10):
        world.call("POST", "/dev/clock/advance", {"seconds": 3650 * 86_400}).ok()
    world.call("POST", "/dev/clock/advance", {"seconds": 1}).refused(400)
    gig = world.gig(review_timeout=10 * 365 * 86_400)
    assert world.task(gig) and gig.owner.get(gig.path)["gig"]["created_at"] > "21"
