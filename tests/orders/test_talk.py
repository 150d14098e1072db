"""What the two sides of an order say to each other, from its draft on, and who else reads it."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock
from engine.db import db
from engine.models.task import Task
from tests.contract.scene import all_hold, everything
from tests.shop import Shop, shop
from tests.world import Answer, Person, World, at_once


def talk_path(place: Shop, task_id: str, below: str = "comments") -> str:
    return f"{place.path}/tasks/{task_id}/{below}"


def say(place: Shop, person: Person, task_id: str, body: str, **more: Any) -> Any:
    return person.post(talk_path(place, task_id), {"body": body, **more})["comment"]


def read(place: Shop, person: Person, task_id: str) -> list[str]:
    found = person.get(talk_path(place, task_id))
    assert found["total"] == len(found["comments"])
    return [one["body"] for one in found["comments"]]


def policy(place: Shop, person: Person, task_id: str, word: str | None) -> Answer:
    return person.call("PATCH", talk_path(place, task_id, "comments-policy"), {"policy": word})


def told(person: Person) -> list[tuple[str, str]]:
    return [
        (one["title"], one["subject"]["id"])
        for one in person.get("/notifications")["notifications"]
        if one["kind"] == "comment.posted"
    ]


@pytest.mark.rule("T-09")
def test_both_sides_talk_before_an_order_is_paid_for_and_after_it(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer, subject="A haiku")
    opening = say(place, place.vendor, task_id, "I can have it by Friday.")
    assert (opening["author_role"], opening["is_mine"]) == ("gigworker", True)
    assert told(buyer) == [(f"{opening['author_display_name']} wrote about A haiku", task_id)]
    answer = say(place, buyer, task_id, "Good.", parent_id=opening["id"])
    assert (answer["author_role"], answer["private"]) == ("client", False)
    assert len(told(place.vendor)) == 1
    place.publish(buyer, task_id).ok()
    say(place, place.vendor, task_id, "It is on its way.")
    everything_said = ["I can have it by Friday.", "Good.", "It is on its way."]
    for person in (buyer, place.vendor):
        found = person.get(talk_path(place, task_id))
        assert found["policy"] == "private" and found["can_post"] is True
        assert [one["body"] for one in found["comments"]] == everything_said
        roles = [one["author_role"] for one in found["comments"]]
        assert roles == ["gigworker", "client", "gigworker"]
    assert len(told(buyer)) == 2


@pytest.mark.rule("T-09")
@pytest.mark.parametrize("state", ["draft", "sent"])
@pytest.mark.parametrize("first", ["buyer", "vendor"])
def test_a_private_word_has_two_readers_in_both_directions(
    world: World, first: str, state: str
) -> None:
    place = shop(world)
    buyer, member = place.buyer(), place.buyer()
    task_id = place.draft(buyer) if state == "draft" else place.order(buyer)
    policy(place, buyer, task_id, "public").ok()
    sides = {"buyer": buyer, "vendor": place.vendor}
    one, other = (sides[first], sides["vendor" if first == "buyer" else "buyer"])
    opened = say(place, one, task_id, "between us", private=True)
    assert opened["private"] is True
    # What replies to it stays between the two, whatever it says of itself.
    reply = say(place, other, task_id, "yes", parent_id=opened["id"])
    assert reply["private"] is True
    say(place, other, task_id, "for all")
    for person in (one, other):
        assert read(place, person, task_id) == ["between us", "yes", "for all"]
    token = place.task(buyer, task_id)["public_token"]
    path = f"/public/order?gig={place.gig.id}&task={task_id}&token={token}"
    shown = world.call("GET", path).ok()
    assert [one["body"] for one in shown["comments"]] == ["for all"]
    if state == "sent":
        assert read(place, member, task_id) == ["for all"]
        member.call(
            "POST", talk_path(place, task_id), {"body": "?", "parent_id": opened["id"]}
        ).refused(403, "not_a_party")


# State and policy of an order → may the buyer and the vendor write; what another buyer, a member
# and a stranger are answered as they read it, with how many words they see, and as they write.
TALK: dict[tuple[str, str | None], tuple[int, str, str]] = {
    ("draft", "public"): (201, "404 404 403", "404 404 403"),
    ("draft", "private"): (201, "404 404 403", "404 404 403"),
    ("draft", None): (201, "404 404 403", "404 404 403"),
    ("draft", "off"): (409, "404 404 403", "404 404 403"),
    ("withdrawn", "public"): (201, "404 404 403", "404 404 403"),
    ("sent", "public"): (201, "200/1 200/1 403", "403 403 403"),
    ("sent", "private"): (201, "200/0 200/0 403", "403 403 403"),
    # The gig opens the talk about its tasks to all, but not an order's: that is its buyer's to do.
    ("sent", None): (201, "200/0 200/0 403", "403 403 403"),
    ("sent", "off"): (409, "200/0 200/0 403", "403 403 403"),
}


@pytest.mark.rule("T-09")
def test_who_reads_and_who_writes_about_an_order(world: World) -> None:
    place = shop(world, default_comments_policy="public")
    buyer, other = place.buyer(), place.buyer()
    place.draft(other)
    others = (other, place.buyer(), world.person("stranger"))

    def holds(row: tuple[str, str | None]) -> None:
        state, word = row
        may, reads, writes = TALK[row]
        task_id = place.order(buyer) if state == "sent" else place.draft(buyer)
        say(place, place.vendor, task_id, "hello")
        policy(place, buyer, task_id, word).ok()
        if state == "withdrawn":
            db.write(lambda: Task.update(status=state).where(Task.id == task_id).execute())
        for person in (buyer, place.vendor):
            assert read(place, person, task_id)[0] == "hello"
            answer = person.call(
                "POST", talk_path(place, task_id), {"body": "again", "private": True}
            )
            assert answer.status == may
            if may == 409:
                answer.refused(409, "comments_off")
        found = []
        for person in others:
            answer = person.call("GET", talk_path(place, task_id))
            count = f"/{answer.json['total']}" if answer.status == 200 else ""
            found.append(f"{answer.status}{count}")
            assert answer.status != 200 or answer.json["can_post"] is False
        assert " ".join(found) == reads
        tries = [one.call("POST", talk_path(place, task_id), {"body": "me too"}) for one in others]
        assert " ".join(str(one.status) for one in tries) == writes

    all_hold(TALK, holds)
    assert all(told(person) == [] for person in others)


@pytest.mark.rule("O-07")
@pytest.mark.parametrize("state", ["draft", "sent", "withdrawn"])
def test_who_reads_an_order_is_its_buyers_to_say(world: World, state: str) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    place.draft(other)
    task_id = place.order(buyer) if state == "sent" else place.draft(buyer)
    if state == "withdrawn":
        db.write(lambda: Task.update(status=state).where(Task.id == task_id).execute())
    before = everything()
    policy(place, place.vendor, task_id, "public").refused(403, "not_draft_writer")
    for person in (other, place.buyer()):
        before = everything()
        policy(place, person, task_id, "public").refused(404, "not_found")
        assert everything() == before
    policy(place, world.person(), task_id, "public").refused(403, "not_joined")
    made = policy(place, buyer, task_id, "public").ok()
    token = made.pop("public_token")
    assert made.pop("public_url").endswith(f"/fund/{place.gig.id}/{task_id}?t={token}")
    assert token.startswith("SHARE_")
    assert made == {"success": True, "policy": "public", "public_link": True}
    # Again it stays what it is, and is not handed back.
    assert policy(place, buyer, task_id, "public").ok() == made
    assert place.task(buyer, task_id)["public_token"] == token
    shown = place.task(place.vendor, task_id)
    assert shown["public_link"] is True and "public_token" not in shown
    for word, now in (("private", "private"), ("off", "off"), (None, "private")):
        told = policy(place, buyer, task_id, word).ok()
        assert told == {"success": True, "policy": now, "public_link": False}
        assert "public_token" not in place.task(buyer, task_id)
        assert place.task(place.vendor, task_id)["public_link"] is False
        again = policy(place, buyer, task_id, "public").ok()["public_token"]
        assert again != token
        token = again


@pytest.mark.rule("T-09")
def test_a_task_of_any_other_gig_has_no_link(world: World) -> None:
    gig = world.gig()
    task_id = world.task(gig)
    path = f"{gig.path}/tasks/{task_id}/comments-policy"
    assert gig.owner.patch(path, {"policy": "public"}) == {"success": True, "policy": "public"}
    with db.reading():
        assert Task.get(Task.id == task_id).public_token is None


@pytest.mark.rule("T-09")
def test_neither_side_of_an_order_takes_back_the_others_word(world: World) -> None:
    place = shop(world)
    buyer, member = place.buyer(), place.buyer()
    task_id = place.order(buyer)
    policy(place, buyer, task_id, "public").ok()
    words = {
        "buyer": say(place, buyer, task_id, "mine"),
        "vendor": say(place, place.vendor, task_id, "ours"),
    }
    for person, theirs in ((place.vendor, "buyer"), (buyer, "vendor"), (member, "buyer")):
        path = f"{talk_path(place, task_id)}/{words[theirs]['id']}"
        person.call("DELETE", path).refused(403, "not_permitted")
    buyer.call("DELETE", f"{talk_path(place, task_id)}/{words['buyer']['id']}").ok()
    assert read(place, member, task_id) == ["", "ours"]


@pytest.mark.rule("T-09")
def test_a_buyer_who_is_shut_out_goes_on_talking_about_his_orders_alone(world: World) -> None:
    place = shop(world)
    buyer, other = place.buyer(), place.buyer()
    task_id, others = place.order(buyer), place.order(other)
    policy(place, other, others, "public").ok()
    place.vendor.patch(f"{place.path}/mailboxes/{buyer.mailbox['id']}", {"status": "inactive"})  # type: ignore[attr-defined]
    mine = say(place, buyer, task_id, "Where is it?")
    assert mine["author_role"] == "client" and mine["author_display_name"].startswith("buyer")
    say(place, place.vendor, task_id, "Here.", parent_id=mine["id"])
    assert read(place, buyer, task_id) == ["Where is it?", "Here."]
    assert len(told(buyer)) == 1
    buyer.call("GET", talk_path(place, others)).refused(404)
    policy(place, buyer, task_id, "public").ok()


@pytest.mark.rule("T-09")
def test_no_event_that_others_read_tells_of_the_talk(world: World) -> None:
    place = shop(world)
    buyer, member = place.buyer(), place.buyer()
    task_id = place.draft(buyer)
    for private in (False, True):
        say(place, buyer, task_id, "a secret", private=private)
        say(place, place.vendor, task_id, "a secret", private=private)
    token = policy(place, buyer, task_id, "public").ok()["public_token"]
    for person in (member, buyer, place.vendor):
        log = person.call("GET", f"{place.path}/events")
        assert "a secret" not in log.text and token not in log.text
    assert task_id not in member.call("GET", f"{place.path}/events").text


@pytest.mark.rule("O-07")
def test_a_policy_that_changes_as_the_link_is_read_leaves_no_half(world: World) -> None:
    place = shop(world)
    buyer = place.buyer()
    task_id = place.draft(buyer)
    for _ in range(4):
        # So that what was tried before does not count.
        clock.advance(61)
        token = policy(place, buyer, task_id, "public").ok()["public_token"]
        path = f"/public/order?gig={place.gig.id}&task={task_id}&token={token}"

        def race(number: int, path: str = path) -> Answer:
            if number == 0:
                return policy(place, buyer, task_id, "private")
            return world.call("GET", path)

        changed, *reads = at_once(3, race)
        assert changed.ok()["public_link"] is False
        assert {one.status for one in reads} <= {200, 404}
        world.call("GET", path).refused(404)
    # Two that ask for a link at once have the one that there is.
    made = at_once(3, lambda _: policy(place, buyer, task_id, "public").ok())
    tokens = [one["public_token"] for one in made if "public_token" in one]
    assert tokens == [place.task(buyer, task_id)["public_token"]]
