"""What waits because everybody is paused or full, and how it is given out (U-04)."""

from __future__ import annotations

import datetime
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from engine import giving_out, waiting_delivery
from engine.db import db
from jobs import actors
from tests.push.people import change, hand_in, inbound, limit, rung, waiting
from tests.world import Gig, World, at_once, eventually


@pytest.fixture
def bells(world: World) -> Iterator[list[str]]:
    with rung(world) as heard:
        yield heard


def _full(world: World, **fields: Any) -> tuple[Gig, Any, str]:
    """A gig whose one worker has all that he may hold, and what he holds."""
    gig = world.gig(distribution="round_robin", default_max_open_tasks=1, **fields)
    worker = world.worker(gig)
    return gig, worker, world.task(gig)


@pytest.mark.rule("U-04")
@pytest.mark.rule("T-02")
def test_what_waits_is_shown_to_the_owner_and_given_out_oldest_first(
    world: World, bells: list[str]
) -> None:
    gig, worker, held = _full(world)
    sent = []
    for _ in range(3):
        answer = world.send(gig).ok()
        assert answer.keys() == {"status", "message_id"} and answer["status"] == "waiting"
        sent.append(answer["message_id"])
    assert waiting(gig) == sent
    for number, expected in enumerate(sent):
        hand_in(worker, gig, held)
        assert inbound(worker)[-1] == expected and waiting(gig) == sent[number + 1 :]
        held = expected


Freeing = Callable[[World, Gig, Any, str], object]


def _expire(world: World, gig: Gig, worker: Any, held: str) -> None:
    world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    actors.JOBS["sweep"]()


WAYS: dict[str, Freeing] = {
    "a proof": lambda world, gig, worker, held: hand_in(worker, gig, held),
    "the end of his time": _expire,
    "his own cap": lambda world, gig, worker, held: limit(gig, worker, max_open_tasks=2),
    "the gig's cap": lambda world, gig, worker, held: gig.owner.patch(
        gig.path, {"default_max_open_tasks": 2}
    ),
    "another who joins": lambda world, gig, worker, held: world.worker(gig),
    "the owner who moves it away": lambda world, gig, worker, held: gig.owner.post(
        f"{gig.path}/tasks/{held}/assign", {"assign_to": _other(world, gig)}
    ),
}


def _other(world: World, gig: Gig) -> str:
    other = world.worker(gig)
    change(other, gig, paused=True)
    mailbox_id: str = other.mailbox["id"]  # type: ignore[attr-defined]
    return mailbox_id


@pytest.mark.rule("U-04")
@pytest.mark.parametrize("way", list(WAYS))
def test_a_worker_is_free_again_by(world: World, bells: list[str], way: str) -> None:
    gig, worker, held = _full(world, task_timeout=60)
    task_id = world.task(gig)
    assert waiting(gig) == [task_id]
    WAYS[way](world, gig, worker, held)
    assert task_id not in waiting(gig) and gig.id in bells


@pytest.mark.rule("U-04")
@pytest.mark.parametrize("way", ["unpausing", "the filter", "activation", "a tag", "a price"])
def test_a_task_suits_somebody_by(world: World, bells: list[str], way: str) -> None:
    gig = world.gig(distribution="round_robin")
    nobody, worker = world.worker(gig), world.worker(gig)
    change(nobody, gig, paused=True)
    if way == "unpausing":
        change(worker, gig, paused=True)
    elif way == "activation":
        limit(gig, worker, status="inactive")
    else:
        change(worker, gig, filter_tags=["wanted"], filter_price_min=3)
    task_id = world.task(
        gig, tags="other" if way == "a tag" else "wanted", price=2 if way == "a price" else 5
    )
    if way == "the filter":
        task_id = world.task(gig, tags="unwanted-not", price=1)
    assert task_id in waiting(gig) or way == "the filter"
    path = f"{gig.path}/tasks/{task_id}"
    {
        "unpausing": lambda: change(worker, gig, paused=False),
        "the filter": lambda: change(worker, gig, filter_tags=[], filter_price_min=None),
        "activation": lambda: limit(gig, worker, status="active"),
        "a tag": lambda: gig.owner.patch(f"{path}/tags", {"tags": ["wanted"]}),
        "a price": lambda: gig.owner.patch(f"{path}/price", {"price": "3"}),
    }[way]()
    assert task_id in inbound(worker) and waiting(gig) == []


