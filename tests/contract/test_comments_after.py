"""What becomes of a comment: it is taken back, told of, counted and put in order (T-09)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from engine import clock, commenting, departures
from engine.counters import Limit
from engine.db import db
from engine.models.comment import Comment
from engine.models.event import Event
from engine.models.notification import Notification
from tests.contract.scene import all_hold, everything
from tests.contract.talking import EVERYBODY, PARENTS, Talk
from tests.world import World

# Who said it, to whom (`all`, or the one whom its thread is with), and what each is told who
# would delete it.
DELETES: list[tuple[str, str, dict[str, int]]] = [
    ("owner's", "all", {"holder": 403, "member": 403, "owner": 200}),
    ("holder's", "all", {"member": 403, "owner": 200}),
    ("member's", "all", {"holder": 403, "other": 403, "member": 200}),
    ("member→owner", "owner", {"holder": 404, "other": 404, "owner": 200, "member": 200}),
    ("owner→holder", "holder", {"member": 404, "holder": 403, "owner": 200}),
    ("member→holder", "holder", {"owner": 404, "other": 404, "holder": 403, "member": 200}),
]


@pytest.mark.rule("T-09")
def test_a_comment_is_emptied_by_its_author_or_by_the_owner_who_reads_it(world: World) -> None:
    talk = Talk.of(world)
    made = talk.parents()
    replies = {
        name: talk.say("holder" if reader == "all" else reader, parent_id=made[name])["id"]
        for name, reader, _ in DELETES
    }

    def deleted(row: tuple[str, str, dict[str, int]]) -> None:
        name, reader, tries = row
        comment_id = str(made[name])
        for who, status in tries.items():
            # Again changes nothing.
            assert [talk.delete(who, comment_id).status for _ in range(2)] == [status, status], who
        readers = EVERYBODY if reader == "all" else {reader, PARENTS[name][0]}
        for who in EVERYBODY:
            told = talk.read(who)
            found = {one["id"]: one for one in told["comments"]}
            assert told["total"] == len(found)
            assert {comment_id, replies[name]} & set(found) == (
                {comment_id, replies[name]} if who in readers else set()
            )
            if who in readers:
                assert (found[comment_id]["body"], found[comment_id]["deleted"]) == ("", True)
                assert found[replies[name]]["body"] == "Hello."
                assert found[replies[name]]["parent_id"] == comment_id
        # Who was about to reply still may, to the same readers.
        author = PARENTS[name][0]
        late = talk.say(author, parent_id=comment_id)
        assert {who for who in EVERYBODY if late["id"] in talk.ids(who)} == readers

    all_hold(DELETES, deleted)
    with db.reading():
        assert {one.body for one in Comment.select().where(Comment.deleted_at.is_null(False))} == {
            ""
        }
        told = Event.select().where(Event.type == "comment.deleted")
        assert sorted(one.subject_id for one in told) == sorted(str(made[name]) for name in PARENTS)


@pytest.mark.rule("T-09")
@pytest.mark.rule("H-15")
def test_the_log_tells_that_something_was_said_but_never_what_nor_that_two_talk(
    world: World,
) -> None:
    talk = Talk.of(world, "public")
    public = talk.say("member", "what was said")
    private = talk.say("owner", "what was said", private=True)
    for one, who in ((public, "member"), (private, "owner")):
        talk.delete(who, one["id"]).ok()
    with db.reading():
        told = list(Event.select().where(Event.type.startswith("comment.")).order_by(Event.seq))
        assert "what was said" not in repr([one.__data__ for one in Event.select()])
    assert [(one.type, one.gig_id is not None) for one in told] == [
        ("comment.posted", True),
        ("comment.posted", False),
        ("comment.deleted", True),
        ("comment.deleted", False),
    ]
    for event, comment in zip(told, (public, private) * 2, strict=True):
        assert event.data == {
            "comment_id": comment["id"],
            "thread_id": comment["id"],
            "task_id": talk.task_id,
            "private": comment is private,
        }
    mine = {"owner": 2, "member": 2, "holder": 0, "other": 0}
    for name, count in mine.items():
        rows = talk.people[name].get(f"{talk.gig.path}/events?limit=200")["events"]
        found = [one for one in rows if one["type"].startswith("comment.")]
        assert len(found) == count and private["id"] not in str(rows), name


def told_of(talk: Talk, act: Callable[[], Any]) -> set[str]:
    """Who is told of what is done: the names of those who get a notification by it."""
    names = {person.id: name for name, person in talk.people.items()}
    with db.reading():
        before = {one.number for one in Notification.select()}
    act()
    with db.reading():
        made = [one for one in Notification.select() if one.number not in before]
    for one in made:
        assert (one.kind, one.gig_id) == ("comment.posted", talk.gig.id)
        assert (one.subject_kind, one.subject_id) == ("task", talk.task_id)
        assert "Hello" not in one.title and len(one.title) <= 120 and one.title.isprintable()
    assert len(made) == len({one.account_id for one in made})
    return {names[one.account_id] for one in made}


@pytest.mark.rule("T-09")
def test_those_whom_a_comment_is_for_are_told_and_nobody_else(world: World) -> None:
    talk = Talk.of(world, "public")
    roots: dict[str, str] = {}

    def say(who: str, **more: Any) -> Callable[[], Any]:
        return lambda: roots.setdefault(who, talk.say(who, **more)["id"])

    assert told_of(talk, say("member")) == {"owner", "holder"}
    assert told_of(talk, say("other", parent_id=roots["member"])) == {"owner", "holder", "member"}
    assert told_of(talk, say("holder")) == {"owner"}
    assert told_of(talk, say("owner", parent_id=roots["member"])) == {"holder", "member", "other"}
    # In private, the one reader.
    assert told_of(talk, say("other", private=True)) == {"owner"}
    assert told_of(talk, say("other", private=True, parent_id=roots["member"])) == {"member"}
    assert told_of(talk, say("owner", private=True)) == {"holder"}
    # Not who could not read it now: his mailbox is closed, or the task is another's.
    talk.close("member")
    assert told_of(talk, say("other", parent_id=roots["member"])) == {"owner", "holder"}
    assert told_of(talk, say("owner", private=True, parent_id=roots["member"])) == set()
    body = {"assign_to": talk.people["holder"].email}
    talk.gig.owner.post(f"{talk.gig.path}/tasks/{talk.task_id}/assign", body)
    assert told_of(talk, say("owner", parent_id=roots["other"])) == {"holder"}
    departures.deactivate(talk.people["holder"].email)
    assert told_of(talk, say("owner", parent_id=roots["holder"])) == set()


@pytest.mark.rule("T-09")
def test_a_title_names_who_spoke_and_the_task_on_one_short_line(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig, name="\u202eN\r\n" + "n" * 190)
    task_id = world.task(gig, subject="S\n" + "😀" * 400)
    worker.post(f"{gig.path}/tasks/{task_id}/comments", {"body": "the words"})
    bare = world.task(gig)
    worker.post(f"{gig.path}/tasks/{bare}/comments", {"body": "the words"})
    with db.reading():
        told = Notification.select().where(Notification.kind == "comment.posted")
        titles = [one.title for one in told.order_by(Notification.number)]
    assert len(titles[0]) == 120 and "S 😀" in titles[0] and titles[0].endswith("…")
    assert titles[1].endswith("… wrote to you about a task")
    assert not any("words" in one or "\n" in one for one in titles)


@pytest.mark.rule("T-09")
def test_an_account_that_says_too_much_in_a_minute_waits_for_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (commenting.AT_MOST.most, commenting.AT_MOST.seconds) == (60, 60)
    monkeypatch.setattr(commenting, "AT_MOST", Limit("comments", 3, 60))
    talk = Talk.of(world, "public")
    for _ in range(5):
        talk.call("member", parent_id="COMMENT_none").refused(404)
    for _ in range(3):
        talk.say("member")
    before = everything()
    for _ in range(2):
        answer = talk.call("member")
        told = answer.refused(429, "rate_limited")
        assert 1 <= told["retry_after"] <= 60
        assert answer.headers["retry-after"] == str(told["retry_after"])
    assert everything() == before
    talk.say("holder")
    world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    talk.say("member")


@pytest.mark.rule("T-09")
@pytest.mark.rule("H-06")
def test_comments_of_one_instant_are_read_in_the_order_in_which_they_were_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = Talk.of(world, "public")
    now, numbers = clock.now(), itertools.count(99, -1)
    monkeypatch.setattr(clock, "now", lambda: now)
    # Ids of another process of another clock come in any order.
    monkeypatch.setattr(commenting, "new_id", lambda prefix: f"{prefix}_{next(numbers)}")
    said = [talk.say("member", str(number))["id"] for number in range(10)]
    found, cursor = [], ""
    while cursor is not None:
        page = talk.people["other"].get(f"{talk.path}?limit=3{cursor and f'&cursor={cursor}'}")
        assert page["total"] == 10
        found += [one["id"] for one in page["comments"]]
        cursor = page["next_cursor"]
    assert found == said
