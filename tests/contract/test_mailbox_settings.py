"""What owner and worker each set on a mailbox, and what each of them sees (M-02)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.models.event import Event
from tests.contract.scene import all_hold, everything
from tests.world import Gig, Person, World

URL = "http://127.0.0.1:9/"
# Field, values that are taken, values that are not; by whose field it is.
OWNERS: list[tuple[str, list[Any], list[Any]]] = [
    ("status", ["active"], ["pending_approval", "x", "", None, 1, True]),
    ("priority", [1, 10, 5], [0, 11, -1, 1.5, "5", True, None]),
    ("max_open_tasks", [1, 10**9, None], [0, -1, 10**9 + 1, 1.5, "1", True]),
]
WORKERS: list[tuple[str, list[Any], list[Any]]] = [
    ("name", ["Ada", "x" * 200], ["", "x" * 201, 1, None]),
    ("notes", ["", "x" * 5000], ["x" * 5001, 1, None]),
    ("tags", [["a"], ["x" * 256] * 25, []], [["a"] * 26, ["x" * 257], [""], "a", None]),
    ("paused", [True, False], [1, 0, "true", None]),
    ("filter_tags", [["a"], ["x" * 256] * 25, []], [["a"] * 26, ["x" * 257], [""], "a", None]),
    ("filter_tag_match", ["prefix", "exact", "substring"], ["x", "", "EXACT", None, 1]),
    ("filter_price_min", [0, 2.5, None], [-1, "x", True, "1,5", "0.0000001"]),
    ("filter_price_max", [3, 2.5, None], [-1, "x", True, "1,5", "0.0000001"]),
    ("filter_accept_tbd", [False, True], [1, "no", None]),
    ("wallet_address", ["0x" + "1" * 40], ["", "0x1", 5, None]),
    ("webhook", [URL, None], ["x", "ftp://x/", "http://10.0.0.1/", 1]),
    ("events_webhook_url", [URL, None], ["x", "ftp://x/", "http://10.0.0.1/", 1]),
]
HIDDEN_FROM_OWNER = {
    "tags",
    "filter_tags",
    "filter_tag_match",
    "filter_price_min",
    "filter_price_max",
    "filter_accept_tbd",
    "webhook",
    "events_webhook_url",
}


def path_of(gig: Gig, worker: Person) -> str:
    return f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]


@pytest.mark.rule("M-02")
@pytest.mark.rule("M-05")
def test_each_role_sets_its_own_fields_within_bounds_and_is_refused_the_others(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    path = path_of(gig, worker)

    def holds(row: tuple[Person, Person, str, list[Any], list[Any]]) -> None:
        own, other, field, good, bad = row
        for value in good:
            before = everything()
            told = other.call("PATCH", path, {field: value}).refused(403, "not_permitted")
            assert list(told["errors"]) == [field] and everything() == before
            shown = own.patch(path, {field: value})["mailbox"]
            assert shown[field] == value
            (mine,) = worker.get("/mailboxes/mine")["mailboxes"]
            assert mine[field] == value
        before = everything()
        for value in bad:
            errors = own.call("PATCH", path, {field: value}).refused(400)["errors"]
            assert {name.partition(".")[0] for name in errors} == {field}, value
        assert everything() == before

    all_hold(
        [(gig.owner, worker, *row) for row in OWNERS]
        + [(worker, gig.owner, *row) for row in WORKERS],
        holds,
    )
    # One field of the other's is enough, and then nothing is changed.
    colleague = world.worker(gig)
    before = everything()
    gig.owner.call("PATCH", path, {"priority": 2, "paused": True}).refused(403)
    worker.call("PATCH", path, {"priority": 2, "paused": True}).refused(403)
    for body in ({"paused": True}, {"priority": 2}):
        colleague.call("PATCH", path, body).refused(403)
    assert everything() == before
    world.person().call("PATCH", path, {"paused": True}).refused(403)


# What is set before, what is given, and the fields that a refusal names; none: it is taken.
RATES: list[tuple[dict[str, Any], dict[str, Any], set[str]]] = [
    ({}, {"rate_limit_count": 1, "rate_limit_minutes": 1}, set()),
    ({}, {"rate_limit_count": 10**9, "rate_limit_minutes": 525_600}, set()),
    ({}, {"rate_limit_count": 5}, {"rate_limit_count", "rate_limit_minutes"}),
    ({}, {"rate_limit_minutes": 5}, {"rate_limit_count", "rate_limit_minutes"}),
    ({}, {"rate_limit_count": 0, "rate_limit_minutes": 1}, {"rate_limit_count"}),
    ({}, {"rate_limit_count": 1, "rate_limit_minutes": 525_601}, {"rate_limit_minutes"}),
    ({}, {"rate_limit_count": True, "rate_limit_minutes": 1}, {"rate_limit_count"}),
    ({"rate_limit_count": 5, "rate_limit_minutes": 5}, {"rate_limit_count": 6}, set()),
    (
        {"rate_limit_count": 5, "rate_limit_minutes": 5},
        {"rate_limit_count": None},
        {"rate_limit_count", "rate_limit_minutes"},
    ),
    (
        {"rate_limit_count": 5, "rate_limit_minutes": 5},
        {"rate_limit_count": None, "rate_limit_minutes": None},
        set(),
    ),
]
PRICES: list[tuple[dict[str, Any], dict[str, Any], set[str]]] = [
    ({}, {"filter_price_min": 2, "filter_price_max": 2}, set()),
    ({}, {"filter_price_min": "2.000001", "filter_price_max": 2}, {"filter_price_max"}),
    ({"filter_price_max": 2}, {"filter_price_min": "2.01"}, {"filter_price_min"}),
    ({"filter_price_min": 2}, {"filter_price_max": "1.99"}, {"filter_price_max"}),
    ({"filter_price_min": 2}, {"filter_price_min": None, "filter_price_max": 1}, set()),
    ({"filter_price_min": 2, "filter_price_max": 3}, {"filter_price_min": 3}, set()),
]


@pytest.mark.rule("M-02")
def test_what_goes_together_is_judged_on_the_mailbox_as_it_will_be(world: World) -> None:
    gig = world.gig()

    def holds(row: tuple[str, dict[str, Any], dict[str, Any], set[str]]) -> None:
        whose, before, given, named = row
        worker = world.worker(gig)
        person, path = (gig.owner if whose == "owner" else worker), path_of(gig, worker)
        person.patch(path, before)
        kept = everything()
        answer = person.call("PATCH", path, given)
        if named:
            assert set(answer.refused(400)["errors"]) == named
            assert everything() == kept
        else:
            shown = answer.ok()["mailbox"]
            assert {field: shown[field] for field in given} == given

    all_hold([("owner", *row) for row in RATES] + [("worker", *row) for row in PRICES], holds)


@pytest.mark.rule("M-02")
@pytest.mark.rule("M-06")
def test_the_owner_is_shown_what_concerns_him_and_never_the_workers_own_settings(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig, tags=["secret tag"], webhook=URL + "secret")
    path = path_of(gig, worker)
    worker.patch(path, {"filter_tags": ["secret filter"], "filter_price_max": 77})
    for _ in range(2):
        world.task(gig)
    first, _ = worker.post(f"{gig.path}/queue/poll", {"count": 2})["tasks"]
    worker.post(f"{gig.path}/proofs", {"task_identifier": first["id"]})

    (row,) = gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]
    patched = gig.owner.patch(path, {"priority": 7})["mailbox"]
    (shown,) = gig.owner.get(f"{gig.path}/dashboard")["mailboxes"]
    for view in (row, patched, shown):
        assert not HIDDEN_FROM_OWNER & view.keys()
    (mine,) = worker.get("/mailboxes/mine")["mailboxes"]
    assert mine.keys() >= HIDDEN_FROM_OWNER
    assert mine["tags"] == ["secret tag"] and mine["filter_tags"] == ["secret filter"]
    assert mine["priority"] == 7
    for view in (row, shown, mine):
        assert (view["tasks_received"], view["proofs_submitted"]) == (2, 1)
        assert view["response_rate"] == 1
    told = str(gig.owner.get(f"{gig.path}/events?limit=200"))
    assert "secret" not in told


@pytest.mark.rule("M-02")
def test_whoever_is_owner_and_worker_sets_both(world: World) -> None:
    gig = world.gig()
    both = world.worker(gig, gig.owner)
    shown = both.patch(path_of(gig, both), {"priority": 2, "paused": True})["mailbox"]
    assert (shown["priority"], shown["paused"]) == (2, True) and "tags" in shown


@pytest.mark.rule("M-02")
@pytest.mark.rule("M-06")
def test_what_a_mailbox_holds_goes_back_as_the_owner_makes_it_inactive(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    path = path_of(gig, worker)
    sent = [world.task(gig) for _ in range(3)]
    kept = world.task(
        gig,
        availability="reserved",
        reserved_for=worker.mailbox["id"],  # type: ignore[attr-defined]
    )
    polled = worker.post(f"{gig.path}/queue/poll", {"count": 3})["tasks"]
    assert [task["id"] for task in polled] == [kept, *sent[:2]]
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": sent[0]})["proof"]
    again = world.task(
        gig,
        availability="reserved",
        reserved_for=worker.mailbox["id"],  # type: ignore[attr-defined]
    )

    assert gig.owner.patch(path, {"status": "inactive"})["mailbox"]["status"] == "inactive"

    worker.call("POST", f"{gig.path}/queue/poll", {}).refused(403, "mailbox_inactive")
    worker.call("POST", f"{gig.path}/proofs", {"task_identifier": sent[1]}).refused(403)
    taken = other.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]
    assert [task["id"] for task in taken] == sent[1:]
    for task_id in (kept, again):
        task = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
        assert (task["status"], task["availability"]) == ("queued", "reserved")
        assert task["reserved_for"] is None
    # What was handed in goes on, and what was taken from him does not count against him.
    assert gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})["success"]
    (row,) = [
        row
        for row in gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]
        if row["id"] == worker.mailbox["id"]  # type: ignore[attr-defined]
    ]
    assert (row["tasks_received"], row["proofs_submitted"], row["response_rate"]) == (3, 1, 1)
    with db.reading():
        told = Event.select().where(Event.type == "task.released")
        assert {event.actor for event in told} == {gig.owner.id}
    # Active again, he works on.
    gig.owner.patch(path, {"status": "active"})
    assert worker.post(f"{gig.path}/queue/poll")["tasks"] == []


@pytest.mark.rule("M-02")
def test_a_paused_worker_may_still_ask_for_work_himself(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    worker.patch(path_of(gig, worker), {"paused": True, "filter_tags": ["none like it"]})
    task_id = world.task(gig)
    (task,) = worker.post(f"{gig.path}/queue/poll")["tasks"]
    assert task["id"] == task_id
