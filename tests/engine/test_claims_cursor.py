"""Nothing is missed and nothing is offered again, however many poll, decline and send at once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import Any

import pytest

from engine import claims_postgres, declining, polls
from engine.db import db
from engine.facets import Wanted
from engine.operations import Caller
from tests.engine.holding import mailbox_id, poll
from tests.world import Gig, Person, World, at_once

WORKERS = 4


def _cursor(worker: Person) -> tuple[Any, ...]:
    with db.reading():
        (found,) = db.rows(
            "SELECT cursor_key, cursor_as_of FROM mailbox WHERE id = ?", (mailbox_id(worker),)
        )
    return found


class Shift:
    """Workers who poll and decline at once, each for himself, and what each must not be given."""

    def __init__(self, world: World, gig: Gig, workers: list[Person]) -> None:
        self.world, self.gig, self.workers = world, gig, workers
        self.declined: list[set[str]] = [set() for _ in workers]
        self.sent: list[str] = []
        self.holders: dict[str, int] = {}
        self.wrong: list[str] = []
        self.lock = threading.Lock()

    def poll(self, who: int, count: int) -> list[str]:
        polled = polls.poll(Caller(self.workers[who].id), self.gig.id, count)
        got = [task.id for task in polled.tasks]
        with self.lock:
            for task_id in got:
                if task_id in self.declined[who]:
                    self.wrong.append(f"{who} was offered {task_id}, which he has declined")
                if task_id in self.holders:
                    self.wrong.append(f"{task_id} was given to two at once")
                self.holders[task_id] = who
        return got

    def decline(self, who: int, task_id: str) -> None:
        with self.lock:
            self.declined[who].add(task_id)
            del self.holders[task_id]
        declining.decline(Caller(self.workers[who].id), self.gig.id, task_id)

    def send(self, priority: int) -> None:
        task_id = self.world.task(self.gig, priority=priority)
        with self.lock:
            self.sent.append(task_id)

    def missed(self) -> list[str]:
        """Tasks that still wait although there is somebody who never had the chance."""
        with db.reading():
            waiting = db.rows(
                "SELECT task.id FROM queue_entry JOIN task ON task.number = task_number"
                " WHERE shelf = ?",
                (self.gig.id,),
            )
        return [
            f"{task_id} was never offered to {who}"
            for (task_id,) in waiting
            for who in range(len(self.workers))
            if task_id not in self.declined[who]
        ]


@pytest.mark.rule("Q-02")
@pytest.mark.rule("D-01")
@pytest.mark.parametrize("order", ["fifo", "lifo"])
@pytest.mark.parametrize("late_most", [4, 1000])
def test_every_task_is_offered_once_to_all_who_may_have_it(
    world: World, monkeypatch: pytest.MonkeyPatch, order: str, late_most: int
) -> None:
    # With four, a look behind the cursor often finds too much and begins at the head.
    monkeypatch.setattr(claims_postgres, "LATE_MOST", late_most)
    gig = world.gig(queue_order=order)
    shift = Shift(world, gig, [world.worker(gig) for _ in range(WORKERS)])
    for _ in range(20):
        shift.send(1000)
    until = time.monotonic() + 2.5

    def work(number: int) -> None:
        # Two threads for each worker, so that one mailbox polls in parallel with itself; and two
        # who send, ahead of the cursors and behind them.
        who, dice = number % WORKERS, random.Random(number)
        while time.monotonic() < until:
            if number >= 2 * WORKERS:
                shift.send(dice.choice([0, 500, 1000, 1000, 2000]))
                continue
            for task_id in shift.poll(who, dice.choice([1, 2, 5])):
                if dice.random() < 0.9:
                    shift.decline(who, task_id)

    at_once(2 * WORKERS + 2, work)
    # Each looks until nothing is left that is for him, and passes on all of it.
    for _ in range(2):
        for who in range(WORKERS):
            while got := shift.poll(who, 20):
                for task_id in got:
                    shift.decline(who, task_id)

    assert shift.wrong == []
    assert shift.missed() == []
    # Some came in while all polled, however slow the machine.
    assert len(shift.sent) > 20


@pytest.mark.rule("Q-02")
def test_what_comes_back_or_in_behind_a_cursor_is_found(world: World) -> None:
    gig = world.gig()
    first, second = world.worker(gig), world.worker(gig)
    sent = [world.task(gig) for _ in range(6)]
    held = poll(gig, second, 2)
    assert poll(gig, first, 2) == sent[2:4]
    # He is past all of them by now.
    for task_id in sent[4:]:
        first.post(f"{gig.path}/queue/{task_id}/decline")
    assert poll(gig, first) == []
    assert None not in _cursor(first)

    second.post(f"{gig.path}/queue/{held[1]}/decline")
    early = world.task(gig, priority=1)
    assert poll(gig, first) == [early, held[1]]
    late = world.task(gig)
    assert poll(gig, first) == [late]
    assert poll(gig, first) == []


@pytest.mark.rule("Q-02")
def test_a_cursor_is_ahead_of_what_was_declined_and_is_not_looked_through_again(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    sent = [world.task(gig) for _ in range(4)]
    for task_id in sent[:2]:
        worker.post(f"{gig.path}/queue/{task_id}/decline")
    assert poll(gig, worker, 1) == [sent[2]]
    key, _ = _cursor(worker)
    with db.reading():
        behind = db.rows(
            "SELECT task.id FROM queue_entry JOIN task ON task.number = task_number"
            " WHERE shelf = ? AND sort_key <= ? ORDER BY sort_key",
            (gig.id, key),
        )
    assert [task_id for (task_id,) in behind] == sent[:2]


@pytest.mark.rule("Q-02")
def test_an_idle_poll_writes_nothing(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    poll(gig, worker)
    declined = world.task(gig)
    worker.post(f"{gig.path}/queue/{declined}/decline")
    # Of several, since others may be at work in the same server.
    poll(gig, worker)
    poll(gig, worker)

    for _ in range(5):
        before = _cursor(worker), _row_version(worker)
        assert poll(gig, worker) == []
        assert (_cursor(worker), _row_version(worker)) == before


def _row_version(worker: Person) -> Any:
    """On PostgreSQL: which transaction wrote or locked the mailbox last."""
    if not db.is_postgres:
        return None
    with db.reading():
        return db.rows("SELECT xmin, xmax FROM mailbox WHERE id = ?", (mailbox_id(worker),))


@pytest.mark.rule("Q-02")
def test_a_filtered_poll_leaves_the_cursor_where_it_is(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    plain = [world.task(gig) for _ in range(3)]
    tagged = world.task(gig, tags="video")
    got = polls.poll(Caller(worker.id), gig.id, 20, wanted=Wanted(tags=("video",)))
    assert [task.id for task in got.tasks] == [tagged]
    assert poll(gig, worker) == plain


@pytest.mark.rule("Q-05")
def test_two_gigs_of_one_worker_do_not_share_a_cursor(world: World) -> None:
    person = world.person()
    gigs = [world.gig() for _ in range(2)]
    for gig in gigs:
        world.worker(gig, person)
    sent = [[world.task(gig) for _ in range(3)] for gig in gigs]
    assert [poll(gig, person) for gig in gigs] == sent
    assert Counter(len(poll(gig, person)) for gig in gigs) == {0: 2}
