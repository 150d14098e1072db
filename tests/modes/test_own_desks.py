"""Desks of modes: what may be done there is what may be done anywhere, and where they may be."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from engine import clock, hookspecs, modes
from engine.errors import SettingsError
from engine.modes import OWN_PATHS, check_desk_path
from engine.plans import Desk, ModeInfo, Verb
from jobs import actors
from plugins import defaults
from tests.modes import desk_mode
from tests.world import Answer, Gig, Person, World
from web import app as web_app

_keys = itertools.count(1)


@pytest.fixture
def benches(world: World) -> World:
    """The install, served by an application that has the desk of `desk_mode.py`."""
    modes.install(desk_mode, defaults)
    world.app = web_app.create(world.runtime)
    return world


def at_desk(person: Person, number: Any, verb: str, **body: Any) -> Answer:
    headers = {"if-match": "*", "idempotency-key": f"desk-{next(_keys)}"}
    return person.call("POST", f"/v1/benches/{number}/{verb}", body, headers=headers)


def in_gig(gig: Gig, person: Person, task_id: str, verb: str, **body: Any) -> Answer:
    return person.call("POST", f"{gig.path}/tasks/{task_id}/do/{verb}", body)


def desk(person: Person, query: str = "") -> list[Any]:
    found: list[Any] = person.get(f"/v1/benches{query}")
    return found


def memo(gig: Gig, task_id: str) -> Any:
    return gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["mode"]


@pytest.mark.rule("G-03")
@pytest.mark.rule("A-01")
def test_a_desk_is_no_way_around_the_roles_of_a_verb(benches: World) -> None:
    gig = benches.gig(distribution="benches", price="1")
    worker = benches.worker(gig)
    task_id = benches.task(gig)
    (item,) = desk(worker)
    at_desk(worker, item["id"], "odd").refused(403)
    in_gig(gig, worker, task_id, "odd").refused(403)
    # What only the owner may is on nobody's desk.
    at_desk(worker, item["id"], "boss").refused(404)
    rules = {rule.rule for rule in benches.app.url_map.iter_rules()}
    assert "/api/v1/benches/<number>/lead" in rules and "/api/v1/benches/<number>/boss" not in rules
    for verb in ("note", "lead", "look"):
        assert at_desk(worker, item["id"], verb).status == 204
    assert memo(gig, task_id) == {
        "stage": "given",
        "note": True,
        "lead": True,
        "look": True,
        "fields": {},
    }


@pytest.mark.rule("G-03")
@pytest.mark.rule("Q-07")
def test_what_is_not_in_hand_any_more_is_not_to_be_used_at_a_desk_either(benches: World) -> None:
    gig = benches.gig(distribution="benches", price="1", task_timeout=60)
    worker = benches.worker(gig)
    task_id = benches.task(gig)
    (item,) = desk(worker)
    assert at_desk(worker, item["id"], "quote", amount=1).status == 204
    clock.advance(60)
    for verb, body in (("quote", {"amount": 2}), ("finish", {})):
        in_gig(gig, worker, task_id, verb, **body).refused(410, "claim_lost")
        at_desk(worker, item["id"], verb, **body).refused(410, "claim_lost")
    actors.sweep()
    in_gig(gig, worker, task_id, "finish").refused(410, "claim_lost")
    at_desk(worker, item["id"], "finish").refused(404)
    assert memo(gig, task_id)["quote"]["amount"] == 1_000_000


@pytest.mark.rule("G-03")
def test_what_is_handed_in_is_listed_and_its_holders_verbs_are_over(benches: World) -> None:
    gig = benches.gig(distribution="benches", price="1")
    worker = benches.worker(gig)
    task_id = benches.task(gig)
    (item,) = desk(worker)
    stale = item["etag"]
    assert at_desk(worker, item["id"], "finish").status == 204
    for query in ("", "?more=false", "?more=true"):
        (seen,) = desk(worker, query)
        assert (seen["stage"], seen["status"]) == ("done", "submitted")
    headers = {"if-match": stale, "idempotency-key": "stale"}
    path = f"/v1/benches/{item['id']}/quote"
    worker.call("POST", path, {"amount": 1}, headers=headers).refused(412)
    for verb, code in (("quote", "wrong_state"), ("finish", "wrong_stage")):
        body = {"amount": 1} if verb == "quote" else {}
        told = in_gig(gig, worker, task_id, verb, **body).refused(409, code)
        assert (
            at_desk(worker, item["id"], verb, **body).refused(409, code)["error"] == told["error"]
        )
    (proof,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    assert [one["status"] for one in desk(worker)] == ["approved"]


@pytest.mark.rule("G-03")
@pytest.mark.rule("H-09")
def test_the_body_of_an_action_is_read_once(benches: World) -> None:
    gig = benches.gig(distribution="benches", price="1")
    worker = benches.worker(gig)
    task_id = benches.task(gig)
    (item,) = desk(worker)
    for use in (
        lambda body: at_desk(worker, item["id"], "quote", **body),
        lambda body: in_gig(gig, worker, task_id, "quote", **body),
    ):
        for given, units in (("2.50", 2_500_000), (0, 0), (9, 9_000_000)):
            assert use({"amount": given}).status in (200, 204)
            assert memo(gig, task_id)["quote"] == {"amount": units, "extra": 250_000}
        for wrong in ("9.01", None, True, "x"):
            assert list(use({"amount": wrong}).refused(400)["errors"]) == ["amount"]


@pytest.mark.rule("H-05")
def test_an_answer_without_a_body_has_no_type_of_one(benches: World) -> None:
    gig = benches.gig(distribution="benches", price="1")
    worker = benches.worker(gig)
    benches.task(gig)
    (item,) = desk(worker)
    headers = {"if-match": "*", "idempotency-key": "same"}
    for _ in range(2):
        answer = worker.call("POST", f"/v1/benches/{item['id']}/note", {}, headers=headers)
        assert answer.status == 204 and "content-type" not in answer.headers


def another(names: tuple[str, ...], **told: Any) -> Any:
    """A mode that has nothing but a description."""

    class Another:
        @staticmethod
        @hookspecs.impl
        def describe() -> ModeInfo:
            desk = Desk(told["path"], "Theirs", shown=("given",))
            verbs = told.get("verbs", ())
            return ModeInfo(names, "Another", "One.", stages=("given",), desk=desk, verbs=verbs)

    return Another()


@pytest.mark.rule("G-03")
def test_two_desks_at_one_path_stop_the_start() -> None:
    modes.install(desk_mode, defaults)
    modes.install(desk_mode, defaults)
    with pytest.raises(SettingsError, match="'benches' and 'mine' have one path for their desks"):
        modes.install(another(("mine",), path="/v1/benches"), defaults)
    assert "mine" not in modes.installed()


@pytest.mark.rule("G-03")
@pytest.mark.parametrize("path", [*OWN_PATHS, "/v1/me/things", "/gigs", "v1/x", "/v1/<x>", "/v1/X"])
def test_a_desk_in_the_way_of_what_is_muster_s_stops_the_start(path: str) -> None:
    with pytest.raises(SettingsError, match="the desk's path"):
        modes.install(another(("mine",), path=path), defaults)


@pytest.mark.rule("G-03")
def test_two_verbs_of_one_name_stop_the_start() -> None:
    verbs = (Verb("go", "Go."), Verb("go", "Go on."))
    with pytest.raises(SettingsError, match="two of its verbs are called 'go'"):
        modes.install(another(("mine",), path="/v1/mine", verbs=verbs), defaults)


@pytest.mark.rule("G-03")
@pytest.mark.parametrize("path", ["/v1/benches/7/note", "/v1/benches"])
def test_a_desk_at_the_path_of_a_route_stops_the_application(world: World, path: str) -> None:
    modes.install(desk_mode, defaults)
    mine = modes.Mode(another(("yours",), path=path), defaults)
    modes._modes["yours"] = mine
    with pytest.raises(SettingsError, match=f"there is a route at /api{path} already"):
        web_app.create(world.runtime)


@pytest.mark.rule("G-03")
def test_the_paths_that_are_no_desks_are_told_in_one_place(world: World) -> None:
    desks = {mode.info.desk.path for mode in modes.installed().values() if mode.info.desk}
    taken = {
        rule.rule.removeprefix("/api")
        for rule in world.app.url_map.iter_rules()
        if rule.rule.startswith("/api/v1/")
    }
    others = {path for path in taken if not any(f"{path}/".startswith(f"{one}/") for one in desks)}
    assert others
    for path in others:
        with pytest.raises(ValueError, match="Muster's own"):
            check_desk_path(path)
    assert all(any(path.startswith(own) for path in others) for own in OWN_PATHS)


@pytest.mark.rule("G-03")
def test_a_desk_is_described_with_a_whole_number(benches: World) -> None:
    told = benches.call("GET", "/openapi.json").ok()["paths"]["/api/v1/benches/{number}/note"]
    (number,) = [
        one
        for one in [*told.get("parameters", []), *told["post"].get("parameters", [])]
        if one.get("name") == "number"
    ]
    assert number["schema"]["type"] == "integer" and number["required"] is True
