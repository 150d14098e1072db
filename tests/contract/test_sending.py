"""Sending a task: what shapes it, what is answered, and what is refused (T-01 … T-04, T-06)."""

from __future__ import annotations

from typing import Any

import pytest
import simplejson

from engine import due
from engine.db import db
from engine.models.delivery import Delivery
from engine.models.mailbox import Mailbox
from engine.models.task import QueueEntry, Task
from engine.rules import times
from tests.contract.scene import all_hold, everything
from tests.contract.webhooks import URL
from tests.world import Gig, Person, World, at_once


def place(worker: Person) -> str:
    mailbox_id: str = worker.mailbox["id"]  # type: ignore[attr-defined]
    return mailbox_id


def polled(gig: Gig, worker: Person, count: int = 20) -> list[str]:
    tasks = worker.post(f"{gig.path}/queue/poll", {"count": count})["tasks"]
    return [task["id"] for task in tasks]


def row(task_id: str) -> Task:
    with db.reading():
        return Task.get(Task.id == task_id)


def in_an_hour(world: World, hours: float = 1) -> str:
    now = times.parse_ms(world.call("GET", "/health").ok()["timestamp"])
    return times.iso_ms(now + int(hours * 3_600_000))


@pytest.mark.rule("T-02")
@pytest.mark.rule("T-06")
def test_the_answer_says_what_became_of_the_task(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    mine = place(worker)
    for query, told in (
        ({}, {"status": "queued", "priority": 1000}),
        ({"priority": 0}, {"status": "queued", "priority": 0}),
        ({"availability": "open"}, {"status": "queued", "priority": 1000}),
        (
            {"availability": "reserved"},
            {
                "status": "reserved",
                "priority": 1000,
                "availability": "reserved",
                "reserved_for": None,
            },
        ),
        (
            {"availability": "reserved", "reserved_for": mine, "priority": 3},
            {
                "status": "reserved",
                "priority": 3,
                "availability": "reserved",
                "reserved_for": mine,
            },
        ),
        (
            {"reserved_for": worker.email.upper()},
            {
                "status": "reserved",
                "priority": 1000,
                "availability": "reserved",
                "reserved_for": mine,
            },
        ),
        (
            {"availability": "view_only"},
            {
                "status": "view_only",
                "priority": 1000,
                "availability": "view_only",
                "reserved_for": None,
            },
        ),
        ({"assign_to": mine}, {"status": "assigned", "mailbox_id": mine}),
        ({"assign_to": worker.email}, {"status": "assigned", "mailbox_id": mine}),
        (
            {"assign_to": mine, "availability": "open"},
            {"status": "assigned", "mailbox_id": mine},
        ),
    ):
        answer = world.send(gig, "x", **query).ok()
        message_id = answer.pop("message_id")
        assert answer == told, query
        kept = row(message_id)
        assert kept.reserved_for == told.get("reserved_for")
        assert kept.availability == told.get("availability", "open")
        assert (kept.assignee_id, kept.mailbox_id) == (
            (mine, mine) if answer["status"] == "assigned" else (None, None)
        )


@pytest.mark.rule("T-06")
def test_what_is_kept_back_is_offered_only_to_whom_it_is_for(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    world.task(gig, "nobody's", availability="reserved")
    world.task(gig, "to read", availability="view_only")
    his = world.task(gig, "his", reserved_for=place(worker))
    given = world.task(gig, "given", assign_to=place(worker))
    assert polled(gig, other) == []
    assert polled(gig, worker) == [his]
    assert row(given).status == "claimed"


@pytest.mark.rule("A-01")
@pytest.mark.rule("W-08")
def test_who_is_assigned_a_task_is_told_by_his_webhook(world: World) -> None:
    gig = world.gig(title="Leaflets")
    worker = world.worker(gig, webhook=URL)
    task_id = world.task(gig, "the job", assign_to=worker.email)
    (delivery,) = worker.get("/deliveries")["deliveries"]
    assert delivery["event"] == "task.assigned"
    with db.reading():
        body = simplejson.loads(Delivery.get(Delivery.id == delivery["id"]).body)
    assert set(body) == {
        "event",
        "sent_at",
        "gig_id",
        "mailbox_id",
        "message_id",
        "gig_title",
        "distribution_mode",
        "forwarded_at",
        "payload",
    }
    assert (body["message_id"], body["mailbox_id"]) == (task_id, place(worker))
    assert (body["payload"], body["gig_title"]) == ("the job", "Leaflets")
    assert body["distribution_mode"] == "queue"


@pytest.mark.rule("A-01")
def test_in_a_solo_gig_an_assigned_task_is_a_plain_one(world: World) -> None:
    gig = world.gig(distribution="queue_solo")
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig, "x", assign_to=place(worker))
    kept = row(task_id)
    assert (kept.status, kept.mailbox_id, kept.source_task_id) == ("claimed", place(worker), None)
    assert kept.template_number is None
    assert polled(gig, other) == []
    body = {"task_identifier": task_id, "proofs": ["done"]}
    assert worker.post(f"{gig.path}/proofs", body)["proof"]["status"] == "pending"


@pytest.mark.rule("A-01")
@pytest.mark.rule("T-06")
def test_whoever_is_named_must_work_here(world: World) -> None:
    gig, elsewhere = world.gig(), world.gig()
    worker, gone = world.worker(gig), world.worker(gig)
    foreign, twice = world.worker(elsewhere), world.worker(gig)
    gig.owner.patch(f"{gig.path}/mailboxes/{place(gone)}", {"status": "inactive"})
    with db.reading():
        mailbox = Mailbox.get(Mailbox.id == place(twice))
    values = {**mailbox.__data__, "id": "MBX_SECOND", "ordinal": 2, "share_token": None}
    db.write(lambda: Mailbox.insert(**values).execute())
    before = everything()
    rows = [
        (place(gone), 400, "assignee_not_active"),
        (gone.email, 400, "assignee_not_active"),
        (twice.email, 400, "assignee_ambiguous"),
        (place(foreign), None, "assignee_not_found"),
        (foreign.email, None, "assignee_not_found"),
        (world.person().email, None, "assignee_not_found"),
        ("MBX_01JZZZZZZZZZZZZZZZZZZZZZZZ", None, "assignee_not_found"),
        ("nobody", None, "assignee_not_found"),
        ("a@b@c", None, "assignee_not_found"),
    ]
    before = everything()

    def refused(one: tuple[str, int | None, str]) -> None:
        named, status, reason = one
        told = world.send(gig, "x", assign_to=named).refused(status or 400, reason)
        assert list(told["errors"]) == ["assign_to"]
        told = world.send(gig, "x", reserved_for=named).refused(
            status or 404, reason if status else "not_found"
        )
        assert list(told["errors"]) == ["reserved_for"]

    all_hold(rows, refused)
    assert everything() == before
    world.send(gig, "x", assign_to="MBX_SECOND").ok()
    world.send(gig, "x", assign_to=f" {worker.email} ").ok()


# (query, the fields that are named)
AT_ODDS: list[tuple[dict[str, Any], list[str]]] = [
    ({"assign_to": "W", "priority": 5}, ["priority"]),
    ({"assign_to": "W", "availability": "reserved"}, ["availability"]),
    ({"assign_to": "W", "availability": "view_only"}, ["availability"]),
    ({"assign_to": "W", "reserved_for": "W"}, ["reserved_for"]),
    ({"assign_to": "W", "not_before": "2030-01-01T00:00:00Z"}, ["not_before"]),
    ({"assign_to": "W", "priority": 5, "availability": "reserved"}, ["availability", "priority"]),
    ({"availability": "open", "reserved_for": "W"}, ["reserved_for"]),
    ({"availability": "view_only", "reserved_for": "W"}, ["reserved_for"]),
    ({"draft_id": "TASK_1"}, ["draft_id"]),
    ({"draft_id": "TASK_1", "draft": "false"}, ["draft_id"]),
    ({"draft_id": "TASK_1", "draft": "true", "external_id": "a"}, ["external_id"]),
    ({"availability": "secret"}, ["availability"]),
    ({"availability": ""}, ["availability"]),
    ({"availability": "Open"}, ["availability"]),
    ({"assign_to": ""}, ["assign_to"]),
    ({"assign_to": "x" * 321}, ["assign_to"]),
    ({"reserved_for": ""}, ["reserved_for"]),
    ({"draft": "yes"}, ["draft"]),
    ({"draft": "True"}, ["draft"]),
    ({"draft": ""}, ["draft"]),
    *(({"price": text}, ["price"]) for text in (
        "1,5", "NaN", "nan", "Infinity", "-1", "-0", "0.0000001", "1e-7", "1.2.3", "", " 1", "$1",
        "TBD", "1_000", "٣", "9999999999999999999", "0x1", "true", "+1", "1.", ".5",
    )),
    *(({"not_before": text}, ["not_before"]) for text in (
        "2030-01-01T00:00:00", "2030-01-01", "1893456000", "tomorrow", "", "2030-13-01T00:00:00Z",
        "2030-01-01 00:00:00Z", "2030-02-30T00:00:00Z", "0000-01-01T00:00:00Z",
        "2030-01-01T00:00:00+25:00", "2030-01-01T00:00:00Europe/Berlin",
    )),
]  # fmt: skip


@pytest.mark.rule("T-01")
@pytest.mark.rule("T-03")
@pytest.mark.rule("H-09")
@pytest.mark.case("F10")
@pytest.mark.case("F22")
def test_what_makes_no_sense_is_refused_by_name_and_makes_no_task(world: World) -> None:
    gig = world.gig()
    worker = place(world.worker(gig))
    before = everything()

    def refused(one: tuple[dict[str, Any], list[str]]) -> None:
        query = {name: worker if value == "W" else value for name, value in one[0].items()}
        told = world.send(gig, "x", **query).refused(400)
        assert sorted(told["errors"]) == one[1]

    all_hold(AT_ODDS, refused)
    # (the query as text, the name that is told)
    for text, name in (
        ("priority=1&priority=2", "priority"),
        ("tags=a&tags=b", "tags"),
        ("Priority=1", "Priority"),
        ("urgency=1", "urgency"),
        ("payload=x", "payload"),
        ("content_type=text/html", "content_type"),
    ):
        path = f"/inbound/webhook/{gig.id}?token={gig.token}&{text}"
        told = world.call("POST", path, raw=b"x").refused(400)
        assert list(told["errors"]) == [name]
    told = world.send(gig, "x", not_before="2030-01-01T00:00:00").refused(400)
    assert "zone" in told["errors"]["not_before"]
    assert everything() == before


@pytest.mark.rule("T-03")
def test_a_name_that_the_gigs_mode_does_not_take_is_refused(world: World, pushing: None) -> None:
    gig = world.gig(distribution="pushing")
    worker = world.worker(gig)
    before = everything()
    for query in (
        {"priority": 5},
        {"availability": "open"},
        {"availability": "reserved"},
        {"reserved_for": place(worker)},
    ):
        told = world.send(gig, "x", **query).refused(400, "invalid")
        assert list(told["errors"]) == list(query)
        assert "pushing" in told["error"]
    assert everything() == before
    world.send(gig, "x", assign_to=place(worker), tags="a", price=1).ok()


@pytest.mark.rule("G-01")
@pytest.mark.rule("T-01")
def test_a_task_without_tags_has_the_gigs(world: World) -> None:
    gig = world.gig(default_task_tags=["usual", "more"])
    for query, tags in (
        ({}, ["usual", "more"]),
        ({"tags": ""}, ["usual", "more"]),
        ({"tags": " , "}, ["usual", "more"]),
        ({"tags": "own"}, ["own"]),
    ):
        assert row(world.task(gig, "x", **query)).tags == tags, query


@pytest.mark.rule("T-04")
@pytest.mark.case("F10")
def test_a_time_is_read_with_its_offset_and_nobody_is_offered_the_task_before(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    base = times.parse_ms(in_an_hour(world))
    at = times.iso_ms(base).removesuffix("Z")
    offsets = {"Z": 0, "+00:00": 0, "+02:00": -2, "-05:30": 5.5}
    for zone, hours in offsets.items():
        task_id = world.task(gig, "x", not_before=f"{at}{zone}")
        assert row(task_id).not_before == base + int(hours * 3_600_000)
    # A plus sign that nobody encoded.
    path = f"/inbound/webhook/{gig.id}?token={gig.token}&not_before={at}+02:00"
    message_id = world.call("POST", path, raw=b"x").ok()["message_id"]
    assert row(message_id).not_before == base - 7_200_000
    past = world.task(gig, "x", not_before="2020-01-01T00:00:00Z")
    assert past in polled(gig, worker)


@pytest.mark.rule("T-04")
@pytest.mark.case("F08")
def test_what_was_to_wait_is_offered_once_it_is_due_and_once_only(world: World) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(4)]
    later = world.task(gig, "later", not_before=in_an_hour(world))
    his = world.task(
        gig, "his", not_before=in_an_hour(world), reserved_for=place(workers[0]), priority=0
    )
    hidden = world.task(gig, "x", not_before=in_an_hour(world), availability="reserved")
    assert due.enqueue() == 0
    assert [polled(gig, worker) for worker in workers] == [[]] * 4
    assert gig.owner.get(f"{gig.path}/queue")["tasks"] == []
    world.call("POST", "/dev/clock/advance", {"seconds": 3601}).ok()
    assert sorted(at_once(6, lambda _: due.enqueue())) == [0] * 5 + [3]
    assert due.enqueue() == 0
    with db.reading():
        entries = {one.task_number: one.shelf for one in QueueEntry.select()}
    assert entries == {row(later).number: gig.id, row(his).number: place(workers[0])}
    got = at_once(4, lambda n: polled(gig, workers[n]))
    assert sorted(task for some in got for task in some) == sorted([later, his]) and his in got[0]
    assert row(hidden).status == "queued" and row(hidden).not_before is None
    kinds = [one["type"] for one in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]
    assert (kinds.count("task.due"), kinds.count("task.claimed")) == (3, 2)


@pytest.mark.rule("T-04")
def test_a_task_that_somebody_put_on_the_shelf_in_between_gets_no_second_entry(
    world: World,
) -> None:
    gig = world.gig()
    task_id = world.task(gig, "x", not_before=in_an_hour(world), availability="view_only")
    world.call("POST", "/dev/clock/advance", {"seconds": 3601}).ok()
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/availability", {"availability": "open"})
    assert due.enqueue() == 1
    with db.reading():
        assert QueueEntry.select().count() == 1


@pytest.mark.rule("T-04")
@pytest.mark.rule("Q-06")
def test_whoever_waits_hears_of_a_task_that_has_become_due(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig, "x", not_before=in_an_hour(world))
    world.call("POST", "/dev/clock/advance", {"seconds": 3601}).ok()

    def act(number: int) -> Any:
        if number:
            return due.enqueue()
        return worker.post(f"{gig.path}/queue/poll?wait=20", {"count": 1})["tasks"]

    found, offered = at_once(2, act)
    assert offered == 1 and [task["id"] for task in found] == [task_id]


@pytest.mark.rule("T-04")
@pytest.mark.case("F15")
def test_everything_that_shapes_a_task_is_part_of_what_its_external_id_stands_for(
    world: World,
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    at = in_an_hour(world)
    shapes: list[dict[str, Any]] = [
        {"assign_to": place(worker)},
        {"availability": "reserved", "reserved_for": place(worker), "not_before": at},
        {"availability": "view_only"},
        {"draft": "true", "priority": 4},
    ]
    changes: list[dict[str, Any]] = [
        {"assign_to": place(other)},
        {"availability": "reserved", "reserved_for": place(worker)},
        {"availability": "reserved", "reserved_for": place(other), "not_before": at},
        {"availability": "open"},
        {"draft": "true"},
        {},
    ]
    for number, shape in enumerate(shapes):
        sent = {**shape, "external_id": f"n{number}"}
        first = world.send(gig, "x", **sent).ok()
        before = everything()
        assert world.send(gig, "x", **sent).ok() == first
        for change in changes:
            told = world.send(gig, "x", **change, external_id=f"n{number}")
            told = told.refused(409, "external_id_mismatch")
            assert told["message_id"] == first["message_id"]
        assert everything() == before


@pytest.mark.rule("T-04")
@pytest.mark.case("F15")
@pytest.mark.parametrize("shape", ["plain", "assigned", "draft"])
def test_ten_who_send_one_external_id_at_once_make_one_task(world: World, shape: str) -> None:
    gig = world.gig()
    worker = world.worker(gig, webhook=URL)
    query = {"plain": {}, "assigned": {"assign_to": place(worker)}, "draft": {"draft": "true"}}
    answers = at_once(10, lambda _: world.send(gig, "x", external_id="e", **query[shape]).ok())
    assert all(one == answers[0] for one in answers)
    with db.reading():
        assert Task.select().count() == 1
    assert len(worker.get("/deliveries")["deliveries"]) == (shape == "assigned")


@pytest.mark.rule("A-01")
def test_two_who_give_tasks_to_workers_who_are_closed_meanwhile_leave_nothing_half_done(
    world: World,
) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(2)]

    def act(number: int) -> Any:
        if number < 2:
            path = f"{gig.path}/mailboxes/{place(workers[number])}"
            return gig.owner.call("PATCH", path, {"status": "inactive"}).status
        return world.send(gig, "x", assign_to=place(workers[number % 2])).status

    answers = at_once(10, act)
    assert set(answers[:2]) == {200} and set(answers[2:]) <= {200, 400}
    with db.reading():
        tasks = list(Task.select())
    assert len(tasks) == answers[2:].count(200)
