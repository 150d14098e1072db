"""The append-only log: positions only grow, and nobody misses or repeats an event."""

from __future__ import annotations

import threading

import pytest

from engine import events
from engine.db import db
from engine.events import Subject
from engine.models.event import Event
from engine.models.meta import Meta
from tests.world import World, at_once, eventually

GIG = "GIG_of_the_test"


def _write(name: str) -> None:
    events.append("test.happened", Subject("test", name), actor="test", gig_id=GIG)


def _walk(after: int, seen: list[str]) -> int:
    for event in events.after(GIG, after, 7, None):
        seen.append(event.subject_id)
        after = event.seq
    return after


@pytest.mark.rule("H-15")
def test_a_reader_misses_and_repeats_nothing_while_many_write(world: World) -> None:
    seen: list[str] = []
    done = threading.Event()

    def read() -> None:
        position = 0
        while not done.is_set():
            position = _walk(position, seen)
            done.wait(0.001)
        eventually(lambda: len(events.after(GIG, 0, 1000, None)) == 320)
        while (further := _walk(position, seen)) != position:
            position = further

    reader = threading.Thread(target=read)
    reader.start()

    def write(number: int) -> None:
        for round_number in range(20):
            db.write(lambda: [_write(f"{number}-{round_number}-{n}") for n in range(2)])  # noqa: B023

    at_once(8, write)
    done.set()
    reader.join()
    assert len(seen) == len(set(seen)) == 320


@pytest.mark.rule("H-15")
def test_an_event_is_hidden_until_everything_before_it_has_ended(world: World) -> None:
    """On PostgreSQL the older transaction may commit last; its event must still come first."""
    if not db.is_postgres:
        # One writer: there is never a second transaction under way.
        db.write(lambda: _write("only"))
        assert len(events.after(GIG, 0, 10, None)) == 1
        return
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        def write() -> None:
            Meta.put("slow", "1")  # gives the transaction its number
            begun.set()
            go_on.wait(20)
            _write("older")

        db.write(write)

    thread = threading.Thread(target=slow)
    thread.start()
    begun.wait(20)
    db.write(lambda: _write("younger"))
    assert events.after(GIG, 0, 10, None) == []
    go_on.set()
    thread.join()
    found = eventually(lambda: len(rows := events.after(GIG, 0, 10, None)) == 2 and rows)
    assert [row.subject_id for row in found] == ["older", "younger"]
    assert found[0].seq < found[1].seq


def test_positions_go_on_growing_after_a_restore_into_another_server(world: World) -> None:
    db.write(lambda: _write("before"))
    far = 10**15
    with db.reading():
        before = Event.get().seq
    db.write(lambda: Event.update(seq=before + far).execute())
    events.keep_growing()
    db.write(lambda: _write("after"))
    with db.reading():
        seqs = {row.subject_id: row.seq for row in Event.select()}
    assert seqs["after"] > seqs["before"]


def test_an_event_belongs_to_a_transaction(world: World) -> None:
    with pytest.raises(RuntimeError):
        _write("alone")
