"""To whom a request goes, and where it goes from there (I-01, I-03, U-04)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine import modes, waiting_delivery
from tests.contract.scene import all_hold
from tests.incoming.world import done, gig, item, items, send, use
from tests.world import Gig, Person, World


def number_of(person: Person) -> int:
    number: int = person.get("/auth/me")["number"]
    return number


def place_of(person: Person) -> str:
    mailbox_id: str = person.mailbox["id"]  # type: ignore[attr-defined]
    return mailbox_id


def holder(workers: list[Person]) -> tuple[Person, Person]:
    """Of two workers the one who has the item, and the other."""
    first, second = workers
    return (first, second) if items(first, accepted=True) else (second, first)


@pytest.mark.rule("I-01")
def test_requests_come_by_body_or_query_and_are_dealt_out_in_turn(world: World) -> None:
    place = gig(world)
    workers = [world.worker(place) for _ in range(3)]
    told = {"details": "All of it.", "estimated_minutes": 15, "priority": "urgent"}
    send(world, place, told)
    world.send(place, "text", title="T", details="D", estimated_minutes="30", priority="low").ok()
    world.send(place, "text", subject="The subject").ok()
    found = {one["title"]: one for worker in workers for one in items(worker)}
    assert Counter(len(items(worker)) for worker in workers) == {1: 3}
    shown = ("details", "estimatedMinutes", "priority")
    assert {title: [one[name] for name in shown] for title, one in found.items()} == {
        "Review release summary": ["All of it.", 15, "urgent"],
        "T": ["D", 30, "low"],
        "The subject": [None, None, "normal"],
    }
    assert found["T"]["requester"] == place.owner.get("/auth/me")["display_name"]

    def refused(row: tuple[dict[str, Any], str]) -> None:
        query, named = row
        told = world.send(place, "text", **query).refused(400)
        assert list(told["errors"]) == [named]

    rows: list[tuple[dict[str, Any], str]] = [
        ({}, "title"),
        ({"title": "x" * 201}, "title"),
        ({"title": "x", "priority": "5"}, "priority"),
        ({"title": "x", "priority": "URGENT"}, "priority"),
        ({"title": "x", "estimated_minutes": "0"}, "estimated_minutes"),
        ({"title": "x", "estimated_minutes": "1.5"}, "estimated_minutes"),
        ({"title": "x", "details": "x" * 4001}, "details"),
        ({"title": "x", "availability": "open"}, "availability"),
    ]
    all_hold(rows, refused)


@pytest.mark.rule("I-01")
@pytest.mark.rule("T-03")
def test_a_word_of_priority_goes_with_a_named_worker(world: World) -> None:
    place = gig(world)
    worker, other = world.worker(place), world.worker(place)
    sent = world.send(place, "x", title="T", priority="urgent", assign_to=place_of(worker)).ok()
    assert (sent["status"], sent["mailbox_id"]) == ("assigned", place_of(worker))
    assert item(worker)["priority"] == "urgent" and items(other) == []


@pytest.mark.rule("U-04")
@pytest.mark.rule("I-01")
def test_what_comes_while_all_are_paused_waits_and_floats_later(world: World) -> None:
    place = gig(world)
    worker = world.worker(place)
    path = f"{place.path}/mailboxes/{place_of(worker)}"
    worker.patch(path, {"paused": True})
    assert world.send(place, "x", title="T").ok()["status"] == "waiting"
    assert items(worker) == []
    worker.patch(path, {"paused": False})
    waiting_delivery.sweep()
    assert item(worker)["status"] == "floating"
    assert world.send(gig(world), "x", title="T").ok()["status"] == "dropped"


@pytest.mark.rule("I-03")
def test_an_item_is_passed_to_active_workers_of_its_gig_alone(world: World) -> None:
    place, elsewhere = gig(world), gig(world)
    worker, colleague, gone = (world.worker(place) for _ in range(3))
    stranger = world.worker(elsewhere)
    world.worker(world.gig(), stranger)
    gone.call("DELETE", f"{place.path}/mailboxes/{place_of(gone)}").ok()
    send(world, place, assign_to=place_of(worker))
    seen = item(worker)
    numbers = [number_of(stranger), number_of(gone), number_of(place.owner), 10**6]

    def refused(number: int) -> None:
        told = use(worker, seen["id"], "reassign", {"assigneeId": number}, etag=seen["etag"])
        assert list(told.refused(400, "invalid")["errors"]) == ["assigneeId"]

    all_hold(numbers, refused)
    use(worker, seen["id"], "reassign", {"assigneeId": number_of(worker)}).refused(
        409, "already_yours"
    )
    assert item(worker) == seen
    names = {one["id"] for one in worker.get("/v1/assignees")["assignees"]}
    assert names == {number_of(colleague)}
    assert gone.get("/v1/assignees") == stranger.get("/v1/assignees")
    assert gone.get("/v1/assignees") == {"assignees": [], "next_cursor": None}
    rows = place.owner.get(f"{place.path}/mailboxes")["mailboxes"]
    assert {row["id"]: row["number"] for row in rows} == {
        place_of(one): number_of(one) for one in (worker, colleague, gone)
    }
    assert "number" not in worker.get("/mailboxes/mine")["mailboxes"][0]


@pytest.mark.rule("I-03")
@pytest.mark.rule("G-08")
def test_colleagues_are_those_to_whom_something_can_be_passed(world: World) -> None:
    place = gig(world)
    worker, colleague = world.worker(place), world.worker(place)
    send(world, place, assign_to=place_of(worker))
    seen = item(worker)
    to = {"assigneeId": number_of(colleague)}

    def names(person: Person) -> list[int]:
        return [one["id"] for one in person.get("/v1/assignees")["assignees"]]

    assert (names(worker), names(colleague)) == ([number_of(colleague)], [number_of(worker)])
    place.owner.patch(place.path, {"status": "closed"})
    # In a closed gig work in hand goes on, and may go on to another.
    assert (names(worker), names(colleague)) == ([number_of(colleague)], [])
    done(use(worker, seen["id"], "reassign", to))
    assert (names(worker), names(colleague)) == ([], [number_of(worker)])
    place.owner.post(f"{place.path}/cancel")
    assert names(worker) == names(colleague) == []
    back = {"assigneeId": number_of(worker)}
    use(colleague, seen["id"], "reassign", back).refused(409, "gig_closed")
    # What is in hand is finished by whoever has it.
    done(use(colleague, seen["id"], "start"))
    done(use(colleague, seen["id"], "complete", {"response": "Done."}))


@pytest.mark.rule("A-01")
@pytest.mark.rule("I-02")
@pytest.mark.parametrize("step", ["plan", "start"])
def test_the_owner_gives_it_to_another_for_whom_it_floats_again(world: World, step: str) -> None:
    place = gig(world)
    worker, other = world.worker(place), world.worker(place)
    task_id = send(world, place, assign_to=place_of(worker))
    seen = item(worker)
    done(
        use(
            worker, seen["id"], step, {"plannedStart": "2026-10-19T14:00"} if step == "plan" else {}
        )
    )
    etag = item(worker)["etag"]
    place.owner.post(f"{place.path}/tasks/{task_id}/assign", {"assign_to": place_of(other)})
    assert items(worker, accepted=True) == []
    use(worker, seen["id"], "complete", {"response": "x"}, etag=etag).refused(404)
    again = item(other)
    assert again == {**seen, "etag": again["etag"]}
    # And takes it back; nobody has it then, and he may give it once more.
    place.owner.post(f"{place.path}/tasks/{task_id}/recycle")
    assert items(other, accepted=True) == []
    place.owner.post(f"{place.path}/tasks/{task_id}/assign", {"assign_to": place_of(worker)})
    assert item(worker)["status"] == "floating"


@pytest.mark.rule("I-02")
def test_what_is_recycled_goes_to_the_next_who_finds_it_floating(world: World) -> None:
    place = gig(world)
    workers = [world.worker(place), world.worker(place)]
    task_id = send(world, place)
    has, other = holder(workers)
    done(use(has, item(has)["id"], "start"))
    told = place.owner.post(f"{place.path}/tasks/{task_id}/recycle")
    assert (told["success"], told["reassigned_to"]) == (True, place_of(other))
    assert items(has, accepted=True) == []
    assert (item(other)["status"], item(other)["actualStartUtc"]) == ("floating", None)


@pytest.mark.rule("I-03")
def test_what_a_colleague_passed_on_moves_on_when_its_worker_leaves(world: World) -> None:
    place = gig(world)
    worker, other = world.worker(place), world.worker(place)
    send(world, place, assign_to=place_of(worker))
    give = {"assigneeId": number_of(other)}
    done(use(worker, item(worker)["id"], "reassign", give))
    other.call("DELETE", f"{place.path}/mailboxes/{place_of(other)}").ok()
    assert item(worker)["status"] == "floating"


def _refusals(place: Gig, worker: Person, task_id: str) -> dict[str, tuple[Person, str, str, Any]]:
    gig_path, task = place.path, f"{place.path}/tasks/{task_id}"
    queue = f"{gig_path}/queue/{task_id}"
    return {
        "queue.poll": (worker, "POST", f"{gig_path}/queue/poll", {}),
        "queue.claim": (worker, "POST", f"{gig_path}/tasks/{task_id}/claim", {}),
        "queue.decline": (worker, "POST", f"{queue}/decline", {}),
        "task.accept": (worker, "POST", f"{task}/accept", {}),
        "task.reject": (worker, "POST", f"{task}/reject", {}),
        "task.heartbeat": (worker, "POST", f"{task}/heartbeat", {}),
        "proof.submit": (worker, "POST", f"{gig_path}/proofs", {"task_identifier": task_id}),
        "proof.draft": (
            worker,
            "POST",
            f"{gig_path}/proofs",
            {"task_identifier": task_id, "draft": True},
        ),
        "task.priority": (place.owner, "PATCH", f"{task}/priority", {"priority": 5}),
        "task.availability": (
            place.owner,
            "PATCH",
            f"{task}/availability",
            {"availability": "reserved"},
        ),
        "task.extend": (place.owner, "POST", f"{task}/extend", {}),
    }


@pytest.mark.rule("I-01")
@pytest.mark.rule("G-03")
def test_what_makes_no_sense_here_is_refused_with_what_does(world: World) -> None:
    place = gig(world, price="1")
    worker = world.worker(place)
    task_id = send(world, place)
    calls = _refusals(place, worker, task_id)
    told = modes.ask("incoming").refuses()
    link = next(
        route.rule.removeprefix("/api")
        for route in world.app.url_map.iter_rules()
        if route.endpoint == "claim_links.claim"
    )
    calls["queue.claim"] = (
        worker,
        "POST",
        link.replace("<gig_id>", place.id).replace("<task_id>", task_id),
        {},
    )

    def refused(operation: str) -> None:
        who, method, path, body = calls[operation]
        answer = who.call(method, path, body).refused(409, "incoming")
        assert answer["error"] in (told[operation], told["proof.submit"])

    all_hold(calls, refused)
    done(use(worker, item(worker)["id"], "start"))
    done(use(worker, item(worker)["id"], "complete", {"response": "x"}))
    (proof,) = place.owner.get(f"{place.path}/proofs")["proofs"]
    worker.call("POST", f"{place.path}/proofs/{proof['id']}/withdraw", {}).refused(409, "incoming")
    assert set(told) == {*calls, "proof.withdraw"}


@pytest.mark.rule("G-01")
@pytest.mark.rule("G-03")
def test_settings_of_clocks_and_queues_are_none_of_its(world: World) -> None:
    owner = world.person("owner")

    def refused(row: tuple[str, Any, int]) -> None:
        name, value, status = row
        body = {"title": "A gig", "distribution": "incoming", name: value}
        assert list(owner.call("POST", "/gigs", body).refused(status)["errors"]) == [name]

    rows: list[tuple[str, Any, int]] = [
        ("task_timeout", 60, 409),
        ("max_hold_seconds", 60, 409),
        ("allow_price_offers", True, 409),
        ("accept_timeout", 60, 400),
        ("queue_order", "lifo", 400),
        ("queue_aging_seconds", 60, 400),
        ("task_escrow", True, 400),
        ("max_claims_per_task", 5, 400),
    ]
    all_hold(rows, refused)
