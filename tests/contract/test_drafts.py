"""Drafts: the owner's alone until he publishes them (T-05), and what is held back (G-04)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine.db import db
from engine.models.access import Counter as Counted
from engine.models.task import QueueEntry, Task
from tests.contract.scene import all_hold, everything
from tests.contract.test_sending import in_an_hour, place, polled, row
from tests.contract.webhooks import URL
from tests.world import Gig, Person, World, at_once

NO_TASK = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def drafted(world: World, gig: Gig, payload: str = "x", **query: Any) -> str:
    answer = world.send(gig, payload, draft="true", **query).ok()
    assert answer["status"] == "draft"
    message_id: str = answer["message_id"]
    return message_id


def drafts(gig: Gig) -> list[Any]:
    found: list[Any] = gig.owner.get(f"{gig.path}/drafts")["drafts"]
    return found


def form(gig: Gig, task_id: str) -> str:
    return f"{gig.path}/tasks/{task_id}/draft"


def publish(gig: Gig, task_id: str) -> Any:
    return gig.owner.call("POST", f"{gig.path}/tasks/{task_id}/publish")


def kinds(gig: Gig) -> list[str]:
    return [one["type"] for one in gig.owner.get(f"{gig.path}/events?limit=200")["events"]]


@pytest.mark.rule("T-05")
def test_a_draft_is_seen_by_its_owner_and_nobody_else(world: World) -> None:
    gig = world.gig(webhook_daily_spend="10", price="1")
    worker = world.worker(gig, webhook=URL)
    world.task(gig, "sent")
    with db.reading():
        counters = [one.__data__ for one in Counted.select().order_by(Counted.key)]
    queued = worker.get(f"{gig.path}/queue")
    task_id = drafted(world, gig, "secret words", price=9)
    given = drafted(world, gig, "secret words", assign_to=place(worker))
    with db.reading():
        assert [one.__data__ for one in Counted.select().order_by(Counted.key)] == counters
        assert QueueEntry.select().count() == 1
    assert worker.get(f"{gig.path}/queue") == queued
    assert len(polled(gig, worker)) == 1
    for person in (worker, world.person()):
        for path in ("queue", "reserved", "events", "proofs", "drafts", f"tasks/{task_id}"):
            told = person.call("GET", f"{gig.path}/{path}").text
            assert task_id not in told and "secret words" not in told
    for path, body in (
        (f"tasks/{task_id}/publish", {}),
        (f"queue/{task_id}/claim", {}),
        (f"queue/{given}/claim", {}),
        (f"queue/{task_id}/decline", {}),
        ("proofs", {"task_identifier": given, "proofs": ["x"]}),
    ):
        assert worker.call("POST", f"{gig.path}/{path}", body).status in (403, 404, 409)
    worker.call("GET", f"{gig.path}/tasks/{task_id}").refused(404)
    worker.call("PATCH", form(gig, task_id), {"subject": "mine"}).refused(403)
    worker.call("DELETE", form(gig, task_id)).refused(403)
    assert worker.get("/deliveries")["deliveries"] == []
    assert [one["id"] for one in drafts(gig)] == [task_id, given]
    read = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    assert (read["status"], read["payload"]) == ("draft", "secret words")


@pytest.mark.rule("T-02")
@pytest.mark.rule("T-05")
def test_a_draft_is_saved_again_under_its_id_as_it_is_sent_now(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    first = world.send(gig, "one", draft="true", subject="s", tags="a", price=1, priority=5).ok()
    assert set(first) == {"status", "message_id", "updated", "draft_saved_at"}
    assert first["updated"] is False
    world.call("POST", "/dev/clock/advance", {"seconds": 60}).ok()
    task_id = first["message_id"]
    again = world.send(
        gig, "two", draft="true", draft_id=task_id, reserved_for=place(worker), price="tbd"
    ).ok()
    assert again["message_id"] == task_id and again["updated"] is True
    assert again["draft_saved_at"] > first["draft_saved_at"]
    (draft,) = drafts(gig)
    assert draft["payload"] == "two" and draft["draft_saved_at"] == again["draft_saved_at"]
    assert (draft["subject"], draft["tags"], draft["price"], draft["priority"]) == (
        "",
        [],
        "tbd",
        1000,
    )
    assert (draft["availability"], draft["reserved_for"]) == ("reserved", place(worker))
    before = everything()
    other = world.gig()
    theirs = drafted(world, other)
    world.send(gig, "x", draft="true", draft_id=theirs).refused(404, "not_found")
    world.send(gig, "x", draft="true", draft_id=NO_TASK).refused(404, "not_found")
    sent = world.task(gig, "sent")
    told = world.send(gig, "x", draft="true", draft_id=sent).refused(409, "not_draft")
    assert told["message_id"] == sent
    assert row(sent).payload == "sent" and row(task_id).payload == "two"
    assert set(everything()) == set(before)


@pytest.mark.rule("T-05")
def test_the_form_of_a_draft_comes_back_as_it_was_written(world: World) -> None:
    gig = world.gig(default_task_tags=["usual"])
    worker = world.worker(gig)
    task_id = drafted(world, gig, "first")
    at = in_an_hour(world)
    whole = {
        "payload": "<p>é \N{GRINNING FACE}</p>\r\n",
        "content_type": "text/html; charset=utf-8",
        "subject": "Subject",
        "tags": ["a", "b, c"],
        "price": "2.01",
        "priority": 0,
        "assign_to": None,
        "availability": "reserved",
        "reserved_for": worker.email,
        "not_before": at.replace("Z", "+00:00"),
    }
    saved = gig.owner.patch(form(gig, task_id), whole)
    assert (saved["status"], saved["message_id"], saved["updated"]) == ("draft", task_id, True)
    draft = saved["draft"]
    assert {name: draft[name] for name in whole} == {
        **whole,
        "price": draft["price"],
        "reserved_for": place(worker),
        "not_before": at,
    }
    assert str(draft["price"]) == "2.01"
    # As an editor would send it back, all of it and then a part.
    again = gig.owner.patch(form(gig, task_id), {name: draft[name] for name in whole})
    assert {**again["draft"], "draft_saved_at": ""} == {**draft, "draft_saved_at": ""}
    part = gig.owner.patch(form(gig, task_id), {"subject": "Other"})["draft"]
    assert {**part, "draft_saved_at": ""} == {**draft, "subject": "Other", "draft_saved_at": ""}
    for change, after in (
        ({"price": "tbd"}, {"price": "tbd"}),
        ({"price": None}, {"price": None}),
        ({"price": 3}, {"price": 3}),
        ({"priority": None}, {"priority": 1000}),
        ({"reserved_for": None}, {"reserved_for": None, "availability": "reserved"}),
        ({"availability": "view_only"}, {"reserved_for": None, "availability": "view_only"}),
        ({"availability": None}, {"availability": "open"}),
        ({"reserved_for": place(worker)}, {"availability": "reserved"}),
        ({"availability": "open"}, {"reserved_for": None}),
        ({"tags": None}, {"tags": ["usual"]}),
        ({"tags": []}, {"tags": []}),
        ({"tags": "x, y"}, {"tags": ["x", "y"]}),
        ({"not_before": None}, {"not_before": None}),
        ({"assign_to": place(worker)}, {"assign_to": place(worker), "priority": None}),
        ({"assign_to": None}, {"assign_to": None, "priority": 1000}),
        ({"payload": None}, {"payload": ""}),
        ({"payload": {"a": [1, 2.50, None]}}, {"content_type": "application/json"}),
        ({"payload": "[1,  2]"}, {"payload": "[1,  2]", "content_type": "application/json"}),
        ({"payload": "x", "content_type": "text/plain"}, {"content_type": "text/plain"}),
        ({"payload": ""}, {"payload": ""}),
    ):
        shown = gig.owner.patch(form(gig, task_id), change)["draft"]
        assert {name: shown[name] for name in after} == after, change


# (body, the field that is named)
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"price": "1,5"}, "price"),
    ({"price": "NaN"}, "price"),
    ({"price": "0.0000001"}, "price"),
    ({"price": -1}, "price"),
    ({"price": True}, "price"),
    ({"price": []}, "price"),
    ({"tags": ["x" * 257]}, "tags"),
    ({"tags": [f"t{n}" for n in range(26)]}, "tags"),
    ({"tags": [1]}, "tags"),
    ({"tags": {}}, "tags"),
    ({"priority": -1}, "priority"),
    ({"priority": 10_000_000_000}, "priority"),
    ({"priority": "5"}, "priority"),
    ({"priority": True}, "priority"),
    ({"subject": "x" * 501}, "subject"),
    ({"subject": None}, "subject"),
    ({"not_before": "2030-01-01T00:00:00"}, "not_before"),
    ({"not_before": 5}, "not_before"),
    ({"availability": "secret"}, "availability"),
    ({"assign_to": "nobody"}, "assign_to"),
    ({"reserved_for": "nobody@example.com"}, "reserved_for"),
    ({"assign_to": "W", "priority": 5}, "priority"),
    ({"assign_to": "W", "availability": "reserved"}, "availability"),
    ({"assign_to": "W", "not_before": "2030-01-01T00:00:00Z"}, "not_before"),
    ({"payload": 1, "content_type": "text/plain"}, "content_type"),
    ({"payload": "{", "content_type": "application/json"}, "payload"),
    ({"content_type": "text/plain\r\nx: y"}, "content_type"),
    ({"content_type": ""}, "content_type"),
    ({"external_id": "a"}, "external_id"),
    ({"draft": True}, "draft"),
    ({"status": "queued"}, "status"),
]


@pytest.mark.rule("T-05")
@pytest.mark.rule("H-05")
def test_a_form_that_makes_no_sense_is_refused_by_name_and_changes_nothing(world: World) -> None:
    gig = world.gig()
    worker = place(world.worker(gig))
    task_id = drafted(world, gig)
    before = everything()

    def refused(one: tuple[dict[str, Any], str]) -> None:
        body = {name: worker if value == "W" else value for name, value in one[0].items()}
        answer = gig.owner.call("PATCH", form(gig, task_id), body)
        assert answer.status in (400, 404), answer.text
        assert list(answer.json["errors"]) == [one[1]]

    all_hold(WRONG, refused)
    assert everything() == before
    long = "x" * 2_000_001
    gig.owner.call("PATCH", form(gig, task_id), {"payload": long}).refused(413)


@pytest.mark.rule("T-02")
@pytest.mark.rule("T-05")
def test_publishing_answers_what_the_webhook_would_and_keeps_the_id(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig, webhook=URL)
    mine = place(worker)
    for query in (
        {},
        {"priority": 7},
        {"availability": "reserved"},
        {"reserved_for": mine},
        {"availability": "view_only"},
        {"assign_to": mine},
        {"not_before": in_an_hour(world)},
    ):
        sent = world.send(gig, "x", **query).ok()
        task_id = drafted(world, gig, "x", **query)
        told = publish(gig, task_id).ok()
        assert told == {**sent, "message_id": task_id}, query
        refused = publish(gig, task_id).refused(409, "not_draft")
        assert refused["message_id"] == task_id
    assert drafts(gig) == []
    deliveries = worker.get("/deliveries")["deliveries"]
    assert [one["event"] for one in deliveries] == ["task.assigned"] * 2
    publish(gig, NO_TASK).refused(404)
    gig.owner.call("PATCH", form(gig, task_id), {"subject": "x"}).refused(409, "not_draft")
    gig.owner.call("DELETE", form(gig, task_id)).refused(409, "not_draft")


@pytest.mark.rule("T-05")
@pytest.mark.rule("Q-01")
def test_a_draft_arrives_when_it_is_published(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    draft = drafted(world, gig)
    early = world.task(gig, "early")
    made = row(draft).created_at
    world.call("POST", "/dev/clock/advance", {"seconds": 60}).ok()
    publish(gig, draft).ok()
    late = world.task(gig, "late")
    assert polled(gig, worker) == [early, draft, late]
    assert row(draft).created_at >= made + 60_000


@pytest.mark.rule("T-05")
def test_a_draft_that_nobody_could_be_given_stays_one(world: World, pushing: None) -> None:
    gig = world.gig(distribution="pushing")
    task_id = drafted(world, gig, "x", tags="nobody")
    before = everything()
    told = publish(gig, task_id).refused(409, "no_matching_mailboxes")
    assert told["draft_kept"] is True and told["message_id"] == task_id
    assert everything() == before
    (draft,) = drafts(gig)
    assert (draft["priority"], draft["availability"]) == (None, None)
    gig.owner.patch(form(gig, task_id), {**{n: draft[n] for n in ("priority", "availability")}})
    gig.owner.patch(form(gig, task_id), {"tags": []})
    assert publish(gig, task_id).ok() == {"status": "waiting", "message_id": task_id}


@pytest.mark.rule("T-05")
@pytest.mark.rule("A-01")
def test_a_draft_for_somebody_who_has_left_is_not_published(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    given = drafted(world, gig, "x", assign_to=place(worker))
    kept = drafted(world, gig, "x", reserved_for=place(worker))
    gig.owner.patch(f"{gig.path}/mailboxes/{place(worker)}", {"status": "inactive"})
    publish(gig, given).refused(400, "assignee_not_active")
    publish(gig, kept).refused(400, "assignee_not_active")
    # Who was named before is left alone until he is named anew.
    gig.owner.patch(form(gig, given), {"subject": "x"})
    gig.owner.call("PATCH", form(gig, given), {"assign_to": place(worker)}).refused(400)
    gig.owner.patch(form(gig, given), {"assign_to": None})
    gig.owner.patch(form(gig, kept), {"reserved_for": None})
    assert publish(gig, given).ok()["status"] == "queued"
    assert publish(gig, kept).ok()["status"] == "reserved"


@pytest.mark.rule("T-05")
@pytest.mark.rule("G-08")
def test_a_closed_gig_takes_no_drafts_and_publishes_none(world: World) -> None:
    gig = world.gig()
    task_id = drafted(world, gig)
    gig.owner.patch(gig.path, {"status": "closed"})
    world.send(gig, "x", draft="true").refused(409, "gig_closed")
    publish(gig, task_id).refused(409, "gig_closed")
    assert row(task_id).status == "draft"
    gig.owner.call("DELETE", form(gig, task_id)).ok()
    gig.owner.call("DELETE", form(gig, task_id)).refused(404)
    assert drafts(gig) == []


@pytest.mark.rule("T-04")
@pytest.mark.rule("T-05")
def test_the_external_id_of_a_draft_gets_its_first_answer_whatever_has_become_of_it(
    world: World,
) -> None:
    gig = world.gig()
    first = world.send(gig, "x", draft="true", external_id="e").ok()
    task_id = first["message_id"]
    gig.owner.patch(form(gig, task_id), {"payload": "y"})
    assert world.send(gig, "x", draft="true", external_id="e").ok() == first
    publish(gig, task_id).ok()
    assert world.send(gig, "x", draft="true", external_id="e").ok() == first
    told = world.send(gig, "x", external_id="e").refused(409, "external_id_mismatch")
    assert told["message_id"] == task_id
    with db.reading():
        assert Task.select().count() == 1


@pytest.mark.rule("T-05")
@pytest.mark.parametrize("kind", ["plain", "assigned"])
def test_many_who_publish_at_once_publish_it_once(world: World, kind: str) -> None:
    gig = world.gig()
    worker = world.worker(gig, webhook=URL)
    query = {"assign_to": place(worker)} if kind == "assigned" else {}
    task_id = drafted(world, gig, "x", **query)
    answers = at_once(8, lambda _: publish(gig, task_id))
    assert Counter(one.status for one in answers) == {200: 1, 409: 7}
    assert {one.json["reason"] for one in answers if one.status == 409} == {"not_draft"}
    assert kinds(gig).count("task.submitted") == 1
    assert len(worker.get("/deliveries")["deliveries"]) == (kind == "assigned")
    with db.reading():
        assert QueueEntry.select().count() == (kind == "plain")


@pytest.mark.rule("T-05")
def test_of_publishing_and_deleting_at_once_one_takes_effect(world: World) -> None:
    gig = world.gig()
    for path in ("draft", ""):
        for _ in range(4):
            task_id = drafted(world, gig)
            whole = f"{gig.path}/tasks/{task_id}"

            def act(number: int, whole: str = whole, path: str = path) -> Any:
                if number % 2:
                    return gig.owner.call("DELETE", f"{whole}/{path}".rstrip("/")).status
                return gig.owner.call("POST", f"{whole}/publish").status

            answers = at_once(4, act)
            status = row(task_id).status
            published, deleted = answers[::2].count(200), answers[1::2].count(200)
            assert published <= 1 and set(answers) <= {200, 404, 409}
            if path == "draft":
                # A published task is no draft any more.
                assert (published, deleted) in ((1, 0), (0, 1))
            assert status == ("cancelled" if deleted else "queued")
            with db.reading():
                entry = QueueEntry.select().where(QueueEntry.task_number == row(task_id).number)
                assert entry.exists() == (status == "queued")
    with db.reading():
        assert Task.select().where(Task.status == "draft").count() == 0


@pytest.mark.rule("T-05")
def test_a_change_at_the_moment_of_publishing_is_in_the_task_or_is_refused(world: World) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(2)]
    for change in ({"payload": "new"}, {"assign_to": place(workers[0])}):
        for _ in range(4):
            task_id = drafted(world, gig, "old", **(
                {} if "payload" in change else {"assign_to": place(workers[1])}
            ))  # fmt: skip

            def act(number: int, task_id: str = task_id, change: Any = change) -> Any:
                if number:
                    return gig.owner.call("PATCH", form(gig, task_id), change)
                return publish(gig, task_id)

            published, changed = at_once(2, act)
            task = row(task_id)
            if published.status == 409:
                published.refused(409, "draft_changed")
                assert published.json["draft_kept"] is True and changed.status == 200
                assert publish(gig, task_id).ok()["mailbox_id"] == place(workers[0])
                continue
            published.ok()
            if changed.status != 200:
                changed.refused(409, "not_draft")
            done = changed.status == 200
            if "payload" in change:
                assert task.payload == ("new" if done else "old")
            else:
                assert task.mailbox_id == place(workers[0 if done else 1])


def spender(world: World, **fields: Any) -> tuple[Gig, Person]:
    gig = world.gig(
        **{"price": "1", "webhook_max_price": "5", "webhook_daily_spend": "10", **fields}
    )
    return gig, world.worker(gig)


@pytest.mark.rule("G-04")
def test_what_the_token_may_not_spend_is_kept_for_its_owner_who_is_told(world: World) -> None:
    gig, worker = spender(world)
    told = world.send(gig, "dear", price="5.000001", external_id="a").ok()
    assert set(told) == {"status", "message_id", "updated", "draft_saved_at", "reason"}
    assert (told["status"], told["reason"]) == ("draft", "over_max_price")
    assert world.send(gig, "dear", price="5.000001", external_id="a").ok() == told
    for _ in range(2):
        assert world.send(gig, price="4.5").ok()["status"] == "queued"
    late = world.send(gig, "late", price="1.01").ok()
    assert (late["status"], late["reason"]) == ("draft", "over_daily_spend")
    assert polled(gig, worker).count(told["message_id"]) == 0
    held = [
        one["data"]
        for one in gig.owner.get(f"{gig.path}/events?limit=200")["events"]
        if one["type"] == "task.held_back"
    ]
    assert [(one["message_id"], one["reason"], str(one["price"])) for one in held] == [
        (told["message_id"], "over_max_price", "5.000001"),
        (late["message_id"], "over_daily_spend", "1.01"),
    ]
    assert "task.held_back" not in worker.call("GET", f"{gig.path}/events").text
    assert [one["id"] for one in drafts(gig)] == [told["message_id"], late["message_id"]]
    # What its owner publishes is his decision, and nothing of the token's is spent by it.
    for message_id in (told["message_id"], late["message_id"]):
        assert publish(gig, message_id).ok()["status"] == "queued"
    assert world.send(gig, price="1").ok()["status"] == "queued"
    assert world.send(gig, price="0.01").ok()["status"] == "draft"
    assert world.send(gig, price="0").ok()["status"] == "queued"


@pytest.mark.rule("G-04")
def test_what_the_owner_decides_himself_is_not_what_a_later_limit_counts(world: World) -> None:
    gig = world.gig(price="1")
    publish(gig, drafted(world, gig, price=100)).ok()
    drafted(world, gig, price=100)
    for _ in range(3):
        world.task(gig)
    gig.owner.patch(gig.path, {"webhook_daily_spend": "4"})
    assert world.send(gig).ok()["status"] == "queued"
    assert world.send(gig).ok()["status"] == "draft"


@pytest.mark.rule("G-04")
def test_a_task_of_a_solo_gig_costs_what_all_its_copies_may_cost(world: World) -> None:
    gig, worker = spender(world, distribution="queue_solo", max_claims_per_task=4)
    assert world.send(gig, price="2").ok()["status"] == "queued"
    told = world.send(gig, price="0.6").ok()
    assert (told["status"], told["reason"]) == ("draft", "over_daily_spend")
    # Given to one worker it is paid once.
    assert world.send(gig, price="2", assign_to=place(worker)).ok()["status"] == "assigned"
    assert world.send(gig, price="0.01").ok()["status"] == "draft"


@pytest.mark.rule("G-04")
def test_limits_and_prices_as_large_as_they_can_be_are_added_up_all_the_same(world: World) -> None:
    most = "1000000000"
    gig = world.gig(price=most)
    for _ in range(3):
        world.task(gig)
    gig.owner.patch(gig.path, {"webhook_daily_spend": most})
    assert world.send(gig).ok()["reason"] == "over_daily_spend"
    assert world.send(gig, price="0.000001").ok()["status"] in ("queued", "draft")
    other = world.gig(price=most, webhook_daily_spend=most)
    assert [world.send(other).ok()["status"] for _ in range(2)] == ["queued", "draft"]
