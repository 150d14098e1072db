"""What a poll does about tasks that another transaction has not let go of yet (PostgreSQL)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing, contextmanager
from typing import Any

import psycopg
import pytest

from engine import entries, polls
from engine.db import db
from engine.facets import Wanted
from engine.models.gig import Gig as GigRow
from engine.models.task import Task
from engine.operations import Caller
from tests.engine.holding import poll
from tests.world import Gig, World, eventually


@contextmanager
def _somebody_takes(task_id: str, *, keep: bool) -> Any:
    """A connection that has taken a task's entry and neither committed nor failed yet."""
    with closing(psycopg.connect(db.url)) as other:
        other.execute(
            "DELETE FROM queue_entry WHERE task_number = (SELECT number FROM task WHERE id = %s)",
            (task_id,),
        )
        yield
        if keep:
            other.commit()
        else:
            other.rollback()


def _waits_for_a_lock() -> bool:
    with db.reading():
        return bool(
            db.scalar(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                " AND datname = current_database()"
            )
        )


POSTGRES = pytest.mark.parametrize("backend", ["postgres"], indirect=True)
WAYS: dict[str, tuple[dict[str, Any], Wanted]] = {
    "in order": ({}, Wanted()),
    "with a filter": ({}, Wanted(accept_tbd=False)),
    "at random": ({"queue_order": "random"}, Wanted()),
}


@POSTGRES
@pytest.mark.rule("Q-05")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("keep", [False, True])
def test_a_poll_with_nothing_but_what_another_is_taking_waits_for_what_becomes_of_it(
    world: World, way: str, keep: bool
) -> None:
    fields, wanted = WAYS[way]
    gig = world.gig(**fields)
    worker = world.worker(gig)
    task_id = world.task(gig)
    got: list[str] = []

    def ask() -> None:
        polled = polls.poll(Caller(worker.id), gig.id, 5, wanted=wanted)
        got.extend(task.id for task in polled.tasks)

    asking = threading.Thread(target=ask)
    with _somebody_takes(task_id, keep=keep):
        asking.start()
        eventually(_waits_for_a_lock)
    asking.join()

    assert got == ([] if keep else [task_id])


@POSTGRES
@pytest.mark.rule("Q-05")
def test_a_poll_does_not_wait_while_there_is_something_else(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    first, second = world.task(gig), world.task(gig)
    with _somebody_takes(first, keep=False):
        assert poll(gig, worker) == [second]
    # What he passed over comes back to him.
    assert poll(gig, worker) == [first]


@POSTGRES
@pytest.mark.rule("Q-05")
def test_a_cursor_does_not_pass_what_another_may_fail_to_take(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    sent = [world.task(gig) for _ in range(4)]
    # The first one comes back, so that it is behind his cursor.
    assert poll(gig, other, 1) == sent[:1]
    worker.post(f"{gig.path}/queue/{sent[1]}/decline")
    assert poll(gig, worker, 1) == [sent[2]]
    other.post(f"{gig.path}/queue/{sent[0]}/decline")

    with _somebody_takes(sent[0], keep=False):
        assert poll(gig, worker, 1) == [sent[3]]
        late = world.task(gig)
        assert poll(gig, worker, 1) == [late]
    assert poll(gig, worker) == [sent[0]]


@POSTGRES
@pytest.mark.rule("Q-02")
def test_what_commits_after_a_later_position_was_seen_is_found(world: World) -> None:
    """A task whose transaction began before a poll and ends after it, behind his cursor."""
    gig = world.gig()
    worker = world.worker(gig)
    slow = _enqueued_slowly(gig)
    try:
        sent = [world.task(gig) for _ in range(2)]
        worker.post(f"{gig.path}/queue/{sent[0]}/decline")
        assert poll(gig, worker) == [sent[1]]
        assert poll(gig, worker) == []
    finally:
        early = slow()
    assert poll(gig, worker) == [early]


def _enqueued_slowly(gig: Gig) -> Callable[[], str]:
    """Put a task on the shelf, ahead of all, by a transaction that ends when it is told to."""
    go, written = threading.Event(), threading.Event()

    def write() -> None:
        row = GigRow.get(GigRow.id == gig.id)
        task = Task.create(
            id=f"TASK_slow_{gig.id}",
            gig_id=gig.id,
            status="queued",
            subject="",
            payload="{}",
            content_type="text/plain",
            tags=[],
            price_tbd=False,
            priority=0,
            created_at=0,
        )
        entries.enqueue(row, Task.get(Task.id == task.id))
        written.set()
        go.wait(30)

    running = threading.Thread(target=lambda: db.write(write))
    running.start()
    assert written.wait(30)

    def finish() -> str:
        go.set()
        running.join()
        return f"TASK_slow_{gig.id}"

    return finish
