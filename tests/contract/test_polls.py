"""What a poll takes and answers (Q-04), and the queue's list."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from tests.contract.scene import all_hold, everything
from tests.engine.holding import mailbox_id
from tests.world import World

# A bad body, and the field that the refusal names.
BAD: list[tuple[dict[str, Any], str]] = [
    *(({"count": bad}, "count") for bad in (0, 21, -1, "2", True, 1.5, 2.0, None, [2], 10**20)),
    ({"mailbox_id": 7}, "mailbox_id"),
    ({"tags": 7}, "tags"),
    ({"tags": [7]}, "tags"),
    ({"tags": {"a": "b"}}, "tags"),
    ({"tags": None}, "tags"),
    ({"tags": ["x" * 257]}, "tags"),
    ({"tags": [str(n) for n in range(26)]}, "tags"),
    *(({"tag_match": bad}, "tag_match") for bad in ("regex", "", "Exact", 1, None)),
    *(({"tag_mode": bad}, "tag_mode") for bad in ("or", "", True, None)),
    *(
        ({field: bad}, field)
        for field in ("price_min", "price_max")
        for bad in (-1, "-1", "1,5", "tbd", "NaN", 0.0000001, True, "1e400", [1])
    ),
    ({"price_min": 2, "price_max": "1.999999"}, "price_min"),
    *(({"accept_tbd": bad}, "accept_tbd") for bad in ("true", 1, 0, None)),
    *(({field: 1}, field) for field in ("limit", "wait", "tag", "order", "Count")),
]
BAD_QUERIES = [
    ("wait=61", "wait"),
    ("wait=", "wait"),
    ("wait=1&wait=2", "wait"),
    ("count=2", "count"),
]
BAD_LISTS = [
    ("tag_match=regex&tag=a", "tag_match"),
    ("tag_mode=either&tag=a", "tag_mode"),
    (f"tag={'x' * 257}", "tag"),
    (f"tag={','.join(str(n) for n in range(26))}", "tag"),
    ("tag=a&tag=b", "tag"),
    ("tags=a", "tags"),
    ("price_min=1", "price_min"),
]


@pytest.mark.rule("Q-04")
@pytest.mark.rule("H-05")
def test_bad_input_is_named_and_changes_nothing(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    world.task(gig)
    before = everything()

    def check(row: tuple[dict[str, Any], str]) -> None:
        body, field = row
        told = worker.call("POST", f"{gig.path}/queue/poll", body).refused(400)
        assert list(told["errors"]) == [field]

    all_hold(BAD, check)

    def check_query(row: tuple[str, str]) -> None:
        query, field = row
        told = worker.call("POST", f"{gig.path}/queue/poll?{query}", {}).refused(400)
        assert list(told["errors"]) == [field]

    all_hold(BAD_QUERIES, check_query)
    assert everything() == before


@pytest.mark.rule("Q-04")
def test_a_bad_filter_of_the_list_is_named(world: World) -> None:
    gig = world.gig()
    world.task(gig, tags="a")

    def check(row: tuple[str, str]) -> None:
        query, field = row
        told = gig.owner.call("GET", f"{gig.path}/queue?{query}").refused(400)
        assert list(told["errors"]) == [field]

    all_hold(BAD_LISTS, check)


@pytest.mark.rule("Q-04")
@pytest.mark.rule("Q-02")
def test_a_poll_s_answer_is_whole_whether_there_is_something_or_not(world: World) -> None:
    gig = world.gig(default_max_open_tasks=3)
    worker = world.worker(gig)
    for number in range(3):
        world.task(gig, f"task {number}", tags="a", price="1.25")
    answers = [worker.call("POST", f"{gig.path}/queue/poll").ok() for _ in range(2)]
    assert [answer["count"] for answer in answers] == [2, 1]
    for answer in answers:
        assert answer["mailbox_id"] == mailbox_id(worker)
        assert (answer["scan_exhausted"], answer["filter_applied"]) == (False, False)
        assert answer["rate_limit"] is None
    task = answers[0]["tasks"][0]
    assert (task["payload"], task["tags"], task["reserved_for_me"]) == ("task 0", ["a"], False)
    assert (str(task["price"]), task["price_tbd"], task["type"]) == ("1.25", False, "webhook")
    assert task["private_details"] is None
    assert task["source_task_id"] is None
    empty = world.worker(gig).post(f"{gig.path}/queue/poll", {"tags": "a"})
    assert (empty["tasks"], empty["count"], empty["filter_applied"]) == ([], 0, True)
    assert empty["open_tasks"]["remaining"] == 3


@pytest.mark.rule("R-02")
@pytest.mark.rule("Q-07")
@pytest.mark.case("F28")
def test_a_claim_keeps_the_price_and_the_time_that_it_was_made_on(world: World) -> None:
    gig = world.gig(price="2.50", task_timeout=60)
    worker = world.worker(gig)
    for query in ({}, {"price": "4"}, {"price": "tbd"}):
        world.task(gig, **query)
    before = worker.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]
    gig.owner.patch(gig.path, {"price": "1", "task_timeout": 5})
    for task, price in zip(before, (2.5, 4, None), strict=True):
        assert task["price"] == price
        now = worker.get(f"{gig.path}/tasks/{task['id']}")["task"]
        assert (now["price"], now["expires_at"]) == (price, task["expires_at"])
    with db.reading():
        held = db.rows("SELECT DISTINCT expires_at - claimed_at FROM task")
    assert held == [(60_000,)]


@pytest.mark.rule("G-08")
@pytest.mark.rule("Q-05")
def test_who_may_not_poll_is_told_why(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    path = f"{gig.path}/queue/poll"
    world.person().call("POST", path, {}).refused(403, "not_joined")
    gig.owner.call("POST", path, {}).refused(403)
    world.person().call("POST", "/gigs/GIG_none/queue/poll", {}).refused(404, "not_found")
    place = f"{gig.path}/mailboxes/{mailbox_id(worker)}"
    gig.owner.patch(place, {"status": "inactive"})
    worker.call("POST", path, {}).refused(403, "mailbox_inactive")
    gig.owner.patch(place, {"status": "active"})
    gig.owner.patch(gig.path, {"status": "closed"})
    worker.call("POST", path, {}).refused(409, "gig_closed")
    gig.owner.patch(gig.path, {"status": "active"})
    (task,) = worker.post(path)["tasks"]
    assert task["id"] == task_id


@pytest.mark.rule("Q-05")
@pytest.mark.case("F02")
def test_a_poll_that_is_repeated_with_its_key_answers_the_same_tasks(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    sent = [world.task(gig) for _ in range(4)]
    lost = {"idempotency-key": "lost"}
    asked = [
        worker.call("POST", f"{gig.path}/queue/poll", {"count": 2}, headers=lost) for _ in range(3)
    ]
    assert len({answer.text for answer in asked}) == 1
    assert [task["id"] for task in asked[2].ok()["tasks"]] == sent[:2]
    rest = other.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]
    assert [task["id"] for task in rest] == sent[2:]
