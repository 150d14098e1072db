"""An order as whoever has its link reads it, without an account."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from engine import clock
from engine.db import db
from engine.models.comment import Comment
from engine.models.task import Task
from tests.contract.scene import all_hold
from tests.shop import Shop, shop
from tests.world import Answer, Person, World
from web.routes import public

HTML = "<h1>One haiku</h1><script>alert(1)</script>"


def share(place: Shop, buyer: Person, task_id: str) -> str:
    path = f"{place.path}/tasks/{task_id}/comments-policy"
    token: str = buyer.patch(path, {"policy": "public"})["public_token"]
    return token


def ask(world: World, **query: Any) -> Answer:
    return world.call("GET", f"/public/order?{urlencode(query)}")


@pytest.mark.rule("H-12")
def test_the_link_shows_the_order_and_the_talk_and_nothing_else(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer, HTML, subject="A haiku")
    path = f"{place.path}/tasks/{task_id}"
    buyer.patch(f"{path}/private-details", {"private_details": "the door code is 1234"})
    token = share(place, buyer, task_id)
    link = {"gig": place.gig.id, "task": task_id, "token": token}
    first = buyer.post(f"{path}/comments", {"body": "By Friday?"})["comment"]
    second = place.vendor.post(f"{path}/comments", {"body": "Yes.", "parent_id": first["id"]})
    place.vendor.post(f"{path}/comments", {"body": "a secret", "private": True})
    gone = buyer.post(f"{path}/comments", {"body": "a slip"})["comment"]
    buyer.call("DELETE", f"{path}/comments/{gone['id']}").ok()
    answer = ask(world, **link)
    told = answer.ok()
    order = told["order"]
    assert set(told) == {"gig_title", "order", "comments", "can_post"}
    assert told["gig_title"] == "Haiku on demand" and told["can_post"] is False
    assert set(order) == {"id", "subject", "payload", "draft", "forwarded_at"}
    assert (order["id"], order["subject"], order["draft"]) == (task_id, "A haiku", True)
    # To the byte; whoever shows it sees to what is in it.
    assert order["payload"] == HTML
    assert answer.headers["content-type"] == "application/json"
    said = [(one["body"], one["deleted"], one["author_role"]) for one in told["comments"]]
    assert said == [
        ("By Friday?", False, "client"),
        ("Yes.", False, "gigworker"),
        ("", True, "client"),
    ]
    assert all(one["is_mine"] is one["private"] is False for one in told["comments"])
    assert told["comments"][1]["parent_id"] == second["comment"]["parent_id"] == first["id"]
    names = [one.email.partition("@")[0] for one in (buyer, place.vendor)]
    for secret in (
        token,
        *names,
        "1234",
        "a secret",
        buyer.email,
        place.vendor.email,
        buyer.id,
        "@",
    ):
        assert secret not in answer.text, secret
    # It is the same link once the order is sent, and while it is worked on.
    place.publish(buyer, task_id).ok()
    place.deliver(task_id, "the key itself")
    sent = ask(world, **link)
    assert sent.ok()["order"]["draft"] is False and sent.json["comments"] == told["comments"]
    assert "the key itself" not in sent.text and "a preview" not in sent.text
    db.write(lambda: Task.update(status="withdrawn").where(Task.id == task_id).execute())
    assert ask(world, **link).ok()["order"]["draft"] is True
    place.vendor.patch(place.path, {"status": "closed"})
    ask(world, **link).ok()


@pytest.mark.rule("H-12")
def test_every_link_that_opens_nothing_is_told_the_same(world: World) -> None:
    place, elsewhere = shop(world), shop(world)
    buyer, theirs = place.buyer(), elsewhere.buyer()
    task_id, unshared = place.draft(buyer), place.draft(buyer)
    token = share(place, buyer, task_id)
    other_id = elsewhere.draft(theirs)
    others = share(elsewhere, theirs, other_id)
    # One that was shared, and one whose policy is public without a link of its own.
    was = place.draft(buyer)
    old = share(place, buyer, was)
    buyer.patch(f"{place.path}/tasks/{was}/comments-policy", {"policy": "off"})
    gig = world.gig(default_comments_policy="public")
    plain = world.task(gig)
    good = {"gig": place.gig.id, "task": task_id, "token": token}
    rows: tuple[dict[str, str], ...] = (
        {"token": "SHARE_" + "x" * 32},
        {"token": token.lower()},
        {"token": token[:-1]},
        {"token": "é"},
        {"token": others},
        {"task": unshared},
        {"task": "TASK_none"},
        {"task": other_id, "token": others},
        {"gig": elsewhere.gig.id},
        {"task": was, "token": old},
        {"gig": gig.id, "task": plain},
    )
    answers = []

    def holds(changed: dict[str, str]) -> None:
        _forget()
        answers.append(ask(world, **{**good, **changed}).refused(404, "not_found"))

    all_hold(rows, holds)
    assert all(one == answers[0] for one in answers)
    _forget()
    ask(world, **good).ok()
    for missing in good:
        ask(world, **{name: one for name, one in good.items() if name != missing}).refused(400)
    ask(world, **good, nonsense="1").refused(400)


def _forget() -> None:
    """Another minute, so that what was tried before does not count."""
    clock.advance(61)


@pytest.mark.rule("H-12")
def test_whoever_tries_tokens_is_shut_out_and_a_link_is_read_within_limits(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)
    good = {"gig": place.gig.id, "task": task_id, "token": share(place, buyer, task_id)}
    for number in range(10):
        ask(world, **{**good, "token": f"SHARE_{number}"}).refused(404)
    ask(world, **good).refused(429, "rate_limited")
    _forget()
    told = [ask(world, **good).status for _ in range(31)]
    assert told == [200] * 30 + [429]


@pytest.mark.rule("T-08")
def test_a_long_order_is_whole_and_a_long_talk_comes_in_pages(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = shop(world)
    buyer = place.buyer()
    payload = "é" * 50_000
    task_id = place.draft(buyer, payload)
    good = {"gig": place.gig.id, "task": task_id, "token": share(place, buyer, task_id)}
    path = f"{place.path}/tasks/{task_id}/comments"
    for number in range(5):
        buyer.post(path, {"body": str(number)})
    monkeypatch.setattr(public, "MOST_COMMENTS", 2)
    found: list[str] = []
    told = ask(world, **good).ok()
    while True:
        assert told["order"]["payload"] == payload
        found += [one["body"] for one in told["comments"]]
        if "next_cursor" not in told:
            break
        told = ask(world, **good, cursor=told["next_cursor"]).ok()
    assert found == ["0", "1", "2", "3", "4"]
    ask(world, **good, cursor="nonsense").refused(400)
    with db.reading():
        assert Comment.select().where(Comment.task_id == task_id).count() == 5
