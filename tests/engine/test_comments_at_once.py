"""Many talk at once, while others read, delete and change what is allowed (T-09)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from engine import commenting, comments
from engine.commenting import Given
from engine.counters import Limit
from engine.db import db
from engine.errors import Refused
from engine.models.event import Event
from engine.operations import Caller
from tests.contract.talking import Talk
from tests.world import World, at_once

WRITERS, EACH = 4, 12
# So many comments of one writer are more than he gets to say before he is stopped.
MOST = 500
ROUNDS = [pytest.param(3, id="3-rounds"), pytest.param(60, id="60", marks=pytest.mark.soak)]


@pytest.fixture(autouse=True)
def no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commenting, "AT_MOST", Limit("comments", 10**6, 60))


def _read(talk: Talk, who: str, after: Any = None, limit: int = 1000) -> list[Any]:
    conversation = comments.read(Caller(talk.people[who].id), talk.gig.id, talk.task_id)
    return comments.listed(conversation, limit, after)


def _post(talk: Talk, who: str, **more: Any) -> str:
    given = Given("Hello.", **more)
    _, made = commenting.post(Caller(talk.people[who].id), talk.gig.id, talk.task_id, given)
    return str(made.comment.id)


@pytest.mark.rule("T-09")
@pytest.mark.rule("H-06")
def test_whoever_reads_on_from_where_he_was_misses_and_repeats_nothing(world: World) -> None:
    talk = Talk.of(world, "public")
    names = list(talk.people)
    done = threading.Event()
    seen: list[str] = []

    def read() -> None:
        place: tuple[Any, ...] | None = None
        while True:
            last = done.is_set()
            found = _read(talk, "other", place, limit=3)
            seen.extend(one.comment.id for one in found)
            if found:
                place = (found[-1].comment.created_at, found[-1].comment.id)
            elif last:
                return
            done.wait(0.001)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        said = at_once(WRITERS, lambda n: [_post(talk, names[n]) for _ in range(EACH)])
    finally:
        done.set()
        reader.join()
    assert seen == [one.comment.id for one in _read(talk, "owner")]
    assert sorted(seen) == sorted(one for some in said for one in some)
    # Each writer's own stand in his order.
    for some in said:
        assert [one for one in seen if one in some] == some


@pytest.mark.rule("T-09")
@pytest.mark.parametrize("rounds", ROUNDS)
def test_a_reply_to_what_is_deleted_at_that_moment_stands_and_it_is_deleted_once(
    world: World, rounds: int
) -> None:
    talk = Talk.of(world)
    member, owner = (Caller(talk.people[name].id) for name in ("member", "owner"))
    for _ in range(rounds):
        root = _post(talk, "member")

        def act(n: int, root: str = root) -> str | None:
            if n < 2:
                return _post(talk, ("owner", "member")[n], parent_id=root)
            commenting.delete((owner, member)[n % 2], talk.gig.id, talk.task_id, root)
            return None

        replies = at_once(5, act)[:2]
        for name in ("owner", "member"):
            found = {one.comment.id: one.comment for one in _read(talk, name)}
            assert (found[root].body, found[root].deleted_at is None) == ("", False)
            assert all(found[one].body == "Hello." for one in replies)
            assert {found[one].thread_id for one in replies} == {root}
        with db.reading():
            deleted = Event.type == "comment.deleted"
            assert Event.select().where(deleted, Event.subject_id == root).count() == 1


def _off(talk: Talk) -> None:
    talk.set("off")


def _gig_off(talk: Talk) -> None:
    talk.gig.owner.patch(talk.gig.path, {"default_comments_policy": "off"})


def _closed(talk: Talk) -> None:
    for name in ("holder", "member", "other"):
        talk.close(name)


# How it is shut, what writers are told then, and how many of their comments may come after: of a
# gig's default those that were under way. Its owner gets to change it, however many talk.
SHUT = [
    pytest.param(_off, "comments_off", 0, id="task"),
    pytest.param(_gig_off, "comments_off", 3, id="gig"),
    pytest.param(_closed, "not_a_member", 0, id="mailboxes"),
]


@pytest.mark.rule("T-09")
@pytest.mark.parametrize(("shut", "reason", "late"), SHUT)
def test_once_it_is_answered_that_nobody_may_write_nothing_more_is_written(
    world: World, shut: Callable[[Talk], None], reason: str, late: int
) -> None:
    talk = Talk.of(world, default_comments_policy="public")
    begun = threading.Barrier(4, timeout=60)
    counts: list[int] = []

    def act(n: int) -> str:
        if n == 3:
            begun.wait()
            shut(talk)
            counts.append(len(_read(talk, "owner")))
            return reason
        _post(talk, ("holder", "member", "other")[n])
        begun.wait()
        try:
            for _ in range(MOST):
                _post(talk, ("holder", "member", "other")[n])
        except Refused as refusal:
            return refusal.code
        return "nothing, so far"

    assert at_once(4, act) == [reason] * 4
    assert counts[0] <= len(_read(talk, "owner")) <= counts[0] + late


@pytest.mark.rule("T-09")
def test_what_is_said_while_the_policy_moves_is_for_all_or_for_two_and_never_between(
    world: World,
) -> None:
    talk = Talk.of(world)
    done = threading.Event()

    def act(n: int) -> int:
        if n == 0:
            try:
                for number in range(12):
                    talk.set(("public", "private")[number % 2])
            finally:
                done.set()
            return 0
        count = 0
        while not done.is_set():
            _post(talk, ("holder", "member")[n - 1])
            count += 1
        return count

    said = at_once(3, act)
    found = [one.comment for one in _read(talk, "owner")]
    assert len(found) == sum(said) and {one.reader_id for one in found} <= {None, talk.gig.owner.id}
    seen = {one.comment.id for one in _read(talk, "other")}
    assert seen == {one.id for one in found if one.reader_id is None}