@pytest.mark.rule("U-04")
@pytest.mark.rule("T-04")
def test_what_was_to_wait_until_a_time_is_given_out_then(world: World, bells: list[str]) -> None:
    gig = world.gig(distribution="round_robin")
    worker = world.worker(gig)
    at = world.call("GET", "/health").ok()["timestamp"]
    later = at.replace("Z", "+00:00")
    due = datetime.datetime.fromisoformat(later) + datetime.timedelta(seconds=60)
    sent = world.send(gig, not_before=due.isoformat().replace("+00:00", "Z")).ok()
    assert sent["status"] == "waiting" and inbound(worker) == []
    waiting_delivery.sweep()
    assert inbound(worker) == []
    world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    actors.JOBS["sweep"]()
    assert inbound(worker) == [sent["message_id"]]


@pytest.mark.rule("M-05")
@pytest.mark.rule("U-04")
def test_the_sweep_finds_whose_window_has_moved_on(world: World) -> None:
    gig = world.gig(
        distribution="round_robin", default_rate_limit_count=1, default_rate_limit_minutes=1
    )
    worker = world.worker(gig)
    sent = [world.task(gig) for _ in range(3)]
    actors.JOBS["sweep"]()
    assert inbound(worker) == sent[:1]
    for taken in (2, 3):
        world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
        actors.JOBS["sweep"]()
        assert inbound(worker) == sent[:taken]


@pytest.mark.rule("U-04")
def test_a_task_that_suits_nobody_who_is_free_holds_up_no_younger_one(
    world: World, bells: list[str]
) -> None:
    gig = world.gig(distribution="round_robin")
    films, texts = world.worker(gig), world.worker(gig)
    change(films, gig, filter_tags=["film"], paused=True)
    change(texts, gig, filter_tags=["text"], paused=True)
    old_films = [world.task(gig, tags="film") for _ in range(3)]
    young_texts = [world.task(gig, tags="text") for _ in range(2)]
    change(texts, gig, paused=False)
    assert inbound(texts) == young_texts and waiting(gig) == old_films
    # Nor does it keep one who comes now from being served at once.
    assert world.send(gig, tags="text").ok()["status"] == "forwarded"
    change(films, gig, paused=False)
    assert inbound(films) == old_films and waiting(gig) == []


