"""Changes while workers reach for the same tasks, and while others change them too (Q-05)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from engine.db import db
from engine.models.task import QueueEntry, Take, Task
from tests.contract.test_assignments import mailbox
from tests.contract.test_task_changes import events, path
from tests.world import Gig, Person, World, at_once

TASKS, POLLERS = 24, 8


def assert_whole(gig: Gig) -> dict[str, Task]:
    """Each waiting task has its entry, at its own place and price; nothing else has one."""
    with db.reading():
        tasks = {task.id: task for task in Task.select().where(Task.gig_id == gig.id)}
        entries = {entry.task_number: entry for entry in QueueEntry.select()}
    offered = {
        task.number
        for task in tasks.values()
        if task.status == "queued" and task.availability == "open"
    }
    assert set(entries) == offered
    for task in tasks.values():
        assert (task.mailbox_id is not None) == (task.status == "claimed")
        if task.number in entries:
            entry = entries[task.number]
            assert entry.sort_key >> 29 == task.priority
            assert entry.price_units == task.price_units
    return tasks


def priority(gig: Gig, worker: Person, task_id: str, n: int) -> Any:
    return gig.owner.call("PATCH", path(gig, task_id, "/priority"), {"priority": n})


def price(gig: Gig, worker: Person, task_id: str, n: int) -> Any:
    return gig.owner.call("PATCH", path(gig, task_id, "/price"), {"price": n})


def view_only(gig: Gig, worker: Person, task_id: str, n: int) -> Any:
    kind = ("view_only", "open", "reserved")[n % 3]
    return gig.owner.call("PATCH", path(gig, task_id, "/availability"), {"availability": kind})


def assign(gig: Gig, worker: Person, task_id: str, n: int) -> Any:
    return gig.owner.call("POST", path(gig, task_id, "/assign"), {"assign_to": worker.email})


def delete(gig: Gig, worker: Person, task_id: str, n: int) -> Any:
    return gig.owner.call("DELETE", path(gig, task_id))


REFUSED: dict[Callable[..., Any], set[str]] = {
    priority: {"already_claimed"},
    price: set(),
    view_only: {"claimed"},
    assign: set(),
    delete: {"already_claimed"},
}


@pytest.mark.rule("Q-05")
@pytest.mark.rule("P-01")
@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change.__name__)
def test_tasks_that_are_changed_while_eight_workers_poll_are_each_somewhere_once(
    world: World, change: Callable[..., Any]
) -> None:
    gig = world.gig(price="1")
    workers = [world.worker(gig) for _ in range(POLLERS)]
    named = world.worker(gig)
    sent = [world.task(gig) for _ in range(TASKS)]
    taken: dict[str, list[dict[str, Any]]] = {worker.id: [] for worker in workers}
    changed: list[tuple[str, Any]] = []
    done = threading.Event()

    def run(n: int) -> None:
        if n == POLLERS:
            for number, task_id in enumerate(sent[::2]):
                changed.append((task_id, change(gig, named, task_id, number)))
            done.set()
            return
        worker = workers[n]
        while True:
            last = done.is_set()
            got = worker.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
            taken[worker.id] += got
            if last and not got:
                return

    at_once(POLLERS + 1, run)

    tasks = assert_whole(gig)
    applied = set()
    for task_id, answer in changed:
        if answer.status == 200:
            applied.add(task_id)
        else:
            assert answer.refused(409)["reason"] in REFUSED[change]
    polled = Counter(task["id"] for got in taken.values() for task in got)
    assert not [task_id for task_id, times in polled.items() if times > 1]
    with db.reading():
        kinds = Counter(take.kind for take in Take.select())
    assert kinds["claim"] == len(polled)
    for task_id, task in tasks.items():
        if change is delete and task_id in applied:
            assert task.status == "cancelled" and task_id not in polled
        elif change is assign and task_id in applied:
            assert task.mailbox_id == mailbox(named)
        elif change is not view_only:
            assert task.status == "claimed" and task_id in polled
    if change is price:
        # What a worker was shown when he took it is the least that he has.
        for got in taken.values():
            for task in got:
                held = tasks[task["id"]].held_price_units
                assert held is not None and held >= int(task["price"] * 1_000_000)


@pytest.mark.rule("A-01")
def test_a_task_that_is_given_to_twenty_at_once_is_one_workers_and_the_log_agrees(
    world: World,
) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(20)]
    task_id = world.task(gig)

    answers = at_once(20, lambda n: assign(gig, workers[n], task_id, n).ok())

    assert [answer["mailbox_id"] for answer in answers] == [mailbox(one) for one in workers]
    holder = assert_whole(gig)[task_id].mailbox_id
    given = [event["data"]["mailbox_id"] for event in events(gig.owner, gig, "task.assigned")]
    lost = [event["data"]["mailbox_id"] for event in events(gig.owner, gig, "task.released")]
    assert sorted(given) == sorted(mailbox(one) for one in workers)
    assert given[-1] == holder and lost == given[:-1]
    with db.reading():
        takes = {take.mailbox_id: take.excused for take in Take.select()}
    assert takes == {one: one != holder for one in given}


@pytest.mark.rule("P-01")
@pytest.mark.parametrize("kind", ["priorities", "prices", "tags"])
def test_two_batches_of_the_same_tasks_in_opposite_order_do_not_hold_each_other_up(
    world: World, kind: str
) -> None:
    gig = world.gig()
    sent = [world.task(gig) for _ in range(20)]
    field = {"priorities": "priority", "prices": "price", "tags": "tags"}[kind]

    def write(n: int) -> None:
        for turn in range(5):
            order = sent if n % 2 else sent[::-1]
            values = [[f"{(n + turn + at) % 7}"] if kind == "tags" else n + at for at in range(20)]
            updates = [
                {"id": task_id, field: value} for task_id, value in zip(order, values, strict=True)
            ]
            body = {"updates": updates}
            answer = gig.owner.patch(f"{gig.path}/queue/{kind}", body)
            assert answer["updated"] == 20

    at_once(4, write)

    assert_whole(gig)


@pytest.mark.rule("A-02")
def test_the_queue_is_deleted_while_workers_poll_and_each_task_is_taken_or_gone(
    world: World,
) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(4)]
    for _ in range(40):
        world.task(gig)
    deleted: list[int] = []

    def run(n: int) -> int:
        if n == 4:
            deleted.append(gig.owner.call("DELETE", f"{gig.path}/queue/all").ok()["deleted"])
            return 0
        got = 0
        for _ in range(5):
            got += len(workers[n].post(f"{gig.path}/queue/poll", {"count": 2})["tasks"])
        return got

    taken = sum(at_once(5, run))

    states = Counter(task.status for task in assert_whole(gig).values())
    assert states["cancelled"] == deleted[0] and states["claimed"] == taken
    assert sum(states.values()) == 40 and set(states) <= {"cancelled", "claimed"}
