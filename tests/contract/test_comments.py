"""Who says what about a task to whom, and who reads it, then and later (T-09)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from engine import holds
from tests.contract.scene import all_hold, everything
from tests.contract.talking import EVERYBODY, PARENTS, Talk
from tests.world import Person, World

COLUMNS = (None, *PARENTS)
# Where the policy is private, so is every word.
PRIVATE = {
    "owner": "holder  holder  holder  member  member  holder  404",
    "holder": "owner   owner   owner   owner   404     owner   member",
    "member": "owner   owner   owner   owner   owner   404     holder",
}
OFF = dict.fromkeys(("owner", "holder", "member"), "409 409 409 409 409 409 409")
# By policy and `private`: each author's row says who reads beside him what he says in reply to
# each column; `all` who see the task, or the status and reason that he is refused with.
READERS: dict[tuple[str, bool], dict[str, str]] = {
    ("public", False): {
        "owner": "all     all     all     all     member  holder  404",
        "holder": "all     all     all     all     404     owner   member",
        "member": "all     all     all     all     owner   404     holder",
    },
    ("public", True): {
        "owner": "holder  holder  holder  member  member  holder  404",
        "holder": "owner   owner   owner   member  404     owner   member",
        "member": "owner   owner   holder  owner   owner   404     holder",
    },
    ("private", False): PRIVATE,
    ("private", True): PRIVATE,
    ("off", False): OFF,
    ("off", True): OFF,
}


@pytest.mark.rule("T-09")
def test_of_every_policy_author_and_parent_each_comment_is_read_by_those_it_is_for(
    world: World,
) -> None:
    talk = Talk.of(world)
    replies_to = talk.parents()
    reads = {
        one: {name for name in EVERYBODY if one in talk.ids(name)}
        for one in replies_to.values()
        if one is not None
    }

    def said(row: tuple[str, bool, str, str | None, str]) -> None:
        _, private, author, parent, reader = row
        parent_id = replies_to[parent]
        answer = talk.call(author, str(row), private=private, parent_id=parent_id)
        if reader in ("404", "409"):
            answer.refused(int(reader), {"404": "not_found", "409": "comments_off"}[reader])
            return
        comment = answer.ok()["comment"]
        assert answer.status == 201
        reads[comment["id"]] = EVERYBODY if reader == "all" else {author, reader}
        told = {
            "parent_id": parent_id,
            "body": str(row),
            "author_display_name": f"the {author}",
            "author_role": "client" if author == "owner" else "gigworker",
            "is_mine": True,
            "private": reader != "all",
            "private_to_display_name": None if reader == "all" else f"the {reader}",
            "deleted": False,
        }
        assert {name: comment[name] for name in told} == told
        assert ("author_mailbox_id" in comment) is (author == "owner")

    for policy in ("public", "private", "off"):
        assert talk.set(policy) == {"success": True, "policy": policy}
        rows = [
            (policy, private, author, parent, reader)
            for private in (False, True)
            for author, readers in READERS[policy, private].items()
            for parent, reader in zip(COLUMNS, readers.split(), strict=True)
        ]
        all_hold(rows, said)
    assert len(reads) == len(PARENTS) + 72

    # What was said stays with its readers, whatever the policy is since.
    for policy, name in itertools.product(("public", "private", "off"), EVERYBODY):
        talk.set(policy)
        told = talk.read(name)
        assert (told["policy"], told["can_post"]) == (policy, policy != "off")
        found = [one["id"] for one in told["comments"]]
        assert set(found) == {one for one, readers in reads.items() if name in readers}, name
        assert found == [one for one in reads if one in found], "oldest first"
        assert told["total"] == len(found)


@pytest.mark.rule("T-09")
def test_a_thread_is_known_by_its_root_and_only_the_owner_is_told_the_mailboxes(
    world: World,
) -> None:
    talk = Talk.of(world, "public")
    root = talk.say("member")
    reply = talk.say("owner", parent_id=root["id"])
    below = talk.say("holder", parent_id=reply["id"], private=True)
    assert {one["thread_id"] for one in (root, reply, below)} == {root["id"]}
    assert (reply["parent_id"], below["parent_id"]) == (root["id"], reply["id"])
    mailboxes = [talk.people[name].mailbox["id"] for name in ("member", "holder")]  # type: ignore[attr-defined]
    seen = talk.read("owner")["comments"]
    assert [one["author_mailbox_id"] for one in seen] == [mailboxes[0], None, mailboxes[1]]
    assert [one["is_mine"] for one in seen] == [False, True, False]
    for name in ("holder", "member", "other"):
        text = talk.people[name].call("GET", talk.path).text
        assert "author_mailbox_id" not in text and "MBX_" not in text and "@" not in text


@pytest.mark.rule("T-09")
def test_whoever_has_two_places_speaks_and_is_named_by_the_one_that_has_the_task(
    world: World,
) -> None:
    talk = Talk.of(world)
    second = {"new": True, "invite": talk.gig.invite, "name": "the second place"}
    holder = talk.people["holder"]
    place = holder.post(f"{talk.gig.path}/mailboxes", second)["mailbox"]["id"]
    talk.task_id = talk.world.task(talk.gig)
    holder.post(f"{talk.gig.path}/queue/poll", {"count": 1, "mailbox_id": place})
    assert talk.say("owner")["private_to_display_name"] == "the second place"
    assert talk.say("holder")["author_display_name"] == "the second place"
    # Where neither has it, the first; and then he is called as he spoke.
    talk.task_id = talk.world.task(talk.gig)
    asked = talk.say("holder")
    assert asked["author_display_name"] == "the holder"
    answered = talk.say("owner", parent_id=asked["id"])
    assert answered["private_to_display_name"] == "the holder"


@pytest.mark.rule("T-09")
def test_an_owner_who_works_in_his_own_gig_speaks_as_its_owner(world: World) -> None:
    gig = world.gig()
    world.worker(gig, gig.owner, name="his place")
    talk = Talk(world, gig, world.task(gig), {"owner": gig.owner, "member": world.worker(gig)})
    asked = talk.say("member")
    told = talk.say("owner", parent_id=asked["id"])
    assert (told["author_role"], told["author_mailbox_id"]) == ("client", None)
    gig.owner.post(f"{gig.path}/queue/poll", {"count": 1})
    # He has the task himself, and nobody speaks to himself.
    talk.call("owner").refused(409, "no_reader")
    assert talk.ids("owner") == talk.ids("member") == [asked["id"], told["id"]]


def _wait(talk: Talk) -> Person:
    talk.gig.owner.patch(talk.gig.path, {"requires_approval": True})
    return talk.world.worker(talk.gig)


def _leave(talk: Talk) -> Person:
    member = talk.people["member"]
    mailbox = f"{talk.gig.path}/mailboxes/{member.mailbox['id']}"  # type: ignore[attr-defined]
    member.call("DELETE", mailbox).ok()
    return member


OUTSIDERS: dict[str, Callable[[Talk], Person]] = {
    "a stranger": lambda talk: talk.world.person(),
    "a worker of another gig": lambda talk: talk.world.worker(talk.world.gig()),
    "one who waits for approval": _wait,
    "one whose mailbox is closed": lambda talk: talk.close("member"),
    "one who has left": _leave,
}


@pytest.mark.rule("T-09")
@pytest.mark.parametrize("who", OUTSIDERS)
def test_without_an_active_mailbox_nothing_is_read_said_or_taken_back(
    world: World, who: str
) -> None:
    talk = Talk.of(world, "public")
    comment_id = talk.say("member")["id"]
    person = OUTSIDERS[who](talk)
    before = everything()
    for method, path, body in (
        ("GET", talk.path, None),
        ("POST", talk.path, {"body": "x"}),
        ("DELETE", f"{talk.path}/{comment_id}", None),
    ):
        person.call(method, path, body).refused(403, "not_a_member")
    person.call("PATCH", f"{talk.path}-policy", {"policy": "off"}).refused(403)
    assert everything() == before


@pytest.mark.rule("T-09")
def test_the_policy_is_the_gigs_until_the_owner_gives_the_task_its_own(world: World) -> None:
    talk = Talk.of(world, default_comments_policy="off")
    task = f"{talk.gig.path}/tasks/{talk.task_id}"

    def shown() -> tuple[Any, ...]:
        told = talk.read("member")
        policy = talk.people["member"].get(task)["task"]["comments_policy"]
        return told["policy"], told["can_post"], policy

    assert shown() == ("off", False, "off")
    talk.call("member").refused(409, "comments_off")
    assert talk.set("public") == {"success": True, "policy": "public"}
    assert shown() == ("public", True, "public")
    talk.gig.owner.patch(talk.gig.path, {"default_comments_policy": "private"})
    assert shown() == ("public", True, "public")
    assert talk.set(None)["policy"] == "private"
    assert shown() == ("private", True, "private")
    before = everything()
    assert talk.set(None)["policy"] == "private"
    assert everything() == before, "said again, nothing happens"
    for policy in ("", "Public", "none", 1, True, [], {}):
        told = talk.gig.owner.call("PATCH", f"{talk.path}-policy", {"policy": policy}).refused(400)
        assert list(told["errors"]) == ["policy"]
    talk.gig.owner.call("PATCH", f"{talk.path}-policy", {}).refused(400)
    talk.people["holder"].call("PATCH", f"{talk.path}-policy", {"policy": "off"}).refused(403)
    assert everything() == before


@pytest.mark.rule("T-09")
def test_the_owner_says_nothing_in_private_to_a_task_that_nobody_has(world: World) -> None:
    talk = Talk.of(world)
    talk.task_id = world.task(talk.gig)
    before = everything()
    talk.call("owner").refused(409, "no_reader")
    assert everything() == before
    asked = talk.say("member", "May I?")
    assert talk.say("owner", parent_id=asked["id"])["private_to_display_name"] == "the member"
    talk.set("public")
    mine = talk.say("owner", "To all.")
    talk.call("owner", private=True).refused(409, "no_reader")
    talk.call("owner", private=True, parent_id=mine["id"]).refused(409, "no_reader")


@pytest.mark.rule("T-09")
@pytest.mark.rule("Q-07")
def test_what_was_said_in_private_stays_with_the_two_when_the_task_moves_on(world: World) -> None:
    talk = Talk.of(world, task_timeout=60)
    told = talk.say("owner", "The password is wren.")
    said = talk.say("holder", "Thank you.", parent_id=told["id"])
    world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    holds.expire()
    both = [told["id"], said["id"]]
    assert talk.ids("holder") == talk.ids("owner") == both
    # The next holder is told of his own things only.
    talk.people["member"].post(f"{talk.gig.path}/queue/poll", {"count": 1})
    hers = talk.say("owner", "For you.")
    assert hers["private_to_display_name"] == "the member"
    assert (talk.ids("member"), talk.ids("holder")) == ([hers["id"]], both)
    late = talk.say("owner", "One more thing.", parent_id=said["id"])
    assert talk.ids("holder") == [*both, late["id"]]
    # Given to one worker alone, it is hidden from the others with all that was said of it.
    assign = f"{talk.gig.path}/tasks/{talk.task_id}/assign"
    talk.gig.owner.post(assign, {"assign_to": talk.people["member"].email})
    before = everything()
    talk.people["holder"].call("GET", talk.path).refused(404, "not_found")
    talk.call("holder", parent_id=told["id"]).refused(404, "not_found")
    talk.delete("holder", said["id"]).refused(404, "not_found")
    assert everything() == before
    talk.gig.owner.post(assign, {"assign_to": talk.people["holder"].email})
    assert talk.ids("holder") == [*both, late["id"]]
    talk.people["member"].call("GET", talk.path).refused(404)


@pytest.mark.rule("T-09")
@pytest.mark.rule("S-01")
def test_a_copy_is_talked_of_by_its_worker_and_the_owner_alone_the_template_by_all(
    world: World,
) -> None:
    gig = world.gig(distribution="queue_solo", default_comments_policy="public")
    holder, member = world.worker(gig), world.worker(gig)
    template = world.task(gig)
    (copy,) = holder.post(f"{gig.path}/queue/poll", {"count": 1})["tasks"]
    people = {"owner": gig.owner, "holder": holder, "member": member}
    of_copy = Talk(world, gig, copy["id"], people)
    of_template = Talk(world, gig, template, people)
    said = [of_copy.say(name)["id"] for name in ("holder", "owner")]
    assert of_copy.ids("owner") == of_copy.ids("holder") == said
    for method, path in (("GET", of_copy.path), ("POST", of_copy.path)):
        body = {"body": "x"} if method == "POST" else None
        member.call(method, path, body).refused(404, "not_found")
    of_copy.delete("member", said[0]).refused(404, "not_found")
    told = [of_template.say(name)["id"] for name in ("holder", "member", "owner")]
    assert all(of_template.ids(name) == told for name in people)


@pytest.mark.rule("T-09")
@pytest.mark.rule("G-08")
@pytest.mark.parametrize("end", ["close", "cancel"])
def test_people_go_on_talking_of_what_is_open_in_a_gig_that_has_ended(
    world: World, end: str
) -> None:
    talk = Talk.of(world)
    if end == "close":
        talk.gig.owner.patch(talk.gig.path, {"status": "closed"})
    else:
        talk.gig.owner.post(f"{talk.gig.path}/cancel")
    said = [talk.say("holder")["id"], talk.say("owner")["id"]]
    assert talk.ids("owner") == talk.ids("holder") == said
    assert talk.set("off")["policy"] == "off"
