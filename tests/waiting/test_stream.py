"""A gig's events as a stream (H-15)."""

from __future__ import annotations

import threading
import time

import pytest

from tests.processes import Starter
from tests.waiting.callers import LAYOUTS, SOON_SECONDS, Stream, Told, poll, taken
from tests.world import Person, at_once, eventually

MANY = 50
WRITERS, TASKS = 6, 40

pytestmark = pytest.mark.parametrize("name", LAYOUTS)


@pytest.mark.rule("H-15")
def test_a_stream_that_is_resumed_after_every_break_misses_and_repeats_nothing(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    found: list[Told] = []
    stop = threading.Event()

    def follow() -> None:
        via = 0
        while not stop.is_set():
            via += 1
            try:
                last = found[-1].id if found else None
                with Stream(stack, gig.owner, gig, via, last) as stream:
                    for one in stream.told():
                        found.append(one)
                        if len(found) % 37 == 0 or stop.is_set():
                            break
            except OSError:
                time.sleep(0.05)

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    for _ in range(3):
        at_once(
            WRITERS,
            lambda n: [stack.send(gig, f"{n}").ok() for _ in range(TASKS // WRITERS)],
        )
        stack.restart()
    written = stack.rows(f"SELECT seq, type FROM event WHERE gig_id = '{gig.id}' ORDER BY seq")
    eventually(lambda: len(found) >= len(written), 20, "all are told")
    stop.set()
    stack.send(gig, "the last").ok()
    reader.join(20)

    assert [(one.id, one.type) for one in found[: len(written)]] == written
    assert stack.complaints() == []


@pytest.mark.rule("H-15")
def test_a_stream_shows_what_the_list_shows_and_to_a_member_only_his(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    worker, other = stack.worker(gig), stack.worker(gig)
    with Stream(stack, worker, gig, via=0) as stream, Stream(stack, gig.owner, gig, via=1) as all_:
        assert stream.answer.getheader("content-type", "").startswith("text/event-stream")
        stack.task(gig, "a")
        stack.task(gig, "b")
        assert len(taken(poll(other, gig))) == 1
        assert len(taken(poll(worker, gig))) == 1
        began = time.monotonic()
        told = stream.take(len(_seen(worker, gig.path)))
        assert time.monotonic() - began < SOON_SECONDS
        assert [one.id for one in told] == _seen(worker, gig.path)
        assert told[-1].type == "task.claimed"
        everything = _seen(gig.owner, gig.path)
        assert [one.id for one in all_.take(len(everything))] == everything
        assert len(everything) > len(told)

    for wrong in ("x", "-1", "1.5", "9" * 19, "9" * 40, "", "１"):
        given = {"accept": "text/event-stream", "last-event-id": wrong.encode().decode("latin-1")}
        told_ = gig.owner.call("GET", f"{gig.path}/events", headers=given).refused(400)
        assert list(told_["errors"]) == ["Last-Event-ID"]
    stack.person().call(
        "GET", f"{gig.path}/events", headers={"accept": "text/event-stream"}
    ).refused(403)
    assert stack.complaints() == []


def _seen(person: Person, path: str) -> list[int]:
    return [event["seq"] for event in person.get(f"{path}/events?limit=100")["events"]]


@pytest.mark.rule("H-15")
def test_fifty_streams_at_once_all_hear_everything(start_stack: Starter, name: str) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    last = max(_seen(gig.owner, gig.path), default=0)
    streams = at_once(MANY, lambda n: Stream(stack, gig.owner, gig, via=n, last=last))
    for number in range(5):
        stack.send(gig, str(number)).ok()
    written = _seen(gig.owner, gig.path)[-5:]

    began = time.monotonic()
    for stream in streams:
        assert [one.id for one in stream.take(5)] == written
    assert time.monotonic() - began < 10
    for stream in streams:
        stream.close()
    # They hold no thread and no connection.
    at_once(20, lambda n: stack.send(gig, str(n)).ok())
    assert stack.complaints() == []
