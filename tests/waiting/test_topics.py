"""Topics reach whoever waits, whatever else goes on (Q-06)."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from engine import topics
from engine.db import db
from engine.errors import Refused
from engine.models.meta import Meta
from tests.world import World, eventually
from web import wsgi
from web.hub import ABREAST, Hub
from web.waiting import SLOT, Slot

QUEUE = topics.queue("GIG_1")


@pytest.fixture
def heard(world: World) -> Iterator[list[str]]:
    told: list[str] = []
    listener = topics.Listener(told.append)
    listener.start()
    listener.ready.wait(10)
    time.sleep(0.1)
    told.clear()
    yield told
    listener.stop()


def _write(value: int) -> None:
    db.write(lambda: Meta.add("tested", value))


def _elsewhere(path: str) -> None:
    """A commit of another process's connection."""
    with closing(sqlite3.connect(path, timeout=30)) as other:
        other.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('other', '1')")
        other.commit()


@pytest.mark.rule("Q-06")
def test_a_topic_is_told_once_it_is_committed_and_never_if_it_is_not(heard: list[str]) -> None:
    def write(fail: bool, topic: str) -> None:
        topics.tell(topic)
        topics.tell(topic)
        if fail:
            raise Refused("no", "Not this one.")

    for _ in range(3):
        with pytest.raises(Refused):
            db.write(lambda: write(True, "queue:undone"))

    def outer() -> None:
        with pytest.raises(Refused):
            db.write(lambda: write(True, "queue:inner"))
        write(False, QUEUE)

    db.write(outer)
    eventually(lambda: QUEUE in heard, 5)
    assert heard == [QUEUE]


@pytest.mark.rule("Q-06")
@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_another_process_is_heard_however_busy_this_one_is(heard: list[str]) -> None:
    path = db.url.removeprefix("sqlite:///")
    # Between two looks both commit, and then it is quiet.
    for _ in range(8):
        time.sleep(3 * topics.SQLITE_LOOK_SECONDS)
        heard.clear()
        _write(1)
        _elsewhere(path)
        eventually(lambda: topics.EVERYTHING in heard, 1)
    time.sleep(3 * topics.SQLITE_LOOK_SECONDS)
    heard.clear()
    stop = threading.Event()

    def be_busy() -> None:
        while not stop.wait(0.01):
            _write(1)

    busy = threading.Thread(target=be_busy)
    busy.start()
    try:
        time.sleep(0.3)
        assert heard == [], "what this process commits is told by itself alone"
        for _ in range(10):
            heard.clear()
            _elsewhere(path)
            eventually(lambda: topics.EVERYTHING in heard, 1)
    finally:
        stop.set()
        busy.join()


@pytest.mark.rule("Q-06")
@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
def test_a_connection_that_was_lost_is_made_again_and_all_are_told_to_look(
    heard: list[str],
) -> None:
    with psycopg.connect(db.url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        ).fetchall()
        assert ended
    eventually(lambda: topics.EVERYTHING in heard, 5)
    db.write(lambda: topics.tell(QUEUE))
    eventually(lambda: QUEUE in heard, 5)


@pytest.mark.rule("Q-06")
def test_what_a_caller_who_hung_up_gives_back_is_told_to_those_who_passed_it_over(
    world: World,
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    sent = world.task(gig)
    seen: list[str] = []
    meanwhile = threading.Thread(target=lambda: seen.extend(poll(other.key)[1]))

    def gone() -> bool:
        # At this moment the task is taken and the claim not committed; who asks now waits for it.
        meanwhile.start()
        return True

    def poll(key: str, slot: Slot | None = None) -> tuple[int, list[str]]:
        answer = world.app.test_client().post(
            f"/api{gig.path}/queue/poll",
            headers={"x-api-key": key},
            environ_overrides={SLOT: slot or Slot()},
        )
        return answer.status_code, [task["id"] for task in answer.json.get("tasks", [])]

    slot = Slot(gone=gone)
    assert poll(worker.key, slot) == (499, [])
    assert slot.released == (topics.queue(gig.id),)
    meanwhile.join()
    assert seen == [sent]


@pytest.mark.rule("Q-06")
def test_those_who_wait_longest_are_woken_first_and_pass_on(world: World) -> None:
    asked: list[int] = []

    async def run() -> None:
        hub = Hub()
        hub.open()
        exhausted_at = 10

        async def waiter(number: int) -> None:
            since = hub.position
            if await hub.wait((QUEUE,), since, 0.5, asyncio.Event()):
                asked.append(number)
                if number < exhausted_at:
                    hub.pass_on((QUEUE,))

        tasks = []
        for number in range(20):
            tasks.append(asyncio.create_task(waiter(number)))
            await asyncio.sleep(0)
        hub.tell(QUEUE)
        await asyncio.gather(*tasks)
        assert hub.waiting == 0

    asyncio.run(run())
    assert asked[:11] == list(range(11))
    assert len(asked) < 11 + ABREAST


@pytest.mark.rule("Q-06")
def test_what_is_told_just_before_one_waits_is_not_missed() -> None:
    async def run() -> None:
        hub = Hub()
        hub.open()
        since = hub.position
        hub.tell(QUEUE)
        await asyncio.sleep(0)
        assert await hub.wait((QUEUE,), since, 5, asyncio.Event())
        assert not await hub.wait((QUEUE,), hub.position, 0.01, asyncio.Event())
        # One who goes as he is woken hands it on.
        left, stayed = asyncio.Event(), asyncio.Event()
        first = asyncio.create_task(hub.wait((QUEUE,), hub.position, 5, left))
        await asyncio.sleep(0)
        others = [
            asyncio.create_task(hub.wait((QUEUE,), hub.position, 5, stayed)) for _ in range(ABREAST)
        ]
        await asyncio.sleep(0)
        hub.tell(QUEUE)
        left.set()
        assert not await first
        assert await asyncio.wait_for(asyncio.gather(*others), 2) == [True] * ABREAST
        waiting = asyncio.create_task(hub.wait((QUEUE,), hub.position, 60, stayed))
        await asyncio.sleep(0)
        hub.stop()
        assert not await asyncio.wait_for(waiting, 2)
        assert not await hub.wait((QUEUE,), -1, 60, stayed)

    asyncio.run(run())


def test_a_header_cannot_be_forged_by_its_spelling() -> None:
    scope = {
        "method": "GET",
        "path": "/é",
        "query_string": b"",
        "http_version": "1.1",
        "headers": [(b"x_api_key", b"forged"), (b"x-a", b"1"), (b"x-a", b"2")],
    }
    environ = wsgi.environ_of(scope, b"")
    assert "HTTP_X_API_KEY" not in environ
    assert environ["HTTP_X_A"] == "1,2"
    assert environ["PATH_INFO"].encode("latin-1").decode() == "/é"
