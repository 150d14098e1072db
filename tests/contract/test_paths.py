"""Ids that name nothing, paths that lead nowhere, methods that no path takes."""

from __future__ import annotations

import pytest

from tests.contract.scene import Route, Scene, all_hold, everything, routes
from tests.world import Answer, World

NO_IDS = [
    "x",
    "x" * 10_000,
    "null",
    "0",
    "-1",
    "*",
    "%25",
    "%2A",
    "%00",
    "GIG_%00",
    "%0a%0d",
    "%20",
    "%ff",
    "%ed%a0%80",
    "%e2%80%ae",
    "%F0%9F%98%80",
    "'%20OR%201=1--",
    "%7B%7D",
    "<script>",
]


def call(scene: Scene, route: Route, path: str) -> Answer:
    body = None if route.takes_payload else scene.body(route)
    return scene.world.call(route.method, path, body, headers=scene.headers(route))


def named(scene: Scene, route: Route) -> list[str]:
    # An address is no id: every one may be asked about.
    return [name for name in scene.ids if name != "wallet" and f"<{name}>" in route.rule]


@pytest.mark.rule("H-03")
@pytest.mark.rule("H-05")
def test_an_id_that_names_nothing_is_404_on_every_route(world: World) -> None:
    scene = Scene.of(world)
    # "mine" stands where an id does, and is a list.
    rows = [route for route in routes(world.app) if named(scene, route)]
    before = everything()

    def absent(route: Route) -> None:
        for name in named(scene, route):
            real = scene.ids[name]
            others = [value for kind, value in scene.ids.items() if kind != name]
            wrongs = {*NO_IDS, *others, real.lower(), real + "x", real[:-1], f"%20{real}"}
            # A number has no other case.
            for wrong in wrongs - {real}:
                answer = call(scene, route, scene.path(route, **{name: wrong}))
                answer.refused(404, "not_found")

    all_hold(rows, absent)
    assert everything() == before


@pytest.mark.rule("H-05")
def test_an_id_of_another_gig_is_refused_whoever_holds_both(world: World) -> None:
    """The owner of both gigs and a worker of both cannot reach a row through the wrong one."""
    scene = Scene.of(world)
    second = world.gig(scene.owner)
    world.worker(second, scene.worker)
    before = everything()

    def refused(route: Route) -> None:
        inner = [name for name in named(scene, route) if name != "gig_id"]
        answer = call(scene, route, scene.path(route, gig_id=second.id))
        if inner:
            answer.refused(404, "not_found")
        elif route.endpoint == "inbound.submit":
            answer.refused(403, "wrong_token")

    rows = [route for route in routes(world.app) if "<gig_id>/" in f"{route.rule}/"]
    all_hold([route for route in rows if "<" in route.rule.partition("<gig_id>")[2]], refused)
    all_hold([route for route in rows if route.takes_payload], refused)
    told = scene.worker.call(
        "POST", f"{second.path}/proofs", {"task_identifier": scene.held}
    ).refused(404, "not_found")
    assert "task" in told["error"]
    mailbox = {"mailbox_id": scene.ids["mailbox_id"]}
    scene.worker.call("POST", f"{second.path}/queue/poll", mailbox).refused(403, "not_joined")
    assert everything() == before


NOWHERE = [
    "",
    "/",
    "/gigs//queue",
    "//gigs/mine",
    "/gigs/../gigs/mine",
    "/gigs/%2e%2e/mine",
    "/gigs/..%2fmine",
    "/gigs/mine%00",
    "/gigs/mine;x=1",
    "/GIGS/mine",
    "/gigs/mine/x",
    "/../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/..%5c..%5cetc",
    "/gigs/%2Fmine",
    "/static/x",
    "/" + "x" * 10_000,
    "/%",
    "/%zz",
]


@pytest.mark.rule("H-04")
def test_a_path_that_leads_nowhere_is_404_and_no_redirect(world: World) -> None:
    owner = world.person()

    def absent(path: str) -> None:
        for method in ("GET", "POST", "DELETE"):
            assert owner.call(method, path).status in (404, 405)

    all_hold(NOWHERE, absent)
    for path in ("/favicon.ico", "/api", "/.env", "/%00"):
        assert world.app.test_client().get(path).status_code == 404


@pytest.mark.rule("H-01")
def test_a_slash_at_the_end_changes_nothing(world: World) -> None:
    owner = world.person()
    for path in ("/gigs/mine/", "/wallets/", "/auth/me/", f"{world.gig(owner).path}/"):
        assert owner.get(path) == owner.get(path.removesuffix("/"))


@pytest.mark.rule("H-05")
def test_a_method_that_a_path_does_not_take_is_405_and_tells_those_that_it_takes(
    world: World,
) -> None:
    scene = Scene.of(world)
    before = everything()

    def refused(route: Route) -> None:
        put = () if route.rule == "/uploads/<key>" else ("PUT",)
        for method in (*put, "TRACE", "CONNECT", "BREW", "PROPFIND"):
            answer = scene.owner.call(method, scene.path(route), raw=b"{}")
            answer.refused(405, "method_not_allowed")
            assert route.method in answer.headers["allow"]

    all_hold(routes(world.app), refused)
    assert everything() == before


@pytest.mark.rule("H-05")
def test_options_and_head_answer_without_a_body_and_do_nothing(world: World) -> None:
    scene = Scene.of(world)
    before = everything()

    def answered(route: Route) -> None:
        path, headers = scene.path(route), scene.headers(route)
        options = world.call("OPTIONS", path, headers=headers)
        assert options.status == 200 and options.text == ""
        assert route.method in options.headers["allow"]
        if route.method == "GET":
            got, head = (world.call(method, path, headers=headers) for method in ("GET", "HEAD"))
            assert head.text == "" and head.status == got.status
            assert head.headers["content-type"] == got.headers["content-type"]

    all_hold(routes(world.app), answered)
    # A public route counts who reads it.
    assert {**everything(), "counter": before["counter"]} == before


@pytest.mark.rule("H-04")
@pytest.mark.rule("H-01")
def test_answers_are_json_whatever_the_caller_would_rather_have(world: World) -> None:
    owner = world.person()
    for accept in ("text/html", "application/xml", "*/*;q=0", "garbage", "", "x" * 5000, "image/*"):
        headers = {"accept": accept, "accept-encoding": "br;q=1.0, x", "accept-language": "\xe9"}
        assert owner.call("GET", "/auth/me", headers=headers).headers["content-type"] == (
            "application/json"
        )
        owner.call("GET", "/nothing", headers=headers).refused(404)


# What a `Prefer` may say, and what is no number of seconds.
WAITS = [
    "wait=-1",
    "wait=x",
    "wait",
    "wait=1.5",
    "wait=",
    "wait=99999",
    'wait="',
    "wait=1x",
    "Wait=x",
]


@pytest.mark.rule("H-08")
def test_a_wait_that_is_no_number_of_seconds_is_refused(world: World) -> None:
    scene = Scene.of(world)
    before = everything()

    def refused(prefer: str) -> None:
        for path, body in (
            (f"{scene.gig.path}/rollups", {}),
            (f"{scene.gig.path}/deposit", {"wallet_alias_id": "x", "amount": 1}),
        ):
            told = scene.owner.call("POST", path, body, headers={"prefer": prefer}).refused(400)
            assert list(told["errors"]) == ["Prefer"]

    all_hold(WAITS, refused)
    assert everything() == before
