"""The same thing asked twice, or by many at once, is done once (T-04, G-05, M-01, Q-05)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine.db import db
from engine.models.event import Event
from engine.models.gig import Gig, Invite
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.models.wallet import Wallet
from tests.contract.scene import all_hold, everything
from tests.world import World, at_once


def count(table: Any, *where: Any) -> int:
    with db.reading():
        return int(table.select().where(True, *where).count())


@pytest.mark.rule("T-04")
@pytest.mark.case("F15")
def test_one_external_id_is_one_task_and_the_repeat_gets_the_first_answer(world: World) -> None:
    gig, worker = world.gig(), world.person()
    shape = {"subject": "s", "tags": "a,b", "price": "2.5", "priority": 7, "external_id": "order 1"}
    first = world.send(gig, "payload", **shape).ok()
    before = everything()
    assert world.send(gig, "payload", **shape).ok() == first
    assert world.send(gig, "payload", **{**shape, "price": "2.50", "tags": "a, b"}).ok() == first

    def refused(change: dict[str, object]) -> None:
        payload = str(change.pop("payload", "payload"))
        told = world.send(gig, payload, **{**shape, **change}).refused(409, "external_id_mismatch")
        assert told["message_id"] == first["message_id"]

    all_hold(
        [
            {"payload": "other"},
            {"payload": "payload "},
            {"payload": ""},
            {"subject": "S"},
            {"tags": "b,a"},
            {"price": "2.51"},
            {"price": "tbd"},
            {"priority": 8},
        ],
        refused,
    )
    assert everything() == before
    # Whatever has become of the task, and however long ago it was.
    world.worker(gig, worker).post(f"{gig.path}/queue/poll")
    world.call("POST", "/dev/clock/advance", {"seconds": 3 * 86_400}).ok()
    assert world.send(gig, "payload", **shape).ok() == first
    gig.owner.patch(gig.path, {"status": "closed"})
    assert world.send(gig, "payload", **shape).ok() == first
    world.send(gig, "payload", **{**shape, "external_id": "order 2"}).refused(409, "gig_closed")
    assert count(Task) == 1
    # The id is the gig's own.
    assert world.send(world.gig(), "payload", **shape).ok() != first


@pytest.mark.rule("T-04")
@pytest.mark.case("F15")
def test_one_external_id_ten_times_at_once_is_one_task(world: World) -> None:
    gig = world.gig()
    for number in range(5):
        external_id = f"event-{number}"
        answers = at_once(10, lambda _, one=external_id: world.send(gig, "x", external_id=one))
        assert len({answer.ok()["message_id"] for answer in answers}) == 1
        mixed = at_once(
            10, lambda n, one=external_id: world.send(gig, f"{n % 2}", external_id=f"{one}-mixed")
        )
        assert sorted(answer.status for answer in mixed) == [200] * 5 + [409] * 5
    assert count(Task) == count(Event, Event.type == "task.submitted") == 10


@pytest.mark.rule("G-05")
def test_of_20_who_join_on_the_last_use_of_an_invite_one_gets_in(world: World) -> None:
    gig = world.gig()
    body = {"max_uses": 1}
    invite = gig.owner.post(f"{gig.path}/invites", body)["invite"]["token"]
    people = [world.person() for _ in range(20)]
    wallets = count(Wallet)
    path = f"{gig.path}/mailboxes"
    answers = at_once(20, lambda n: people[n].call("POST", path, {"invite": invite}))
    assert Counter(answer.status for answer in answers) == {201: 1, 409: 19}
    for answer in answers:
        if answer.status == 409:
            answer.refused(409, "invite_used_up")
    assert count(Mailbox) == 1 and count(Wallet) == wallets + 1
    with db.reading():
        assert Invite.get(Invite.token == invite).used == 1


@pytest.mark.rule("M-01")
def test_one_account_that_joins_ten_times_at_once_has_one_mailbox(world: World) -> None:
    gig, person = world.gig(), world.person()
    path = f"{gig.path}/mailboxes"
    answers = at_once(
        10, lambda n: person.call("POST", path, {"invite": gig.invite, "name": f"{n}"})
    )
    assert Counter(answer.status for answer in answers) == {201: 1, 200: 9}
    (mailbox_id,) = {answer.json["mailbox"]["id"] for answer in answers}
    assert sum("webhook_secret" in answer.json for answer in answers) == 1
    assert [box["id"] for box in person.get("/mailboxes/mine")["mailboxes"]] == [mailbox_id]
    with db.reading():
        assert Invite.get(Invite.token == gig.invite).used == 1
        assert Wallet.select().count() == 1
    for body in ({}, {"invite": "whatever"}, {"name": "another"}):
        again = person.call("POST", path, body)
        assert again.status == 200 and again.json["mailbox"]["id"] == mailbox_id


@pytest.mark.rule("G-05")
def test_an_invite_admits_whom_it_names_and_as_often_as_it_says(world: World) -> None:
    gig = world.gig(requires_approval=True)
    path, guest, other = f"{gig.path}/mailboxes", world.person("guest"), world.person()
    body = {"email": guest.email.upper(), "max_uses": 2}
    bound = gig.owner.post(f"{gig.path}/invites", body)["invite"]["token"]
    before = everything()
    for token, reason in (
        (None, "invite_required"),
        ("wrong", "invite_unknown"),
        (bound.swapcase(), "invite_unknown"),
        (world.gig().invite, "invite_unknown"),
        (bound, "invite_other_email"),
    ):
        told = other.call("POST", path, {"invite": token} if token else {})
        told.refused(403, reason)
    assert everything()["mailbox"] == before["mailbox"]
    assert guest.post(path, {"invite": bound})["mailbox"]["status"] == "active"
    assert other.post(path, {"invite": gig.invite})["mailbox"]["status"] == "pending_approval"
    gig.owner.call("DELETE", f"{gig.path}/invites/{gig.invite}").ok()
    gig.owner.call("DELETE", f"{gig.path}/invites/{gig.invite}").refused(404)
    world.person().call("POST", path, {"invite": gig.invite}).refused(403, "invite_unknown")
    for wrong in (0, -1, 1.5, "1", True, 10**10, []):
        told = gig.owner.call("POST", f"{gig.path}/invites", {"max_uses": wrong}).refused(400)
        assert list(told["errors"]) == ["max_uses"]


@pytest.mark.rule("Q-05")
def test_what_16_workers_poll_at_once_goes_to_one_of_them_each(world: World) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(4)]
    for _ in range(60):
        world.task(gig)

    def drain(number: int) -> list[str]:
        mine: list[str] = []
        while True:
            polled = workers[number % 4].post(f"{gig.path}/queue/poll", {"count": 3})["tasks"]
            mine += [task["id"] for task in polled]
            if not polled:
                return mine

    taken = [task_id for mine in at_once(16, drain) for task_id in mine]
    assert len(taken) == len(set(taken)) == 60
    assert count(Event, Event.type == "task.claimed") == 60


@pytest.mark.rule("G-04")
def test_a_token_rotated_by_many_at_once_leaves_one_that_works(world: World) -> None:
    gig = world.gig()
    answers = at_once(8, lambda _: gig.owner.post(f"{gig.path}/rotate-token"))
    tokens = {answer["gig"]["webhook"].rpartition("=")[2] for answer in answers}
    with db.reading():
        kept = Gig.get(Gig.id == gig.id).token
    assert kept in tokens and gig.token not in tokens
    statuses = [
        world.call("POST", f"/inbound/webhook/{gig.id}?token={token}", raw=b"x").status
        for token in sorted(tokens)
    ]
    assert Counter(statuses) == Counter({200: 1, 403: len(tokens) - 1})
