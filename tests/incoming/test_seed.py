"""Planned work as its first clients know it: their own calls, one by one."""

from __future__ import annotations

import pytest

from tests.incoming.world import done, gig, item, items, send, use
from tests.world import World

MEMBERS = [
    "id",
    "title",
    "details",
    "estimatedMinutes",
    "priority",
    "requester",
    "requestedAtUtc",
    "status",
    "suggestedStart",
    "suggestionReason",
    "plannedStart",
    "response",
    "responseState",
    "actualStartUtc",
    "actualEffortMinutes",
    "etag",
]


@pytest.mark.rule("I-01")
@pytest.mark.rule("I-03")
def test_the_planned_lifecycle_of_one_request(world: World) -> None:
    place = gig(world)
    place.owner.patch("/auth/me", {"display_name": "Alice Morgan"})
    atlas = world.worker(place)
    atlas.patch("/auth/me", {"timezone": "Europe/Berlin"})
    bearer = {"authorization": f"Bearer {atlas.key}"}
    listed = world.call("GET", "/v1/incoming?includeAccepted=true", headers=bearer)
    assert (listed.status, listed.text.strip()) == (200, "[]")

    send(world, place, {"estimatedMinutes": 1, "estimated_minutes": 15})
    (seen,) = world.call("GET", "/v1/incoming?includeAccepted=true", headers=bearer).ok()
    assert list(seen) == MEMBERS
    assert seen["requestedAtUtc"][19:] == "Z" and isinstance(seen["id"], int)
    assert seen == {
        "id": seen["id"],
        "title": "Review release summary",
        "details": None,
        "estimatedMinutes": 15,
        "priority": "normal",
        "requester": "Alice Morgan",
        "requestedAtUtc": seen["requestedAtUtc"],
        "status": "floating",
        "suggestedStart": None,
        "suggestionReason": "No suggestion available",
        "plannedStart": None,
        "response": None,
        "responseState": "open",
        "actualStartUtc": None,
        "actualEffortMinutes": None,
        "etag": seen["etag"],
    }
    assert seen["etag"].startswith('"') and len(seen["etag"]) == 38

    headers = {"content-type": "application/json"}
    plan = {"etag": seen["etag"], "key": "example-plan-001", **headers}
    done(use(atlas, seen["id"], "plan", {"plannedStart": "2026-10-19T14:00:00"}, **plan))
    assert items(atlas) == []
    planned = item(atlas)
    changed = {"status": "planned", "plannedStart": "2026-10-19T14:00:00"}
    assert planned == {**seen, **changed, "etag": planned["etag"]}
    assert planned["etag"] != seen["etag"]

    complete = {"etag": planned["etag"], "key": "example-complete-001", **headers}
    response = {"response": "Summary checked and approved."}
    done(use(atlas, seen["id"], "complete", response, **complete))
    told = item(atlas)
    changed = {"status": "completed", "responseState": "answered", **response}
    # It was never started, so it counts as begun when it was done.
    facts = {"actualStartUtc": told["actualStartUtc"], "actualEffortMinutes": 0}
    assert told == {**planned, **changed, **facts, "etag": told["etag"]}
    assert told["actualStartUtc"][19:] == "Z"


@pytest.mark.rule("I-02")
@pytest.mark.rule("I-04")
def test_starting_at_once_is_the_alternative_to_planning(world: World) -> None:
    place = gig(world)
    atlas = world.worker(place)
    send(world, place)
    seen = item(atlas)
    start = {"etag": seen["etag"], "key": "example-start-001"}
    done(use(atlas, seen["id"], "start", {}, **start))
    begun = item(atlas)
    assert (begun["status"], begun["plannedStart"]) == ("inprogress", None)
    assert begun["actualStartUtc"][19:] == "Z" and begun["actualEffortMinutes"] is None
    world.call("POST", "/dev/clock/advance", {"seconds": 25 * 60}).ok()
    done(use(atlas, seen["id"], "complete", {"response": "Done."}, etag=begun["etag"]))
    assert item(atlas)["actualEffortMinutes"] == 25
    assert item(atlas)["actualStartUtc"] == begun["actualStartUtc"]


@pytest.mark.rule("I-03")
def test_passing_a_request_on_is_the_other(world: World) -> None:
    place = gig(world)
    atlas, bob = world.worker(place), world.worker(place)
    send(world, place, {"priority": "high"}, assign_to=atlas.mailbox["id"])  # type: ignore[attr-defined]
    seen = item(atlas)
    number = bob.get("/auth/me")["number"]
    (colleague,) = atlas.get("/v1/assignees")["assignees"]
    assert colleague == {"id": number, "name": bob.get("/auth/me")["display_name"]}
    passed = {"etag": seen["etag"], "key": "example-reassign-001"}
    done(use(atlas, seen["id"], "reassign", {"assigneeId": number}, **passed))
    assert items(atlas, accepted=True) == []
    assert item(bob) == {**seen, "etag": item(bob)["etag"]}
    use(atlas, seen["id"], "start").refused(404, "not_found")
    done(use(bob, seen["id"], "start"))
