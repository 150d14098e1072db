"""Gigs that hand out nothing: workers hand in work that they name themselves (U-03)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine import clock
from engine.db import db
from engine.models.task import QueueEntry, Task
from tests.contract.scene import all_hold, everything
from tests.contract.test_proof_drafts import act
from tests.engine.holding import mailbox_id, told
from tests.world import Answer, Gig, Person, World, at_once

MODE = "inbound_proof"


def own_gig(world: World, **fields: Any) -> Gig:
    return world.gig(distribution=MODE, **fields)


def hand_in(gig: Gig, worker: Person, name: str, **more: Any) -> Answer:
    body = {"task_identifier": name, "proofs": ["done"], **more}
    return worker.call("POST", f"{gig.path}/proofs", body)


def verdict(gig: Gig, proof_id: str, **body: Any) -> Any:
    return gig.owner.patch(f"{gig.path}/proofs/{proof_id}", body)


def reject(gig: Gig, proof_id: str, **more: Any) -> Any:
    return verdict(gig, proof_id, action="reject", rejection_tag="incomplete", **more)


def tasks() -> list[tuple[str, str]]:
    """Each task by the name that its worker gave it, and its state; none is in a queue."""
    with db.reading():
        assert QueueEntry.select().count() == 0
        return [(row.named_as, row.status) for row in Task.select().order_by(Task.number)]


@pytest.mark.rule("U-03")
@pytest.mark.parametrize("name", [" ", "\t", "\u200b", "a\nb", "wd\u200b", "\u202etxt", "a\u2028b"])
def test_a_name_that_only_looks_like_another_is_refused(world: World, name: str) -> None:
    gig = own_gig(world)
    worker = world.worker(gig)
    before = everything()
    refused = hand_in(gig, worker, name)
    assert (refused.status, list(refused.json["errors"])) == (400, ["task_identifier"])
    assert everything() == before


@pytest.mark.rule("U-03")
def test_blanks_around_a_name_and_the_form_of_its_letters_do_not_count(world: World) -> None:
    gig = own_gig(world)
    worker = world.worker(gig)
    first = hand_in(gig, worker, "Caf\u00e9 5").ok()["proof"]
    assert first["task_identifier"] == "Caf\u00e9 5"
    assert hand_in(gig, worker, "  Cafe\u0301 5 ").status == 409


@pytest.mark.rule("U-03")
@pytest.mark.rule("R-01")
def test_work_is_handed_in_under_the_workers_own_name_and_approved(world: World) -> None:
    gig = own_gig(world, price="4.25")
    worker, other = world.worker(gig), world.worker(gig)
    name = "Article 17: \N{BIRD} '\"<b> ../x?y=1#z"
    proof = hand_in(gig, worker, name, tags=["t"], private_note="n").ok()["proof"]
    assert (proof["task_identifier"], str(proof["locked_price"])) == (name, "4.25")
    assert (proof["status"], proof["price_source"]) == ("pending", "gig")
    (seen,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert (seen["id"], seen["task_identifier"]) == (proof["id"], name)
    (event,) = told(gig, "proof.submitted")
    assert event["data"]["task_identifier"] == name
    done = verdict(gig, proof["id"], action="approve")
    assert (done["task_identifier"], str(done["locked_price"])) == (name, "4.25")
    assert told(gig, "proof.approved")[0]["data"]["task_identifier"] == name
    assert tasks() == [(name, "approved")]
    # It is a task like any other to its owner and its worker, and nothing to anybody else.
    (task,) = gig.owner.get(f"{gig.path}/dashboard")["tasks"]
    assert (task["subject"], task["payload"]) == (name, "")
    path = f"{gig.path}/tasks/{task['id']}"
    for person in (gig.owner, worker):
        assert person.get(path)["task"]["subject"] == name
        assert person.patch(f"{path}/alias", {"alias": "x"})["alias"] == "x"
    other.call("GET", path).refused(404)
    assert worker.get("/work/available")["mailboxes"][0]["poll_in_gig"] is None
    assert "inbound_proof" in [mode["name"] for mode in world.call("GET", "/modes").ok()["modes"]]


@pytest.mark.rule("U-03")
@pytest.mark.rule("R-01")
def test_one_name_is_one_piece_of_work_to_each_mailbox(world: World) -> None:
    gig = own_gig(world)
    worker, other = world.worker(gig), world.worker(gig)
    for status in ("pending", "approved"):
        first = hand_in(gig, worker, status).ok()["proof"]
        if status == "approved":
            verdict(gig, first["id"], action="approve")
        before = everything()
        hand_in(gig, worker, status).refused(409, "already_proven")
        hand_in(gig, worker, status, draft=True).refused(409, "already_proven")
        assert everything() == before
    hand_in(gig, other, "pending").ok()
    second = worker.post(f"{gig.path}/mailboxes", {"new": True, "invite": gig.invite})["mailbox"]
    hand_in(gig, worker, "pending", mailbox_id=second["id"]).ok()
    # Another case, or a space within it: another name.
    for near in ("Pending", "pen ding"):
        hand_in(gig, worker, near).ok()
    hand_in(gig, worker, "n" * 200).ok()
    hand_in(gig, worker, "n" * 201).refused(400)
    hand_in(gig, worker, "").refused(400)
    # The id of a task is a name like any other here.
    with db.reading():
        task_id = Task.select(Task.id).where(Task.named_by == mailbox_id(other)).scalar()
    assert hand_in(gig, worker, task_id).ok()["proof"]["task_identifier"] == task_id


@pytest.mark.rule("U-03")
@pytest.mark.case("F13")
def test_of_many_who_come_at_once_with_one_name_one_gets_in(world: World) -> None:
    gig = own_gig(world)
    worker = world.worker(gig)
    for number in range(4):
        name, draft = f"work {number}", bool(number % 2)
        answers = at_once(6, lambda _, n=name, d=draft: hand_in(gig, worker, n, draft=d))
        assert Counter(answer.status for answer in answers) == {201: 1, 409: 5}
        reason = "draft_exists" if draft else "already_proven"
        for answer in answers:
            if answer.status == 409:
                answer.refused(409, reason)
    states = ["submitted", "claimed"] * 2
    assert tasks() == [(f"work {number}", state) for number, state in enumerate(states)]
    assert len(told(gig, "task.claimed")) == 4 and len(told(gig, "proof.submitted")) == 2


@pytest.mark.rule("U-03")
@pytest.mark.rule("R-04")
def test_rejected_work_is_handed_in_again_which_makes_the_rejection_final(world: World) -> None:
    gig = own_gig(world)
    worker = world.worker(gig)
    first = hand_in(gig, worker, "work").ok()["proof"]
    for requeue in (True, False):
        told_back = reject(gig, first["id"], requeue=requeue)
        assert told_back["requeued"] is False
    # Until then the verdict may change.
    verdict(gig, first["id"], action="approve")
    hand_in(gig, worker, "work").refused(409, "already_proven")
    reject(gig, first["id"])
    assert tasks() == [("work", "rejected")]
    gig.owner.patch(gig.path, {"price": "1"})

    again = hand_in(gig, worker, "work").ok()["proof"]
    assert again["id"] != first["id"] and again["resubmitted"] is True
    assert str(again["locked_price"]) == "1"
    assert [e["data"]["resubmitted"] for e in told(gig, "proof.submitted")] == [False, True]
    old = gig.owner.get(f"{gig.path}/proofs/{first['id']}")["proof"]
    assert (old["status"], old["can_revise"], old["revision_blocked_by_requeue"]) == (
        "rejected",
        False,
        True,
    )
    assert old["task_released_at"] is not None
    path = f"{gig.path}/proofs/{first['id']}"
    gig.owner.call("PATCH", path, {"action": "approve"}).refused(409, "returned")
    assert tasks() == [("work", "submitted")]

    # A draft of it counts likewise, and deleted it can be begun anew.
    reject(gig, again["id"])
    third = hand_in(gig, worker, "work", draft=True).ok()["proof"]
    assert third["submitted_at"] is None
    gig.owner.call("PATCH", f"{gig.path}/proofs/{again['id']}", {"action": "approve"}).refused(409)
    act(gig, worker, third["id"], "delete").ok()
    assert tasks() == [("work", "queued")]
    last = hand_in(gig, worker, "work").ok()["proof"]
    assert last["resubmitted"] is True
    assert verdict(gig, last["id"], action="approve")["status"] == "approved"
    statuses = Counter(p["status"] for p in worker.get(f"{gig.path}/proofs")["proofs"])
    assert statuses == {"rejected": 2, "approved": 1}


@pytest.mark.rule("U-03")
@pytest.mark.rule("M-05")
def test_both_limits_hold_for_work_of_ones_own(world: World) -> None:
    gig = own_gig(
        world, default_rate_limit_count=3, default_rate_limit_minutes=60, default_max_open_tasks=1
    )
    worker = world.worker(gig)
    kept = hand_in(gig, worker, "kept", draft=True).ok()["proof"]
    for draft in (True, False):
        hand_in(gig, worker, "more", draft=draft).refused(429, "open_tasks_reached")
    act(gig, worker, kept["id"], "submit").ok()
    answers = at_once(6, lambda n: hand_in(gig, worker, f"at once {n}"))
    assert Counter(answer.status for answer in answers) == {201: 2, 429: 4}
    for answer in answers:
        if answer.status == 429:
            assert answer.refused(429, "rate_limit_reached")["rate_limit"]["used"] == 3
    # What is handed in again is one more proof.
    reject(gig, kept["id"])
    before = everything()
    hand_in(gig, worker, "kept").refused(429, "rate_limit_reached")
    assert everything() == before
    clock.advance(3600)
    hand_in(gig, worker, "kept").ok()
    # Taken back and handed in again it is the same one.
    (row,) = worker.get(f"{gig.path}/proofs?status=pending&limit=1")["proofs"]
    act(gig, worker, row["id"], "withdraw").ok()
    other = worker.get(f"{gig.path}/proofs?status=pending&limit=1")["proofs"][0]
    act(gig, worker, other["id"], "withdraw").refused(429, "open_tasks_reached")
    act(gig, worker, row["id"], "submit").ok()


@pytest.mark.rule("U-03")
@pytest.mark.rule("G-03")
def test_what_is_about_tasks_is_refused_with_what_to_do_instead(world: World) -> None:
    gig = own_gig(world)
    worker = world.worker(gig)
    hand_in(gig, worker, "work", draft=True).ok()
    with db.reading():
        task = f"{gig.path}/tasks/{Task.select(Task.id).scalar()}"
    queue = task.replace("/tasks/", "/queue/")
    before = everything()
    owner = gig.owner
    calls: list[tuple[Person, str, str, Any]] = [
        (worker, "POST", f"{gig.path}/queue/poll", {"count": 1}),
        (worker, "POST", f"{queue}/claim", None),
        (worker, "POST", f"{queue}/decline", None),
        (worker, "POST", f"{queue}/violation", {"violation": "x"}),
        (owner, "GET", f"{gig.path}/drafts", None),
        (owner, "DELETE", f"{gig.path}/queue/all", None),
        (owner, "PATCH", f"{task}/price", {"price": 1}),
        (owner, "PATCH", f"{gig.path}/queue/prices", {"updates": [{"id": "x", "price": 1}]}),
        (owner, "PATCH", f"{task}/priority", {"priority": 1}),
        (owner, "PATCH", f"{task}/availability", {"availability": "open"}),
        (owner, "POST", f"{task}/assign", {"assign_to": mailbox_id(worker)}),
        (owner, "POST", f"{task}/extend", None),
        (owner, "POST", f"{task}/recycle", None),
        (owner, "DELETE", task, None),
    ]

    def refused(row: tuple[Person, str, str, Any]) -> None:
        person, method, path, body = row
        answer = person.call(method, path, body).refused(409, MODE)
        assert len(answer["error"]) > 30

    all_hold(calls, refused)
    for query in ({}, {"draft": "true"}, {"assign_to": mailbox_id(worker)}):
        world.send(gig, "x", **query).refused(409, MODE)
    headers = {"x-api-key": owner.key, "content-type": "application/x-ndjson"}
    path = f"{gig.path}/tasks/bulk"
    world.call("POST", path, raw=b'{"payload": "x"}', headers=headers).refused(409, MODE)
    gig.token = "wrong"
    world.send(gig, "x").refused(403, "wrong_token")
    assert everything() == before


@pytest.mark.rule("U-03")
@pytest.mark.rule("R-03")
@pytest.mark.rule("Q-07")
def test_a_draft_of_ones_own_work_has_no_clock_and_goes_with_its_worker(world: World) -> None:
    gig = own_gig(world, task_timeout=60)
    worker = world.worker(gig)
    kept = hand_in(gig, worker, "work", draft=True).ok()["proof"]
    clock.advance(3600)
    act(gig, worker, kept["id"], "submit").ok()
    act(gig, worker, kept["id"], "withdraw").ok()
    place = f"{gig.path}/mailboxes/{mailbox_id(worker)}"
    worker.call("DELETE", place).ok()
    assert tasks() == [("work", "queued")]
    hand_in(gig, worker, "work").refused(403, "mailbox_inactive")
    worker.post(f"{gig.path}/mailboxes", {"invite": gig.invite})
    assert worker.get(f"{gig.path}/proofs")["proofs"] == []
    assert hand_in(gig, worker, "work").ok()["proof"]["resubmitted"] is True


@pytest.mark.rule("U-03")
@pytest.mark.rule("G-08")
@pytest.mark.parametrize("end", ["closed", "cancelled"])
def test_a_gig_that_has_ended_takes_what_is_begun_and_nothing_new(world: World, end: str) -> None:
    gig = own_gig(world)
    worker = world.worker(gig)
    rejected = hand_in(gig, worker, "rejected").ok()["proof"]
    reject(gig, rejected["id"])
    begun = hand_in(gig, worker, "begun", draft=True).ok()["proof"]
    dropped = hand_in(gig, worker, "dropped", draft=True).ok()["proof"]
    if end == "closed":
        gig.owner.patch(gig.path, {"status": "closed"})
    else:
        gig.owner.post(f"{gig.path}/cancel")
    before = everything()
    for name in ("new", "rejected"):
        for draft in (True, False):
            hand_in(gig, worker, name, draft=draft).refused(409, "gig_closed")
    assert everything() == before
    act(gig, worker, dropped["id"], "delete").ok()
    hand_in(gig, worker, "dropped").refused(409)
    act(gig, worker, begun["id"], "submit").ok()
    assert verdict(gig, begun["id"], action="approve")["status"] == "approved"
    over = "queued" if end == "closed" else "cancelled"
    assert tasks() == [("rejected", "rejected"), ("begun", "approved"), ("dropped", over)]
