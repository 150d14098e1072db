"""What an owner changes about one task (P-01, T-08, T-09)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.contract.scene import everything
from tests.world import Gig, Person, World


def path(gig: Gig, task_id: str, what: str = "") -> str:
    return f"{gig.path}/tasks/{task_id}{what}"


def read(person: Person, gig: Gig, task_id: str) -> dict[str, Any]:
    task: dict[str, Any] = person.get(path(gig, task_id))["task"]
    return task


def poll(worker: Person, gig: Gig, count: int = 20) -> list[str]:
    tasks = worker.post(f"{gig.path}/queue/poll", {"count": count})["tasks"]
    return [task["id"] for task in tasks]


def hand_in(worker: Person, gig: Gig, task_id: str) -> dict[str, Any]:
    body = {"task_identifier": task_id}
    proof: dict[str, Any] = worker.post(f"{gig.path}/proofs", body)["proof"]
    return proof


def events(person: Person, gig: Gig, kind: str) -> list[dict[str, Any]]:
    found = person.get(f"{gig.path}/events?limit=200")["events"]
    return [event for event in found if event["type"] == kind]


@pytest.mark.rule("P-01")
def test_a_waiting_task_goes_where_its_new_priority_puts_it(world: World) -> None:
    gig = world.gig()
    first, second, third = (world.task(gig) for _ in range(3))
    answer = gig.owner.patch(path(gig, third, "/priority"), {"priority": 0})
    assert answer == {"success": True, "id": third, "priority": 0}
    gig.owner.patch(path(gig, first, "/priority"), {"priority": 9_999_999_999})
    listed = [task["id"] for task in gig.owner.get(f"{gig.path}/queue")["tasks"]]
    assert listed == poll(world.worker(gig), gig) == [third, second, first]
    (last,) = events(gig.owner, gig, "task.changed")[1:]
    assert last["data"] == {"fields": ["priority"], "from": 1000, "to": 9_999_999_999}


@pytest.mark.rule("P-01")
def test_a_task_that_is_moved_is_found_by_those_who_had_looked_past_it(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    late, near = world.task(gig, priority=5000), world.task(gig, priority=10)
    assert poll(worker, gig, 1) == [near]
    gig.owner.patch(path(gig, late, "/priority"), {"priority": 1})
    assert poll(worker, gig, 1) == [late]


@pytest.mark.rule("P-01")
def test_the_same_change_again_changes_nothing(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    for what, body in (
        ("/priority", {"priority": 7}),
        ("/price", {"price": "3.10"}),
        ("/tags", {"tags": ["a", "b"]}),
        ("/private-details", {"private_details": "the brief"}),
        ("/availability", {"availability": "reserved", "reserved_for": worker.email}),
    ):
        first = gig.owner.patch(path(gig, task_id, what), body)
        before = everything()
        assert gig.owner.patch(path(gig, task_id, what), body) == first
        assert everything() == before, what


@pytest.mark.rule("P-01")
def test_a_task_that_is_taken_is_not_moved(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    held, proven = world.task(gig), world.task(gig)
    assert poll(worker, gig) == [held, proven]
    hand_in(worker, gig, proven)
    before = everything()
    for task_id in (held, proven):
        answer = gig.owner.call("PATCH", path(gig, task_id, "/priority"), {"priority": 1})
        answer.refused(409, "already_claimed")
    assert everything() == before


@pytest.mark.rule("Q-04")
def test_new_tags_are_those_that_a_poll_goes_by(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig, tags="old")
    answer = gig.owner.patch(path(gig, task_id, "/tags"), {"tags": ["new", "x" * 256]})
    assert answer == {"success": True, "id": task_id, "tags": ["new", "x" * 256]}
    poll_for = f"{gig.path}/queue/poll"
    assert worker.post(poll_for, {"tags": "old"})["tasks"] == []
    (task,) = worker.post(poll_for, {"tags": "new"})["tasks"]
    assert task["id"] == task_id
    assert gig.owner.patch(path(gig, task_id, "/tags"), {"tags": []})["tags"] == []
    assert read(worker, gig, task_id)["tags"] == []


@pytest.mark.rule("T-09")
def test_private_details_are_written_and_cleared_and_the_log_does_not_repeat_them(
    world: World,
) -> None:
    gig = world.gig()
    task_id = world.task(gig)
    where = path(gig, task_id, "/private-details")
    for text in ("é\u2028" * 2000, None, "again"):
        answer = gig.owner.patch(where, {"private_details": text})
        assert answer == {"success": True, "id": task_id, "private_details": text}
        assert read(gig.owner, gig, task_id)["private_details"] == text
    log = events(gig.owner, gig, "task.changed")
    assert [event["data"] for event in log] == [{"fields": ["private_details"]}] * 3


@pytest.mark.rule("T-09")
def test_an_alias_is_for_the_one_who_gave_it_on_every_read(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    where = path(gig, task_id, "/alias")
    people = {gig.owner: "the owner's", worker: "the worker's", other: None}
    gig.owner.patch(where, {"alias": "before"})
    for person, name in people.items():
        assert person.patch(where, {"alias": name}) == {
            "success": True,
            "id": task_id,
            "alias": name,
        }
    for person, name in people.items():
        (queued,) = person.get(f"{gig.path}/queue")["tasks"]
        assert read(person, gig, task_id)["alias"] == queued["alias"] == name
    (polled,) = worker.post(f"{gig.path}/queue/poll")["tasks"]
    claimed = worker.post(f"{gig.path}/queue/{task_id}/claim")["task"]
    (inbound,) = worker.get(f"/mailboxes/{worker.mailbox['id']}/inbound")["tasks"]  # type: ignore[attr-defined]
    assert {one["alias"] for one in (polled, claimed, inbound)} == {"the worker's"}
    assert "the owner's" not in worker.call("GET", f"{gig.path}/events").text
    worker.patch(where, {"alias": None})
    assert read(worker, gig, task_id)["alias"] is None
    assert read(gig.owner, gig, task_id)["alias"] == "the owner's"


@pytest.mark.rule("T-08")
def test_a_long_body_is_a_preview_in_lists_and_whole_where_one_task_is_read(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    short, long = "é" * 6000, "é" * 6001
    bodies = {world.task(gig, text): text for text in (short, long)}
    for task_id in bodies:
        body = {"availability": "reserved", "reserved_for": worker.email}
        gig.owner.patch(path(gig, task_id, "/availability"), body)

    def check(listed: list[dict[str, Any]]) -> None:
        assert [len(task["payload"]) for task in listed] == [6000, 1000]
        assert "payload_truncated" not in listed[0]
        assert (listed[1]["payload_truncated"], listed[1]["payload_bytes"]) == (True, 12_002)

    lists: list[Callable[[], Any]] = [
        lambda: gig.owner.get(f"{gig.path}/reserved")["tasks"],
        lambda: worker.get(f"{gig.path}/reserved")["tasks"],
    ]
    for one in lists:
        check(one())
    for task_id in bodies:
        gig.owner.patch(path(gig, task_id, "/availability"), {"availability": "open"})
    check(worker.get(f"{gig.path}/queue")["tasks"])
    for task_id, text in bodies.items():
        for person in (gig.owner, worker):
            seen = read(person, gig, task_id)
            assert seen["payload"] == text and "payload_truncated" not in seen
    polled = worker.post(f"{gig.path}/queue/poll")["tasks"]
    assert [task["payload"] for task in polled] == [short, long]
    where = f"/mailboxes/{worker.mailbox['id']}/inbound"  # type: ignore[attr-defined]
    check(sorted(worker.get(where)["tasks"], key=lambda task: len(task["payload"]), reverse=True))
