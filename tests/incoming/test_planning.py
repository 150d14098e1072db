"""When a worker does it: schedules, local times, suggestions and facts (I-04, F10)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.models.task import Task
from tests.contract.scene import all_hold
from tests.incoming.world import done, gig, item, items, send, use
from tests.world import Answer, World

WEEK = {day: [["09:00", "12:30"], ["13:00", "24:00"]] for day in ("mon", "tue", "wed", "thu")}


@pytest.mark.rule("I-04")
def test_a_schedule_is_a_zone_and_the_hours_of_a_week(world: World) -> None:
    worker = world.person()
    assert worker.get("/v1/me/schedule") == {"timezone": "UTC", "hours": {}}
    told = {"timezone": "Europe/Berlin", "hours": {**WEEK, "sun": []}}
    assert worker.patch("/v1/me/schedule", told) == told
    assert worker.get("/v1/me/schedule") == told
    assert worker.get("/auth/me")["timezone"] == "Europe/Berlin"
    # Each by itself; the hours are those of the whole week.
    assert worker.patch("/v1/me/schedule", {}) == told
    worker.patch("/auth/me", {"timezone": "Asia/Tokyo"})
    night = {"fri": [["00:00", "00:01"]]}
    assert worker.patch("/v1/me/schedule", {"hours": night}) == {
        "timezone": "Asia/Tokyo",
        "hours": night,
    }

    def refused(row: tuple[dict[str, Any], str]) -> None:
        body, named = row
        told = worker.call("PATCH", "/v1/me/schedule", body).refused(400, "invalid")
        assert list(told["errors"]) == [named]

    rows: list[tuple[dict[str, Any], str]] = [
        ({"timezone": "Mars/Olympus"}, "timezone"),
        ({"timezone": None}, "timezone"),
        ({"timezone": "localtime"}, "timezone"),
        ({"timezone": "Factory"}, "timezone"),
        ({"zone": "UTC"}, "zone"),
        ({"hours": None}, "hours"),
        ({"hours": []}, "hours"),
        ({"hours": {"monday": []}}, "hours.monday"),
        ({"hours": {"mon": None}}, "hours.mon"),
        ({"hours": {"mon": [["09:00", "08:00"]]}}, "hours.mon"),
        ({"hours": {"mon": [["09:00", "25:00"]]}}, "hours.mon"),
    ]
    all_hold(rows, refused)
    assert worker.get("/v1/me/schedule")["hours"] == night


@pytest.mark.rule("I-04")
@pytest.mark.case("F10")
@pytest.mark.parametrize(
    ("zone", "local", "shown"),
    [
        ("Europe/Berlin", "2026-03-29T01:59:59", "2026-03-29T01:59:59"),
        ("Europe/Berlin", "2026-03-29T02:30", None),
        ("Europe/Berlin", "2026-10-25T02:30", "2026-10-25T02:30:00"),
        ("America/New_York", "2026-03-08T02:00:00", None),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T01:30:00"),
        # It may be past.
        ("America/New_York", "1999-12-31T23:59", "1999-12-31T23:59:00"),
    ],
)
def test_a_planned_start_is_local_time_that_comes(
    world: World, zone: str, local: str, shown: str | None
) -> None:
    place = gig(world)
    worker = world.worker(place)
    worker.patch("/v1/me/schedule", {"timezone": zone})
    send(world, place)
    seen = item(worker)
    answer = use(worker, seen["id"], "plan", {"plannedStart": local}, etag=seen["etag"])
    if shown is None:
        assert zone in answer.refused(422, "no_such_local_time")["error"]
        assert item(worker) == seen
    else:
        done(answer)
        assert item(worker)["plannedStart"] == shown


@pytest.mark.rule("I-04")
def test_what_is_planned_stays_at_its_moment_when_its_worker_moves(world: World) -> None:
    place = gig(world)
    worker = world.worker(place)
    worker.patch("/v1/me/schedule", {"timezone": "Europe/Berlin"})
    send(world, place)
    done(use(worker, item(worker)["id"], "plan", {"plannedStart": "2026-10-19T14:00"}))
    worker.patch("/v1/me/schedule", {"timezone": "America/New_York"})
    planned = item(worker)
    assert planned["plannedStart"] == "2026-10-19T08:00:00"
    assert (planned["actualStartUtc"], planned["actualEffortMinutes"]) == (None, None)


@pytest.mark.rule("I-04")
def test_a_free_time_is_suggested_between_what_is_planned(world: World) -> None:
    place = gig(world)
    worker = world.worker(place)
    all_day = {
        day: [["00:00", "24:00"]] for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
    }
    send(world, place, {"estimated_minutes": 30})
    assert item(worker)["suggestionReason"] == "No suggestion available"
    worker.patch("/v1/me/schedule", {"timezone": "Asia/Kolkata", "hours": all_day})
    first = item(worker)
    assert first["suggestionReason"] == "Your first free time in your working hours"
    begun = first["suggestedStart"]
    assert begun.endswith(":00")
    done(use(worker, first["id"], "plan", {"plannedStart": begun}))
    send(world, place, {"estimated_minutes": 45})
    (second,) = items(worker)
    from datetime import datetime, timedelta

    after = datetime.fromisoformat(begun) + timedelta(minutes=30)
    assert second["suggestedStart"] == after.isoformat()
    # It keeps nothing free: another that floats is told the same.
    send(world, place, {"estimated_minutes": 45})
    assert {one["suggestedStart"] for one in items(worker)} == {after.isoformat()}
    # What is done, and what is not there to be done, is suggested no time.
    assert [one["suggestedStart"] for one in items(worker, accepted=True)].count(None) == 1


@pytest.mark.rule("I-04")
@pytest.mark.case("F10")
def test_a_requesters_proposal_wins_by_the_workers_clock(world: World) -> None:
    place = gig(world)
    place.owner.patch("/auth/me", {"display_name": "Alice Morgan"})
    worker = world.worker(place)
    worker.patch("/v1/me/schedule", {"timezone": "Europe/Berlin", "hours": WEEK})
    for start, shown in (
        ("2026-10-19T14:00", "2026-10-19T14:00:00"),
        ("2026-10-19T14:00:00Z", "2026-10-19T16:00:00"),
        ("2026-10-19T14:00:00-04:00", "2026-10-19T20:00:00"),
        ("2026-03-29T02:30", "2026-03-29T03:00:00"),
    ):
        send(world, place, {"suggested_start": start, "estimated_minutes": 15})
        found = max(items(worker), key=lambda one: one["id"])
        assert found["suggestedStart"] == shown
        assert found["suggestionReason"] == "Proposed by Alice Morgan"
        # What is suggested can be planned.
        done(use(worker, found["id"], "plan", {"plannedStart": shown}))

    def propose(start: str) -> Answer:
        path = f"/inbound/webhook/{place.id}?token={place.token}&title=x&suggested_start={start}"
        return world.call("POST", path, raw=b"", headers={"content-type": "text/plain"})

    def refused(start: str) -> None:
        assert list(propose(start).refused(400)["errors"]) == ["suggested_start"]

    # A plus that is not encoded comes as a blank, and is meant as one.
    propose("2026-10-19T14:00:00+04:00").ok()
    found = max(items(worker), key=lambda one: one["id"])
    assert found["suggestedStart"] == "2026-10-19T12:00:00"
    told = propose("tomorrow").refused(400)["errors"]["suggested_start"]
    assert "2026-10-19T14:00:00, or" in told and "2026-10-19T14:00:00+02:00" in told
    all_hold(["tomorrow", "2026-02-30T10:00", "2026-10-19", "9999-12-31T23:59:59-12:00"], refused)


@pytest.mark.rule("I-01")
def test_times_are_whole_seconds(world: World) -> None:
    place = gig(world)
    worker = world.worker(place)
    task_id = send(world, place)
    at = 1_792_400_400_999
    db.write(lambda: Task.update(created_at=at).where(Task.id == task_id).execute())
    assert item(worker)["requestedAtUtc"] == "2026-10-19T09:00:00Z"
