"""The layer over both databases: who may write, what is undone, what is given back."""

from __future__ import annotations

import threading

import pytest

from engine.db import db
from engine.models.meta import Meta
from tests.world import World, at_once, eventually

_OTHERS = """
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


class Broken(Exception):
    pass


def _value(key: str) -> str | None:
    with db.reading():
        return Meta.read(key)


def test_a_write_that_raises_leaves_nothing(world: World) -> None:
    def write() -> None:
        Meta.put("a", "1")
        raise Broken

    with pytest.raises(Broken):
        db.write(write)
    assert _value("a") is None


def test_one_failed_write_does_not_touch_the_others_of_its_commit(world: World) -> None:
    def write(number: int) -> None:
        def inner() -> None:
            Meta.put(f"n{number}", "x")
            if number % 3 == 0:
                raise Broken

        try:
            db.write(inner)
        except Broken:
            assert number % 3 == 0

    at_once(30, write)
    assert [n for n in range(30) if _value(f"n{n}") is None] == [n for n in range(30) if n % 3 == 0]


def test_a_nested_write_that_raises_undoes_itself_alone(world: World) -> None:
    rung: list[str] = []

    def inner() -> None:
        Meta.put("inner", "1")
        db.after_commit(lambda: rung.append("inner"))
        raise Broken

    def outer() -> None:
        Meta.put("outer", "1")
        db.after_commit(lambda: rung.append("outer"))
        with pytest.raises(Broken):
            db.write(inner)

    db.write(outer)
    assert (_value("outer"), _value("inner"), rung) == ("1", None, ["outer"])


def test_bells_ring_after_the_commit_and_not_at_all_without_one(world: World) -> None:
    seen: list[str | None] = []

    def write() -> None:
        Meta.put("b", "1")
        # Another thread sees what is committed, and nothing else.
        db.after_commit(lambda: seen.append(_elsewhere("b")))
        assert _elsewhere("b") is None

    db.write(write)
    assert seen == ["1"]

    def failing() -> None:
        db.after_commit(lambda: seen.append("never"))
        raise Broken

    with pytest.raises(Broken):
        db.write(failing)
    assert seen == ["1"]


def _elsewhere(key: str) -> str | None:
    found: list[str | None] = []
    thread = threading.Thread(target=lambda: found.append(_value(key)))
    thread.start()
    thread.join()
    return found[0]


def test_two_who_add_at_once_both_count(world: World) -> None:
    at_once(8, lambda _: [db.write(lambda: Meta.add("sum", 2)) for _ in range(10)])
    assert _value("sum") == "160"


def test_every_connection_is_given_back(world: World) -> None:
    at_once(20, lambda _: _value("none"))
    assert db.database.is_closed()
    assert not db.database._in_use


@pytest.mark.parametrize("backend", ["postgres"], indirect=True)
@pytest.mark.case("F11")
def test_a_session_that_the_server_ended_is_not_lent_again(world: World) -> None:
    meet = threading.Barrier(4)

    def lend(_: int) -> None:
        with db.reading():
            db.scalar("SELECT 1")
            meet.wait(10)

    at_once(4, lend)
    idle = len(db.database._connections)
    assert idle == 4
    with db.reading():
        # Every other one that waits in the pool.
        ended = db.rows(f"SELECT pg_terminate_backend(pid) {_OTHERS}")
        assert len(ended) == idle - 1
        # A session takes a moment to end.
        eventually(lambda: db.scalar(f"SELECT count(*) {_OTHERS}") == 0)
    at_once(4, lend)


def test_a_query_outside_of_a_reading_is_an_error_and_leaks_nothing(world: World) -> None:
    with pytest.raises(Exception, match=r"(?i)connection"):
        Meta.read("none")
    assert db.database.is_closed()


def test_a_write_within_a_reading_uses_its_connection(world: World) -> None:
    with db.reading():
        db.write(lambda: Meta.put("c", "1"))
        assert Meta.read("c") == "1"
