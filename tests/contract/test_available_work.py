"""What is in a worker's hands, and where a poll would find him something (M-03)."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from engine import available_work, holds, mailboxes
from engine.db import db
from engine.operations import Caller
from tests.world import Gig, Person, World


def places(person: Person) -> dict[str, bool | None]:
    rows = person.get("/work/available?limit=200")["mailboxes"]
    assert all(row["poll_exact"] is True for row in rows)
    return {row["mailbox_id"]: row["poll_in_gig"] for row in rows}


def poll(gig: Gig, worker: Person, mailbox_id: str, count: int = 1) -> list[str]:
    """What a poll gives; nothing too where it is refused, by a limit or the gig."""
    body = {"count": count, "mailbox_id": mailbox_id}
    answer = worker.call("POST", f"{gig.path}/queue/poll", body)
    if answer.status in (409, 429):
        return []
    return [task["id"] for task in answer.ok()["tasks"]]


@pytest.mark.rule("M-03")
def test_each_active_mailbox_says_whether_a_poll_would_find_it_something(world: World) -> None:
    gig, empty, closed = world.gig(), world.gig(title="Empty"), world.gig()
    worker = world.worker(gig)
    mine = worker.mailbox["id"]  # type: ignore[attr-defined]
    for other in (empty, closed):
        world.worker(other, worker)
        world.task(closed)
    closed.owner.call("DELETE", closed.path).ok()
    task_id = world.task(gig)
    rows = worker.get("/work/available")["mailboxes"]
    assert [(row["gig_id"], row["poll_in_gig"]) for row in rows] == [
        (gig.id, True),
        (empty.id, False),
        (closed.id, False),
    ]
    assert rows[1]["gig_title"] == "Empty" and rows[0]["distribution"] == "queue"
    # Asking takes nothing and changes nothing.
    assert places(worker)[mine] is True
    worker.post(f"{gig.path}/queue/{task_id}/decline")
    assert places(worker)[mine] is False, "he has declined the only one"
    assert world.person().get("/work/available")["mailboxes"] == []
    # A mailbox that is not active has no work, and is not listed.
    path = f"{gig.path}/mailboxes/{mine}"
    gig.owner.patch(path, {"status": "inactive"})
    assert mine not in places(worker)


@pytest.mark.rule("M-03")
@pytest.mark.parametrize(
    ("distribution", "listed_at"),
    [
        ("round_robin", "/api/mailboxes/{}/inbound"),
        ("inbound_proof", "/api/mailboxes/{}/inbound"),
        ("incoming", "/api/v1/incoming"),
    ],
)
def test_where_a_mode_has_no_polls_it_says_null_and_where_to_look(
    world: World, distribution: str, listed_at: str
) -> None:
    gig = world.gig(distribution=distribution)
    worker = world.worker(gig)
    (found,) = worker.get("/work/available")["mailboxes"]
    path = listed_at.format(worker.mailbox["id"])  # type: ignore[attr-defined]
    assert (found["poll_in_gig"], found["poll_exact"], found["listed_at"]) == (None, True, path)
    worker.get(path.removeprefix("/api"))
    (row,) = worker.get("/mailboxes/mine")["mailboxes"]
    assert (row["polls"], row["distribution"], row["gig_status"]) == (False, distribution, "active")
    assert row["gig_title"] == "A gig"


MODES = ("queue", "queue_solo")


LIMITS: list[dict[str, Any]] = [
    {},
    {"default_max_open_tasks": 2},
    {"default_rate_limit_count": 3, "default_rate_limit_minutes": 10},
    {
        "default_max_open_tasks": 3,
        "default_rate_limit_count": 4,
        "default_rate_limit_minutes": 10,
    },
]


def _play(world: World, seed: int, distribution: str) -> Counter[bool]:
    """Random work in one gig, where what is told of polls is held against polls.

    Answers how many of them gave something, and how many nothing.
    """
    dice = random.Random(seed)
    gig = world.gig(
        distribution=distribution,
        queue_order=dice.choice(["fifo", "lifo", "priority", "random"]),
        join_policy="open",
        task_timeout=dice.choice([None, 600]),
        **dice.choice(LIMITS),
        **(dice.choice([{}, {"max_claims_per_task": 2}]) if distribution == "queue_solo" else {}),
    )
    people = [world.worker(gig) for _ in range(3)]
    boxes = [(person, person.mailbox["id"]) for person in people]  # type: ignore[attr-defined]
    more = people[0].post(f"{gig.path}/mailboxes", {"new": True})["mailbox"]["id"]
    boxes.append((people[0], more))
    held: list[tuple[Person, str, str]] = []
    sent: list[str] = []
    told: Counter[bool] = Counter()

    def send() -> None:
        shape: dict[str, Any] = {"priority": dice.choice([0, 5, 1000])}
        if dice.random() < 0.3:
            shape |= {"availability": "reserved", "reserved_for": dice.choice(boxes)[1]}
        sent.append(world.task(gig, **shape))

    def take() -> None:
        person, mailbox_id = dice.choice(boxes)
        would = places(person).get(mailbox_id, False)
        taken = poll(gig, person, mailbox_id)
        assert would is bool(taken), (distribution, seed, would, taken)
        told[would] += 1
        held.extend((person, mailbox_id, task_id) for task_id in taken)

    def pass_on() -> None:
        if held and dice.random() < 0.8:
            person, mailbox_id, task_id = held.pop(dice.randrange(len(held)))
        elif sent and distribution == "queue":
            (person, mailbox_id), task_id = dice.choice(boxes), dice.choice(sent)
        else:
            return
        body = {"mailbox_id": mailbox_id}
        person.call("POST", f"{gig.path}/queue/{task_id}/decline", body)

    def prove() -> None:
        if not held:
            return
        person, mailbox_id, task_id = held.pop(dice.randrange(len(held)))
        body = {"task_identifier": task_id, "mailbox_id": mailbox_id}
        answer = person.call("POST", f"{gig.path}/proofs", body)
        if answer.status == 201 and dice.random() < 0.5:
            path = f"{gig.path}/proofs/{answer.json['proof']['id']}"
            gig.owner.patch(path, {"action": "reject", "requeue": dice.random() < 0.7})

    def wait() -> None:
        world.call("POST", "/dev/clock/advance", {"seconds": dice.choice([30, 400])}).ok()
        holds.expire()

    def change() -> None:
        _, mailbox_id = dice.choice(boxes)
        body = dice.choice(
            [
                {"max_open_tasks": dice.choice([1, 3, None])},
                {"rate_limit_count": 2, "rate_limit_minutes": 5},
                {"rate_limit_count": None, "rate_limit_minutes": None},
            ]
        )
        gig.owner.patch(f"{gig.path}/mailboxes/{mailbox_id}", body)

    def turn() -> None:
        status = gig.owner.get(gig.path)["gig"]["status"]
        gig.owner.patch(gig.path, {"status": "closed" if status == "active" else "active"})
        if status == "active":
            take()
            turn()

    steps = [send] * 5 + [take] * 8 + [pass_on] * 3 + [prove] * 2 + [wait, change]
    for _ in range(60):
        dice.choice(steps)()
    turn()
    for _ in range(8):
        take()
    return told


@pytest.mark.rule("M-03")
@pytest.mark.rule("M-05")
@pytest.mark.rule("S-01")
@pytest.mark.parametrize("distribution", MODES)
def test_it_says_true_exactly_when_a_poll_then_gives_something(
    world: World, distribution: str
) -> None:
    told = sum((_play(world, seed, distribution) for seed in range(4)), Counter[bool]())
    assert told[True] > 25 and told[False] > 25


@pytest.mark.rule("M-03")
def test_a_page_costs_as_many_statements_whatever_it_lists(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = world.person()

    def join(count: int) -> None:
        for number in range(count):
            gig = world.gig(
                distribution=MODES[number % 2],
                queue_order=("fifo", "random")[number // 2 % 2],
                join_policy="open",
                default_max_open_tasks=5,
                default_rate_limit_count=5,
                default_rate_limit_minutes=5,
            )
            world.worker(gig, worker)
            world.task(gig)

    def statements() -> int:
        asked: list[str] = []
        plain = type(db.database).execute_sql

        def execute(self: Any, sql: str, *args: Any, **options: Any) -> Any:
            asked.append(sql)
            return plain(self, sql, *args, **options)

        with monkeypatch.context() as patch:
            patch.setattr(type(db.database), "execute_sql", execute)
            found = mailboxes.mine(Caller(worker.id), 200, None, active=True)
            assert all(available_work.finds(found).values())
        return len(asked)

    join(4)
    few = statements()
    join(12)
    assert statements() == few


@pytest.mark.rule("M-03")
@pytest.mark.rule("T-08")
def test_what_a_mailbox_has_in_hand_is_listed_newest_first_as_its_worker_sees_it(
    world: World,
) -> None:
    gig = world.gig(task_timeout=600)
    worker = world.worker(gig)
    mailbox_id = worker.mailbox["id"]  # type: ignore[attr-defined]
    path = f"/mailboxes/{mailbox_id}/inbound"
    long = "x" * 10_000
    first, second, third = (world.task(gig, long, subject=name) for name in "abc")
    gig.owner.patch(f"{gig.path}/tasks/{second}/private-details", {"private_details": "p" * 4000})
    for _ in range(3):
        worker.post(f"{gig.path}/queue/poll", {"count": 1})
        world.call("POST", "/dev/clock/advance", {"seconds": 10}).ok()
    worker.post(f"{gig.path}/proofs", {"task_identifier": first})
    kept = world.task(gig, availability="reserved", reserved_for=mailbox_id)
    world.task(gig)

    found = worker.get(path)
    assert [task["id"] for task in found["tasks"]] == [third, second, first]
    assert [task["status"] for task in found["tasks"]] == ["claimed", "claimed", "submitted"]
    assert found["tasks"][1]["private_details"] == "p" * 4000
    # A list, so a long body is a preview.
    assert found["tasks"][1]["payload"] == long[:1000] and found["tasks"][1]["payload_truncated"]
    assert found["next_cursor"] is None
    assert [task["id"] for task in worker.get(f"{path}?status=submitted")["tasks"]] == [first]
    page = worker.get(f"{path}?limit=2")
    assert [task["id"] for task in page["tasks"]] == [third, second]
    rest = worker.get(f"{path}?limit=2&cursor={page['next_cursor']}")
    assert [task["id"] for task in rest["tasks"]] == [first]
    assert worker.get(f"{path}?summary=1") == {
        "mailbox_id": mailbox_id,
        "counts": {"claimed": 2, "submitted": 1, "reserved": 1},
    }
    assert kept not in str(found)
    # A claim whose time is over is in nobody's hands, even before the sweep has come by.
    world.call("POST", "/dev/clock/advance", {"seconds": 600}).ok()
    assert [task["id"] for task in worker.get(path)["tasks"]] == [first]
    assert worker.get(f"{path}?summary=1")["counts"]["claimed"] == 0
    for person in (gig.owner, world.worker(gig), world.person()):
        for query in ("", "?summary=1"):
            person.call("GET", f"{path}{query}").refused(404)
    for wrong in ("summary=2", "summary=yes", "status=approved", "summary="):
        worker.call("GET", f"{path}?{wrong}").refused(400)