@pytest.mark.rule("U-04")
def test_however_little_alike_what_waits_is_a_look_at_it_is_a_few_statements(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig, worker, unwanted = _of_all_kinds(world, 60)
    wanted = world.task(gig, tags="wanted")
    change(worker, gig, paused=False)
    asked, rows = Counter[str](), db.rows

    def counted(*given: Any) -> Any:
        asked["statements"] += 1
        return rows(*given)

    monkeypatch.setattr(db, "rows", counted)
    assert waiting_delivery.deliver(gig.id) == 1
    monkeypatch.undo()
    assert asked["statements"] < 40
    assert inbound(worker) == [wanted] and waiting(gig) == unwanted


@pytest.mark.rule("U-04")
def test_what_stands_many_pages_behind_others_is_found_and_a_send_looks_at_one_page(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(giving_out, "PAGE", 2)
    monkeypatch.setattr(giving_out, "PAGES", 1)
    gig, worker, unwanted = _of_all_kinds(world, 5)
    change(worker, gig, paused=False)
    sent = world.send(gig, tags="wanted").ok()
    assert sent["status"] == "waiting" and inbound(worker) == []
    assert waiting_delivery.deliver(gig.id) == 1
    assert inbound(worker) == [sent["message_id"]] and waiting(gig) == unwanted
    limit(gig, worker, max_open_tasks=2)
    with rung(world):
        change(worker, gig, filter_tags=[])
    assert inbound(worker) == [sent["message_id"], unwanted[0]]


def _of_all_kinds(world: World, count: int) -> tuple[Gig, Any, list[str]]:
    """A gig whose worker is paused and wants none of the tasks that wait, each of its own kind."""
    gig = world.gig(distribution="round_robin")
    nobody, worker = world.worker(gig), world.worker(gig)
    change(nobody, gig, paused=True)
    change(worker, gig, paused=True, filter_tags=["wanted"])
    return gig, worker, [world.task(gig, tags=f"kind-{number}") for number in range(count)]


@pytest.mark.rule("U-04")
def test_one_that_everybody_has_lost_holds_up_no_younger_one(
    world: World, bells: list[str]
) -> None:
    gig, worker, lost = _full(world)
    younger = world.task(gig)
    gig.owner.post(f"{gig.path}/tasks/{lost}/recycle")
    assert inbound(worker) == [younger] and waiting(gig) == [lost]
    other = world.worker(gig)
    assert inbound(other) == [lost]


@pytest.mark.rule("U-04")
def test_a_new_task_does_not_overtake_one_that_waits(world: World) -> None:
    """Its bell is not heard here, so the older one is still on the shelf when the younger comes."""
    gig, worker, held = _full(world)
    older = world.task(gig)
    hand_in(worker, gig, held)
    younger = world.send(gig).ok()
    assert younger["status"] == "waiting"
    assert inbound(worker)[-1] == older and waiting(gig) == [younger["message_id"]]
    limit(gig, worker, max_open_tasks=2)
    youngest = world.send(gig).ok()
    assert youngest["status"] == "waiting" and inbound(worker)[-1] == younger["message_id"]
    assert waiting(gig) == [youngest["message_id"]]


@pytest.mark.rule("A-02")
@pytest.mark.rule("U-04")
def test_what_waits_can_be_assigned_deleted_and_cancelled(world: World, bells: list[str]) -> None:
    gig, worker, _ = _full(world)
    first, second, third = (world.task(gig) for _ in range(3))
    path = worker.mailbox["id"]
    gig.owner.post(f"{gig.path}/tasks/{second}/assign", {"assign_to": path})
    gig.owner.call("DELETE", f"{gig.path}/tasks/{first}").ok()
    assert second in inbound(worker) and waiting(gig) == [third]
    gig.owner.post(f"{gig.path}/cancel")
    assert gig.owner.get(f"{gig.path}/tasks/{third}")["task"]["status"] == "cancelled"


@pytest.mark.rule("G-08")
def test_a_closed_gig_gives_out_nothing_until_it_is_open_again(
    world: World, bells: list[str]
) -> None:
    gig, worker, held = _full(world)
    other = world.worker(gig)
    change(other, gig, paused=True)
    task_id = world.task(gig)
    gig.owner.patch(gig.path, {"status": "closed"})
    change(other, gig, paused=False)
    gig.owner.post(f"{gig.path}/tasks/{held}/recycle")
    assert inbound(other) == [] and inbound(worker) == [] and waiting(gig) == [held, task_id]
    gig.owner.patch(gig.path, {"status": "active"})
    assert inbound(other) == [held] and inbound(worker) == [task_id]


@pytest.mark.rule("U-04")
def test_what_waits_stays_when_the_last_who_could_have_it_leaves(
    world: World, bells: list[str]
) -> None:
    gig = world.gig(distribution="round_robin")
    worker = world.worker(gig)
    change(worker, gig, paused=True)
    task_id = world.task(gig)
    worker.call("DELETE", f"{gig.path}/mailboxes/{worker.mailbox['id']}").ok()  # type: ignore[attr-defined]
    assert waiting(gig) == [task_id]
    later = world.worker(gig)
    assert inbound(later) == [task_id]


@pytest.mark.rule("U-04")
def test_a_worker_process_hears_the_bell(world: World) -> None:
    world.start()
    gig, worker, held = _full(world)
    task_id = world.task(gig)
    hand_in(worker, gig, held)
    eventually(lambda: inbound(worker)[-1] == task_id, what="the waiting task is given out")


@pytest.mark.rule("U-04")
@pytest.mark.rule("M-05")
def test_nothing_waits_beside_a_free_worker_however_they_meet(world: World) -> None:
    """Tasks come in while workers hand in: no bell is lost, no limit passed, nobody is idle."""
    gig = world.gig(distribution="round_robin", default_max_open_tasks=1)
    workers = [world.worker(gig) for _ in range(3)]
    each, rounds = 12, Counter[int]()

    def act(number: int) -> None:
        if number < 2:
            for _ in range(each):
                world.send(gig).ok()
            return
        worker = workers[number - 2]
        for _ in range(each):
            held = _held(worker)
            assert len(held) <= 1
            if held:
                hand_in(worker, gig, held[0])
                rounds[number] += 1

    with rung(world):
        at_once(5, act)
    left = len(waiting(gig))
    busy = sum(len(_held(worker)) for worker in workers)
    assert busy == min(3, 2 * each - sum(rounds.values()))
    assert left == 2 * each - sum(rounds.values()) - busy


def _held(worker: Any) -> list[str]:
    path = f"/mailboxes/{worker.mailbox['id']}/inbound?status=claimed"
    return [task["id"] for task in worker.get(path)["tasks"]]


@pytest.mark.rule("U-04")
@pytest.mark.rule("M-05")
def test_whatever_happens_at_once_nothing_fails_and_nobody_is_missed(world: World) -> None:
    """Workers hand in, pause, change their filters, leave and come back while tasks are sent,
    retagged, assigned, recycled and deleted."""
    gig = world.gig(distribution="round_robin", default_max_open_tasks=2)
    workers = [world.worker(gig) for _ in range(4)]
    sent: list[str] = []
    statuses = Counter[int]()

    def owner(chance: random.Random) -> tuple[str, str, Any]:
        if not sent or chance.random() < 0.5:
            return ("POST", "", None)
        path = f"{gig.path}/tasks/{chance.choice(sent[-9:])}"
        ways: list[tuple[str, str, Any]] = [
            ("POST", f"{path}/recycle", {}),
            ("POST", f"{path}/assign", {"assign_to": chance.choice(workers).mailbox["id"]}),  # type: ignore[attr-defined]
            ("DELETE", path, None),
            ("PATCH", f"{path}/tags", {"tags": [chance.choice("ab")]}),
        ]
        return chance.choice(ways)

    def worker_does(chance: random.Random, worker: Any) -> tuple[str, str, Any]:
        place = f"{gig.path}/mailboxes/{worker.mailbox['id']}"
        held = _held(worker)
        if held and chance.random() < 0.6:
            return ("POST", f"{gig.path}/proofs", {"task_identifier": held[0], "proofs": ["x"]})
        ways: list[tuple[str, str, Any]] = [
            ("PATCH", place, {"paused": chance.random() < 0.5}),
            ("PATCH", place, {"filter_tags": chance.choice([[], ["a"], ["b"]])}),
            ("DELETE", place, None),
            ("POST", f"{gig.path}/mailboxes", {"invite": gig.invite}),
        ]
        return chance.choice(ways)

    def act(number: int) -> None:
        chance = random.Random(number)
        for _ in range(15):
            if number < 2:
                method, path, body = owner(chance)
                if not path:
                    answer = world.send(gig)
                    sent.append(answer.ok()["message_id"])
                else:
                    answer = gig.owner.call(method, path, body)
            else:
                worker = workers[number - 2]
                answer = worker.call(*worker_does(chance, worker))
            statuses[answer.status // 100] += 1

    with rung(world):
        at_once(6, act)
    assert statuses.keys() <= {2, 4}
    assert waiting_delivery.deliver(gig.id) == 0
    with db.reading():
        too_many = db.rows(
            "SELECT mailbox_id FROM task WHERE status = 'claimed' AND assignee_id IS NULL "
            "GROUP BY mailbox_id HAVING count(*) > 2"
        )
    assert too_many == []
