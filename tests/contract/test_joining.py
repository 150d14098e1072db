"""Joining, a second place, leaving and coming back (M-01, M-03, G-05)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine.db import db
from engine.models.event import Event
from engine.models.gig import Invite
from engine.models.mailbox import Mailbox
from engine.models.wallet import Wallet
from tests.contract.scene import everything
from tests.world import Gig, Person, World, at_once

URL = "http://127.0.0.1:9/"


def join(gig: Gig, person: Person, **body: Any) -> Any:
    invite = {"invite": gig.invite} if gig.invite else {}
    return person.call("POST", f"{gig.path}/mailboxes", {**invite, **body})


def leave(gig: Gig, person: Person, mailbox_id: str) -> Any:
    return person.call("DELETE", f"{gig.path}/mailboxes/{mailbox_id}")


def used(token: str) -> int:
    with db.reading():
        return int(Invite.get(Invite.token == token).used)


@pytest.mark.rule("M-01")
def test_new_makes_another_mailbox_and_spends_a_use_each_time(world: World) -> None:
    gig, person = world.gig(), world.person()
    first = join(gig, person)
    second = join(gig, person, new=True, name="Second")
    third = join(gig, person, new=True)
    assert [answer.status for answer in (first, second, third)] == [201, 201, 201]
    ids = [answer.json["mailbox"]["id"] for answer in (first, second, third)]
    assert len(set(ids)) == 3 and used(gig.invite) == 3
    assert second.json["webhook_secret"] != first.json["webhook_secret"]
    # Without it, it is the first again, and nothing is spent.
    again = join(gig, person, name="Other")
    assert again.status == 200 and again.json["mailbox"]["id"] == ids[0]
    assert join(gig, person, new=False).json["mailbox"]["id"] == ids[0]
    assert used(gig.invite) == 3
    assert [row["id"] for row in person.get("/mailboxes/mine")["mailboxes"]] == ids
    with db.reading():
        assert [row.ordinal for row in Mailbox.select().order_by(Mailbox.ordinal)] == [1, 2, 3]
    for wrong in (1, "true", None, []):
        assert list(join(gig, person, new=wrong).refused(400)["errors"]) == ["new"]


@pytest.mark.rule("M-01")
@pytest.mark.rule("G-05")
def test_of_20_new_mailboxes_at_once_a_3_use_invite_makes_three(world: World) -> None:
    gig, person = world.gig(), world.person()
    token = gig.owner.post(f"{gig.path}/invites", {"max_uses": 3})["invite"]["token"]
    body = {"invite": token, "new": True}
    answers = at_once(20, lambda _: person.call("POST", f"{gig.path}/mailboxes", body))
    assert Counter(answer.status for answer in answers) == {201: 3, 409: 17}
    for answer in answers:
        if answer.status == 409:
            answer.refused(409, "invite_used_up")
    with db.reading():
        rows = list(Mailbox.select().order_by(Mailbox.ordinal))
        assert [row.ordinal for row in rows] == [1, 2, 3] and used(token) == 3
        assert Wallet.select().count() == 3
        assert Event.select().where(Event.type == "mailbox.joined").count() == 3


@pytest.mark.rule("G-05")
def test_an_invite_that_names_an_account_skips_approval_for_each_of_its_uses(
    world: World,
) -> None:
    gig, person = world.gig(requires_approval=True), world.person()
    assert join(gig, person).json["mailbox"]["status"] == "pending_approval"
    body = {"email": person.email, "max_uses": 1}
    bound = gig.owner.post(f"{gig.path}/invites", body)["invite"]["token"]
    made = join(gig, person, invite=bound, new=True).ok()["mailbox"]
    assert made["status"] == "active"
    join(gig, person, invite=bound, new=True).refused(409, "invite_used_up")
    # Which of the two it is, is clear: one of them is active.
    world.task(gig)
    assert person.post(f"{gig.path}/queue/poll")["mailbox_id"] == made["id"]


@pytest.mark.rule("M-03")
@pytest.mark.rule("M-06")
@pytest.mark.rule("T-06")
def test_whoever_leaves_gives_back_what_he_holds_and_is_still_owed_what_he_handed_in(
    world: World,
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    mailbox_id = worker.mailbox["id"]  # type: ignore[attr-defined]
    sent = [world.task(gig) for _ in range(3)]
    worker.post(f"{gig.path}/queue/poll", {"count": 2})
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": sent[0]})["proof"]
    kept = world.task(gig, availability="reserved", reserved_for=mailbox_id)
    later = world.task(
        gig,
        availability="reserved",
        reserved_for=mailbox_id,
        not_before="2100-01-01T00:00:00Z",
    )

    assert leave(gig, worker, mailbox_id).ok() == {"success": True}
    before = everything()
    assert leave(gig, worker, mailbox_id).ok() == {"success": True}
    assert everything() == before, "again changes nothing"

    (mine,) = worker.get("/mailboxes/mine")["mailboxes"]
    assert mine["status"] == "inactive" and mine["left_at"] is not None
    for path, body in (
        ("queue/poll", {}),
        (f"queue/{sent[1]}/decline", {}),
        ("proofs", {"task_identifier": sent[1]}),
    ):
        told = worker.call("POST", f"{gig.path}/{path}", body).refused(403, "mailbox_inactive")
        assert "left" in told["error"]
    taken = other.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]
    assert [task["id"] for task in taken] == sent[1:]
    for task_id in (kept, later):
        task = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
        assert (task["availability"], task["reserved_for"]) == ("reserved", None)
    # He reads what became of his proof, and it is decided as ever.
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    assert worker.get(f"{gig.path}/proofs/{proof['id']}")["proof"]["status"] == "approved"
    # Walking off with a task in hand counts.
    (row,) = [
        row
        for row in gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]
        if row["id"] == mailbox_id
    ]
    assert (row["tasks_received"], row["proofs_submitted"]) == (2, 1)
    assert float(row["response_rate"]) == 0.5
    with db.reading():
        assert Event.select().where(Event.type == "mailbox.left").count() == 1
    # Nobody else may make him leave, nor bring him back.
    for person, status in ((gig.owner, 403), (other, 403), (world.person(), 403)):
        leave(gig, person, mailbox_id).refused(status)
    path = f"{gig.path}/mailboxes/{mailbox_id}"
    gig.owner.call("PATCH", path, {"status": "active"}).refused(409, "worker_left")


@pytest.mark.rule("M-01")
@pytest.mark.rule("M-03")
def test_whoever_left_comes_back_to_his_mailbox_on_the_gigs_terms_of_today(world: World) -> None:
    gig = world.gig()
    once = gig.owner.post(f"{gig.path}/invites", {"max_uses": 2})["invite"]["token"]
    gig.invite = once
    worker = world.worker(gig, name="Ada", webhook=URL + "old")
    mailbox_id = worker.mailbox["id"]  # type: ignore[attr-defined]
    address = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
    leave(gig, worker, mailbox_id).ok()

    gig.owner.patch(gig.path, {"requires_approval": True})
    worker.call("POST", f"{gig.path}/mailboxes", {}).refused(403, "invite_required")
    back = join(gig, worker, webhook=URL + "new")
    assert back.status == 200 and used(once) == 2
    shown = back.json["mailbox"]
    assert (shown["id"], shown["status"]) == (mailbox_id, "pending_approval")
    # What he says now counts, what he does not say stays.
    assert (shown["name"], shown["webhook"]) == ("Ada", URL + "new")
    assert shown["wallet_address"] == address and shown["left_at"] is None
    worker.call("POST", f"{gig.path}/queue/poll", {}).refused(403, "mailbox_inactive")
    path = f"{gig.path}/mailboxes/{mailbox_id}"
    assert gig.owner.patch(path, {"status": "active"})["mailbox"]["status"] == "active"
    task_id = world.task(gig)
    assert [task["id"] for task in worker.post(f"{gig.path}/queue/poll")["tasks"]] == [task_id]
    # The invite's uses are gone, so he would not get in a third time.
    leave(gig, worker, mailbox_id).ok()
    join(gig, worker).refused(409, "invite_used_up")
    with db.reading():
        assert Event.select().where(Event.type == "mailbox.joined").count() == 2


@pytest.mark.rule("M-01")
@pytest.mark.rule("M-02")
def test_whom_the_owner_shut_out_finds_no_way_back_in_by_himself(world: World) -> None:
    gig = world.gig(join_policy="open")
    worker = world.worker(gig)
    mailbox_id = worker.mailbox["id"]  # type: ignore[attr-defined]
    path = f"{gig.path}/mailboxes/{mailbox_id}"
    gig.owner.patch(path, {"status": "inactive"})
    again = join(gig, worker)
    assert again.status == 200 and again.json["mailbox"]["status"] == "inactive"
    join(gig, worker, new=True).refused(403, "mailbox_inactive")
    leave(gig, worker, mailbox_id).ok()
    assert join(gig, worker).json["mailbox"]["status"] == "inactive"
    gig.owner.patch(path, {"status": "active"})
    # The same for one who left first and was shut out then.
    leave(gig, worker, mailbox_id).ok()
    gig.owner.patch(path, {"status": "inactive"})
    assert join(gig, worker).json["mailbox"]["status"] == "inactive"
    assert gig.owner.patch(path, {"status": "active"})["mailbox"]["status"] == "active"


@pytest.mark.rule("M-01")
def test_with_one_place_left_and_one_kept_joining_again_gives_the_one_that_was_kept(
    world: World,
) -> None:
    gig = world.gig(join_policy="open")
    worker = world.worker(gig)
    first = worker.mailbox["id"]  # type: ignore[attr-defined]
    second = join(gig, worker, new=True).json["mailbox"]["id"]
    leave(gig, worker, first).ok()
    assert join(gig, worker).json["mailbox"]["id"] == second
    leave(gig, worker, second).ok()
    assert join(gig, worker).json["mailbox"] | {"id": first} == join(gig, worker).json["mailbox"]
    with db.reading():
        assert Mailbox.get(Mailbox.id == first).status == "active"
        assert Mailbox.get(Mailbox.id == second).status == "inactive"


@pytest.mark.rule("M-03")
@pytest.mark.rule("Q-05")
def test_no_task_stays_with_a_worker_who_leaves_while_he_polls(world: World) -> None:
    gig = world.gig(join_policy="open")
    workers = [world.worker(gig) for _ in range(3)]
    other = world.worker(gig)
    sent = {world.task(gig) for _ in range(60)}

    def play(number: int) -> None:
        worker = workers[number % 3]
        for _ in range(6):
            if number < 3:
                leave(gig, worker, worker.mailbox["id"]).ok()  # type: ignore[attr-defined]
                join(gig, worker).ok()
            else:
                answer = worker.call("POST", f"{gig.path}/queue/poll", {"count": 2})
                assert answer.status in (200, 403), answer.text

    at_once(9, play)
    for worker in workers:
        leave(gig, worker, worker.mailbox["id"]).ok()  # type: ignore[attr-defined]
    back: list[str] = []
    while taken := other.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"]:
        back += [task["id"] for task in taken]
    assert set(back) == sent and len(back) == len(sent)
