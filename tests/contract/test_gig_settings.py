"""What an owner may say of a gig: each field's bounds, and what goes together (G-01, G-03)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import gig_settings
from engine.db import db
from engine.models.event import Event
from tests.contract.scene import all_hold, everything
from tests.world import Gig, World

TEN_YEARS = 10 * 365 * 86_400
# Field, what it is without a word, values that are taken, values that are not.
FIELDS: list[tuple[str, Any, list[Any], list[Any]]] = [
    ("task_timeout", None, [1, 900, TEN_YEARS], [0, -1, TEN_YEARS + 1, 1.5, "60", True, []]),
    ("max_hold_seconds", None, [900, TEN_YEARS], [0, -1, TEN_YEARS + 1, 1.5, "60", True]),
    ("queue_order", "fifo", ["lifo", "priority", "random", "fifo"], ["", "FIFO", "x", 1, None, []]),
    ("queue_aging_seconds", None, [1, 604_800], [0, -1, 604_801, 1.5, "1", True]),
    (
        "default_task_tags",
        [],
        [["a"], ["x" * 256] * 25],
        [["a"] * 26, ["x" * 257], [""], "a", None],
    ),
    ("default_max_open_tasks", None, [1, 20, 10**9], [0, -1, 10**9 + 1, 1.5, "1", True]),
    (
        "default_comments_policy",
        "private",
        ["public", "off", "private"],
        ["", "Public", "none", 1, True, None, []],
    ),
]
NULLABLE = {field for field, default, _, _ in FIELDS if default is None}


def _with(field: str, value: Any) -> dict[str, Any]:
    """A body in which the value stands with what it goes with."""
    return {field: value} | ({"task_timeout": 60} if field == "max_hold_seconds" else {})


@pytest.mark.rule("G-01")
def test_every_setting_is_taken_within_its_bounds_and_refused_by_name_beyond_them(
    world: World,
) -> None:
    owner = world.person()
    gig = world.gig(owner)
    shown = owner.get(gig.path)["gig"]
    assert {field: shown[field] for field, *_ in FIELDS} == {
        field: default for field, default, _, _ in FIELDS
    }

    def holds(row: tuple[str, Any, list[Any], list[Any]]) -> None:
        field, default, good, bad = row
        for value in good:
            body = _with(field, value)
            made = owner.post("/gigs", {"title": "A gig", **body})["gig"]
            assert made[field] == value == owner.get(f"/gigs/{made['id']}")["gig"][field]
            assert owner.patch(gig.path, body)["gig"][field] == value
            assert owner.get(gig.path)["gig"][field] == value
        back = {"task_timeout": None} if field == "max_hold_seconds" else {}
        assert owner.patch(gig.path, {field: default, **back})["gig"][field] == default
        before = everything()
        for value in bad:
            for method, path in (("POST", "/gigs"), ("PATCH", gig.path)):
                body = _with(field, value) | ({"title": "A gig"} if method == "POST" else {})
                errors = owner.call(method, path, body).refused(400)["errors"]
                assert {name.partition(".")[0] for name in errors} == {field}, value
        assert everything() == before

    all_hold(FIELDS, holds)
    for field in NULLABLE:
        assert owner.post("/gigs", {"title": "A gig", field: None})["gig"][field] is None


@pytest.mark.rule("G-01")
def test_how_many_copies_a_task_may_have_is_a_solo_gigs_to_say(world: World) -> None:
    gig = world.gig(distribution="queue_solo", max_claims_per_task=3)
    assert gig.owner.get(gig.path)["gig"]["max_claims_per_task"] == 3
    for value in (1, 10**9, None):
        assert (
            gig.owner.patch(gig.path, {"max_claims_per_task": value})["gig"]["max_claims_per_task"]
            == value
        )
    for wrong in (0, -1, 1.5, "1", True, 10**9 + 1):
        told = gig.owner.call("PATCH", gig.path, {"max_claims_per_task": wrong}).refused(400)
        assert list(told["errors"]) == ["max_claims_per_task"]


# Settings of some modes only: a value, and what it is in every gig without a word.
OF_SOME: dict[str, tuple[Any, Any]] = {
    "queue_order": ("lifo", "fifo"),
    "queue_aging_seconds": (5, None),
    "max_claims_per_task": (3, None),
    "task_escrow": (True, False),
    "list_price": ("1.00", None),
    "accept_timeout": (60, None),
}


@pytest.mark.rule("G-01")
@pytest.mark.rule("G-03")
def test_a_setting_that_the_gigs_mode_does_not_have_is_refused_with_both_names(
    world: World,
) -> None:
    owner = world.person()
    declared = {
        mode["name"]: mode["settings"].keys() for mode in world.call("GET", "/modes").ok()["modes"]
    }
    undeclared = [
        (mode, field)
        for mode, settings in declared.items()
        for field in OF_SOME
        if field not in settings
    ]

    def refused(row: tuple[str, str]) -> None:
        mode, field = row
        value, default = OF_SOME[field]
        free = {"list_price": 0} if "list_price" in declared[mode] else {}
        body = {"title": "A gig", "distribution": mode, **free}
        made = owner.post("/gigs", {**body, field: default})["gig"]
        path = f"/gigs/{made['id']}"
        owner.patch(path, {field: default})
        before = everything()
        for method, where, given in (("POST", "/gigs", body), ("PATCH", path, {})):
            told = owner.call(method, where, {**given, field: value}).refused(400)
            assert list(told["errors"]) == [field] and mode in told["error"]
        assert everything() == before

    all_hold(undeclared, refused)
    # Every setting of some modes only is declared by one of those that are installed.
    of_some = {gig_settings.called(field) for field in gig_settings.OF_SOME_MODES}
    assert of_some <= set().union(*declared.values())
    assert of_some == OF_SOME.keys() | {"price_tbd"}


# What is set before, what is given, and the fields that a refusal names; none: it is taken.
TOGETHER: list[tuple[dict[str, Any], dict[str, Any], set[str]]] = [
    ({}, {"task_timeout": 60, "max_hold_seconds": 59}, {"max_hold_seconds"}),
    ({}, {"task_timeout": 60, "max_hold_seconds": 60}, set()),
    ({}, {"max_hold_seconds": 60}, {"max_hold_seconds"}),
    ({"task_timeout": 60}, {"max_hold_seconds": 59}, {"max_hold_seconds"}),
    ({"task_timeout": 60, "max_hold_seconds": 90}, {"task_timeout": 91}, {"max_hold_seconds"}),
    ({"task_timeout": 60, "max_hold_seconds": 90}, {"task_timeout": 90}, set()),
    ({"task_timeout": 60, "max_hold_seconds": 90}, {"task_timeout": None}, {"max_hold_seconds"}),
    (
        {"task_timeout": 60, "max_hold_seconds": 90},
        {"task_timeout": None, "max_hold_seconds": None},
        set(),
    ),
    ({}, {"queue_order": "lifo", "queue_aging_seconds": 5}, {"queue_aging_seconds"}),
    ({}, {"queue_order": "random", "queue_aging_seconds": 5}, {"queue_aging_seconds"}),
    ({}, {"queue_order": "priority", "queue_aging_seconds": 5}, set()),
    ({"queue_aging_seconds": 5}, {"queue_order": "random"}, {"queue_aging_seconds"}),
    ({"queue_aging_seconds": 5}, {"queue_order": "lifo", "queue_aging_seconds": None}, set()),
    ({"queue_order": "lifo"}, {"queue_aging_seconds": 5}, {"queue_aging_seconds"}),
    *(
        (before, given, {"default_rate_limit_count", "default_rate_limit_minutes"})
        for before, given in (
            ({}, {"default_rate_limit_count": 5}),
            ({}, {"default_rate_limit_minutes": 60}),
            ({}, {"default_rate_limit_count": 5, "default_rate_limit_minutes": None}),
            (
                {"default_rate_limit_count": 5, "default_rate_limit_minutes": 60},
                {"default_rate_limit_count": None},
            ),
        )
    ),
    (
        {"default_rate_limit_count": 5, "default_rate_limit_minutes": 60},
        {"default_rate_limit_count": 6},
        set(),
    ),
    (
        {"default_rate_limit_count": 5, "default_rate_limit_minutes": 60},
        {"default_rate_limit_count": None, "default_rate_limit_minutes": None},
        set(),
    ),
    *(
        ({}, {"default_rate_limit_count": count, "default_rate_limit_minutes": minutes}, named)
        for count, minutes, named in (
            (1, 1, set()),
            (10**9, 525_600, set()),
            (0, 1, {"default_rate_limit_count"}),
            (1, 0, {"default_rate_limit_minutes"}),
            (1, 525_601, {"default_rate_limit_minutes"}),
            (1.0, 1, {"default_rate_limit_count"}),
        )
    ),
]


@pytest.mark.rule("G-01")
@pytest.mark.rule("G-02")
def test_what_goes_together_is_judged_on_the_gig_as_it_will_be(world: World) -> None:
    owner = world.person()

    def holds(row: tuple[dict[str, Any], dict[str, Any], set[str]]) -> None:
        before, given, named = row
        gig = world.gig(owner, **before)
        kept = everything()
        at_once = {"title": "A gig", **before, **given}
        for method, path, body in (("PATCH", gig.path, given), ("POST", "/gigs", at_once)):
            answer = owner.call(method, path, body)
            if named:
                assert set(answer.refused(400)["errors"]) == named
                assert everything() == kept
            else:
                view = answer.ok()["gig"]
                assert {field: view[field] for field in given} == given

    all_hold(TOGETHER, holds)


@pytest.mark.rule("G-01")
@pytest.mark.rule("G-02")
def test_a_change_of_something_else_is_not_held_up_by_what_stands(world: World) -> None:
    """A gig of a version before may have what this one would refuse; it can still be worked on."""
    gig = world.gig()
    db.write(lambda: db.rows("UPDATE gig SET max_claims_per_task = 3, max_hold_seconds = 5"))
    assert gig.owner.patch(gig.path, {"title": "New"})["gig"]["title"] == "New"
    gig.owner.call("PATCH", gig.path, {"max_hold_seconds": 6}).refused(400)


def _order(gig: Gig) -> list[str]:
    return [task["subject"] for task in gig.owner.get(f"{gig.path}/queue")["tasks"]]


@pytest.mark.rule("G-02")
@pytest.mark.rule("Q-01")
def test_what_waits_is_in_the_new_order_as_soon_as_the_gig_has_it(world: World) -> None:
    gig = world.gig()
    for subject, priority in (("a", 5), ("b", 1), ("c", 5), ("d", 0)):
        world.task(gig, subject=subject, priority=priority)
    assert _order(gig) == ["d", "b", "a", "c"]
    gig.owner.patch(gig.path, {"queue_order": "lifo"})
    assert _order(gig) == ["c", "a", "b", "d"]
    gig.owner.patch(gig.path, {"queue_order": "priority", "queue_aging_seconds": 604_800})
    assert _order(gig) == ["d", "b", "a", "c"]
    gig.owner.patch(gig.path, {"queue_aging_seconds": None, "queue_order": "lifo"})
    world.task(gig, subject="e", priority=5)
    worker = world.worker(gig)
    polled = worker.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]
    assert [task["subject"] for task in polled] == ["e", "c", "a", "b", "d"]


@pytest.mark.rule("Q-07")
@pytest.mark.case("F28")
def test_a_claim_keeps_the_time_that_it_was_given(world: World) -> None:
    gig = world.gig(task_timeout=3600)
    worker = world.worker(gig)
    world.task(gig)
    (task,) = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    held = worker.get(f"{gig.path}/tasks/{task['id']}")["task"]["expires_at"]
    assert held is not None
    gig.owner.patch(gig.path, {"task_timeout": 60})
    assert worker.get(f"{gig.path}/tasks/{task['id']}")["task"]["expires_at"] == held


@pytest.mark.rule("G-02")
def test_there_is_no_list_of_all_gigs(world: World) -> None:
    told = world.person().call("GET", "/gigs").refused(410, "gone")
    assert "/gigs/mine" in told["error"]


@pytest.mark.rule("G-08")
def test_deleting_a_gig_closes_it_and_again_changes_nothing(world: World) -> None:
    gig = world.gig()
    answer = gig.owner.call("DELETE", gig.path)
    assert answer.ok()["success"] is True and answer.json["gig"]["status"] == "closed"
    tag = answer.headers["etag"]
    before = everything()
    again = gig.owner.call("DELETE", gig.path)
    assert (again.ok(), again.headers["etag"]) == (answer.json, tag)
    assert everything() == before
    with db.reading():
        told = Event.select().where(Event.gig_id == gig.id, Event.type == "gig.changed")
        assert [event.data for event in told] == [{"fields": ["status"]}]
    assert gig.owner.patch(gig.path, {"status": "active"})["gig"]["status"] == "active"
    gig.owner.call("DELETE", gig.path, headers={"if-match": tag}).refused(412)
    assert gig.owner.get(gig.path)["gig"]["status"] == "active"
    gig.owner.post(f"{gig.path}/cancel")
    told = gig.owner.call("DELETE", gig.path).refused(409, "wrong_state")
    assert told["status_now"] == "cancelled"
