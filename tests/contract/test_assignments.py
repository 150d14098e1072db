"""Giving a task to one named worker (A-01)."""

from __future__ import annotations

from typing import Any

import pytest
import simplejson

from engine.db import db
from engine.models.delivery import Delivery
from engine.models.mailbox import Mailbox
from engine.models.task import Take, Task
from tests.contract.scene import everything
from tests.contract.test_availability import change, listed, mailbox
from tests.contract.test_task_changes import events, hand_in, path, poll, read
from tests.contract.webhooks import URL
from tests.world import Gig, World


def assign(gig: Gig, task_id: str, to: str) -> dict[str, Any]:
    answer: dict[str, Any] = gig.owner.post(path(gig, task_id, "/assign"), {"assign_to": to})
    return answer


@pytest.mark.rule("A-01")
def test_a_task_is_given_to_the_worker_whose_mailbox_or_account_is_named(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    for name in (mailbox(worker), worker.email, worker.email.upper()):
        task_id = world.task(gig)
        assert assign(gig, task_id, name) == {
            "success": True,
            "status": "assigned",
            "message_id": task_id,
            "mailbox_id": mailbox(worker),
            "unchanged": False,
        }
        assert poll(other, gig) == []
        assert listed(other, gig, "queue") == []
        seen = read(gig.owner, gig, task_id)
        assert (seen["status"], seen["mailbox_id"]) == ("claimed", mailbox(worker))
        assert read(worker, gig, task_id)["claimed_at"] is not None
        hand_in(worker, gig, task_id)


@pytest.mark.rule("A-01")
def test_a_worker_who_cannot_be_told_from_others_or_may_not_work_is_given_nothing(
    world: World,
) -> None:
    gig, elsewhere = world.gig(), world.gig()
    worker, resting, stranger = world.worker(gig), world.worker(gig), world.worker(elsewhere)
    gig.owner.patch(f"{gig.path}/mailboxes/{mailbox(resting)}", {"status": "inactive"})

    def second() -> None:
        first = Mailbox.get(Mailbox.id == mailbox(worker))
        Mailbox.create(**{**first.__data__, "id": "MBX_second", "ordinal": 2, "share_token": None})

    db.write(second)
    task_id = world.task(gig)
    before = everything()
    for name, reason in (
        ("MBX_none", "assignee_not_found"),
        ("nobody@example.com", "assignee_not_found"),
        ("no address", "assignee_not_found"),
        (stranger.email, "assignee_not_found"),
        (mailbox(stranger), "assignee_not_found"),
        (gig.owner.email, "assignee_not_found"),
        (resting.email, "assignee_not_active"),
        (mailbox(resting), "assignee_not_active"),
        (worker.email, "assignee_ambiguous"),
    ):
        answer = gig.owner.call("POST", path(gig, task_id, "/assign"), {"assign_to": name})
        assert list(answer.refused(400, reason)["errors"]) == ["assign_to"]
    assert everything() == before
    assert assign(gig, task_id, "MBX_second")["mailbox_id"] == "MBX_second"


@pytest.mark.rule("A-01")
@pytest.mark.rule("D-01")
def test_a_task_is_given_to_one_who_had_declined_it(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    poll(worker, gig)
    worker.post(f"{gig.path}/queue/{task_id}/decline")
    assert poll(worker, gig) == []
    assign(gig, task_id, worker.email)
    assert read(gig.owner, gig, task_id)["mailbox_id"] == mailbox(worker)
    hand_in(worker, gig, task_id)


@pytest.mark.rule("A-01")
def test_what_its_holder_took_himself_is_confirmed_as_his_and_kept_as_he_took_it(
    world: World,
) -> None:
    gig = world.gig(price="5")
    worker = world.worker(gig, webhook=URL)
    task_id = world.task(gig)
    poll(worker, gig)
    before = read(worker, gig, task_id)
    gig.owner.patch(gig.path, {"price": "1"})
    for _ in range(2):
        answer = assign(gig, task_id, worker.email)
        assert (answer["status"], answer["unchanged"]) == ("assigned", True)
        assert read(worker, gig, task_id) == before
    with db.reading():
        assert [take.kind for take in Take.select()] == ["claim"]
        assert Delivery.select().count() == 0
    (told,) = events(worker, gig, "task.changed")
    assert told["data"]["to"] == mailbox(worker)
    # It was the owner's to give, so it goes back to him.
    worker.post(f"{gig.path}/queue/{task_id}/decline")
    assert read(gig.owner, gig, task_id)["mailbox_id"] == "UNASSIGNED"


@pytest.mark.rule("A-01")
@pytest.mark.rule("M-06")
def test_a_task_is_taken_from_one_worker_and_given_to_another_and_both_are_told(
    world: World,
) -> None:
    gig = world.gig()
    first, second = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    poll(first, gig)
    assert assign(gig, task_id, second.email)["unchanged"] is False
    assert read(gig.owner, gig, task_id)["mailbox_id"] == mailbox(second)
    assert [event["subject"]["id"] for event in events(first, gig, "task.released")] == [task_id]
    assert [event["subject"]["id"] for event in events(second, gig, "task.assigned")] == [task_id]
    body = {"task_identifier": task_id}
    first.call("POST", f"{gig.path}/proofs", body).refused(409)
    with db.reading():
        takes = {take.mailbox_id: (take.kind, take.excused) for take in Take.select()}
    assert takes == {mailbox(first): ("claim", True), mailbox(second): ("assigned", False)}
    # He may have it again.
    assign(gig, task_id, first.email)
    hand_in(first, gig, task_id)


@pytest.mark.rule("A-01")
def test_a_task_that_came_back_is_given_to_somebody_else(world: World) -> None:
    gig = world.gig()
    first, second = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    assign(gig, task_id, first.email)
    first.post(f"{gig.path}/queue/{task_id}/decline")
    first.call("GET", path(gig, task_id)).refused(404)
    assign(gig, task_id, second.email)
    assert read(second, gig, task_id)["status"] == "claimed"


@pytest.mark.rule("A-01")
@pytest.mark.parametrize("kind", ["reserved", "view_only"])
def test_a_task_that_was_kept_back_is_given_away_and_kept_back_no_more(
    world: World, kind: str
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    change(gig, task_id, kind, other.email if kind == "reserved" else None)
    assign(gig, task_id, worker.email)
    seen = read(gig.owner, gig, task_id)
    assert (seen["availability"], seen["reserved_for"]) == ("open", None)
    assert poll(other, gig) == [] and listed(gig.owner, gig, "reserved") == []
    hand_in(worker, gig, task_id)


@pytest.mark.rule("A-01")
def test_a_task_with_a_proof_is_nobodys_to_give(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    verdicts: list[dict[str, Any] | None] = [
        None,
        {"action": "approve"},
        {"action": "reject", "requeue": False},
    ]
    for verdict in verdicts:
        task_id = world.task(gig)
        proof = hand_in(worker, gig, task_id)
        if verdict is not None:
            gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", verdict)
        before = everything()
        for person in (worker, other):
            body = {"assign_to": person.email}
            answer = gig.owner.call("POST", path(gig, task_id, "/assign"), body)
            answer.refused(409, "already_proven")
        assert everything() == before
    task_id = world.task(gig)
    proof = hand_in(worker, gig, task_id)
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "reject"})
    assign(gig, task_id, worker.email)
    hand_in(worker, gig, task_id)


@pytest.mark.rule("A-01")
@pytest.mark.rule("G-08")
def test_what_is_not_handed_out_is_not_given_away_either(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    where, body = path(gig, task_id, "/assign"), {"assign_to": worker.email}
    for status in ("draft", "unfunded"):
        db.write(lambda now=status: Task.update(status=now).execute())
        told = gig.owner.call("POST", where, body).refused(409, "wrong_state")
        assert told["status_now"] == status
    db.write(lambda: Task.update(status="queued").execute())
    gig.owner.patch(gig.path, {"status": "closed"})
    gig.owner.call("POST", where, body).refused(409, "gig_closed")


@pytest.mark.rule("A-01")
def test_in_a_solo_gig_a_task_is_not_taken_from_the_others(world: World) -> None:
    gig = world.gig(distribution="queue_solo")
    worker = world.worker(gig)
    template = world.task(gig)
    (copy,) = poll(worker, gig)
    before = everything()
    for task_id in (template, copy):
        body = {"assign_to": worker.email}
        told = gig.owner.call("POST", path(gig, task_id, "/assign"), body)
        assert "Post new work with assign_to" in told.refused(400, "solo_task")["error"]
    assert everything() == before


@pytest.mark.rule("W-08")
def test_the_worker_it_is_given_to_is_told_by_webhook_what_there_is_to_do(world: World) -> None:
    gig = world.gig(title="The gig")
    worker = world.worker(gig, webhook=URL)
    payload = "é" * 7000
    task_id = world.task(gig, payload)
    gig.owner.patch(path(gig, task_id, "/private-details"), {"private_details": "the secret"})
    assign(gig, task_id, worker.email)
    with db.reading():
        (delivery,) = Delivery.select()
    body = simplejson.loads(delivery.body)
    (event,) = events(worker, gig, "task.assigned")
    assert body == {
        "event": "task.assigned",
        "sent_at": event["at"],
        "gig_id": gig.id,
        "mailbox_id": mailbox(worker),
        "message_id": task_id,
        "gig_title": "The gig",
        "distribution_mode": "queue",
        "forwarded_at": read(worker, gig, task_id)["forwarded_at"],
        "payload": payload,
    }
    assert "payload" not in event["data"]


@pytest.mark.rule("A-01")
@pytest.mark.rule("Q-07")
def test_a_claim_that_has_run_out_begins_anew_for_the_same_worker(world: World) -> None:
    gig = world.gig(task_timeout=60)
    worker = world.worker(gig)
    task_id = world.task(gig)
    poll(worker, gig)
    world.call("POST", "/dev/clock/advance", {"seconds": 61}).ok()
    assert assign(gig, task_id, worker.email)["unchanged"] is False
    hand_in(worker, gig, task_id)
