"""Proofs that are kept back, taken back and handed in again (R-03)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine import clock, holds, proof_drafts
from engine.db import db
from tests.contract.scene import all_hold, everything
from tests.engine.holding import TIMEOUT, mailbox_id, poll, task_of, told
from tests.world import Answer, Gig, Person, World, at_once

KINDS = ("proof.submitted", "proof.withdrawn", "proof.dropped", "proof.refused", "task.claimed")


def draft(gig: Gig, worker: Person, task_id: str, **more: Any) -> Any:
    body = {"task_identifier": task_id, "draft": True, **more}
    return worker.post(f"{gig.path}/proofs", body)["proof"]


def act(gig: Gig, worker: Person, proof_id: str, what: str, body: Any = None) -> Answer:
    """`draft` edits, `delete` deletes; `submit` and `withdraw` are calls of their own."""
    path = f"{gig.path}/proofs/{proof_id}"
    if what == "delete":
        return worker.call("DELETE", path)
    if what == "draft":
        return worker.call("PATCH", f"{path}/draft", {"tags": ["t"]} if body is None else body)
    return worker.call("POST", f"{path}/{what}")


def kinds(gig: Gig) -> list[str]:
    return [event["type"] for event in told(gig, *KINDS)]


def seen_by_owner(gig: Gig) -> list[str]:
    """The proofs that the gig's owner finds, in everything that shows him any."""
    listed = {row["id"] for row in gig.owner.get(f"{gig.path}/proofs")["proofs"]}
    dashboard = gig.owner.get(f"{gig.path}/dashboard")
    exported = gig.owner.call("GET", f"{gig.path}/export.jsonl?what=proofs").text
    assert listed == {row["id"] for row in dashboard["proofs"]}
    assert sum(dashboard["counts"]["proofs"].values()) == len(listed)
    assert "draft" not in dashboard["counts"]["proofs"]
    assert exported.count('"mailbox_id"') == len(listed)
    (row,) = gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]
    assert row["proofs_submitted"] == len(listed)
    return sorted(listed)


@pytest.mark.rule("R-03")
def test_a_draft_holds_its_task_and_nobody_but_its_worker_sees_it(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT, proof_webhook_url="http://127.0.0.1:9/")
    worker = world.worker(gig)
    task_id = world.task(gig)
    proof = draft(gig, worker, task_id, proofs=["half"], tags=["a"], private_note="n")
    assert (proof["status"], proof["locked_price"], proof["timeout_at"]) == ("draft", None, None)
    assert (proof["submitted_at"], proof["resubmitted"]) == (None, False)
    path = f"{gig.path}/proofs/{proof['id']}"
    assert worker.get(path)["proof"] == proof
    assert worker.get(f"{gig.path}/proofs")["proofs"] == [proof]
    held = task_of(gig, task_id)
    assert (held["status"], held["mailbox_id"]) == ("claimed", mailbox_id(worker))
    assert seen_by_owner(gig) == [] and kinds(gig) == ["task.claimed"]
    assert gig.owner.get("/deliveries")["deliveries"] == []
    other = world.worker(gig)
    for person in (gig.owner, other):
        person.call("GET", path).refused(404)
        assert person.get(f"{gig.path}/proofs")["proofs"] == []
    gig.owner.call("PATCH", path, {"action": "approve"}).refused(404)
    other.call("DELETE", f"{gig.path}/mailboxes/{mailbox_id(other)}").ok()

    clock.advance(TIMEOUT - 1)
    handed_in = act(gig, worker, proof["id"], "submit").ok()["proof"]
    assert (handed_in["status"], str(handed_in["locked_price"])) == ("pending", "2.5")
    assert handed_in["submitted_at"] is not None and handed_in["timeout_at"] is not None
    assert gig.owner.get(path)["proof"]["proofs"] == ["half"]
    (event,) = told(gig, "proof.submitted")
    assert event["data"]["resubmitted"] is False and event["data"]["proof_id"] == proof["id"]
    assert len(gig.owner.get("/deliveries")["deliveries"]) == 1
    assert task_of(gig, task_id)["status"] == "submitted"


@pytest.mark.rule("R-03")
def test_a_draft_is_edited_until_it_is_handed_in_and_by_its_worker_alone(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    proof = draft(gig, worker, world.task(gig), proofs=["a"], tags=["b"], private_note="c")
    changes: list[dict[str, Any]] = [
        {},
        {"proofs": ["x", "y"]},
        {"tags": []},
        {"private_note": ""},
        {"asking_price": None},
        {"proofs": [], "tags": ["z"], "private_note": "all"},
    ]
    for change in changes:
        proof = {
            **proof,
            **change,
            "private_note_locked": bool(({**proof, **change})["private_note"]),
        }
        assert act(gig, worker, proof["id"], "draft", change).ok()["proof"] == proof
        assert worker.get(f"{gig.path}/proofs/{proof['id']}")["proof"] == proof
    before = everything()
    for wrong, field in (
        ({"proofs": "x"}, "proofs"),
        ({"proofs": None}, "proofs"),
        ({"tags": [5]}, "tags.0"),
        ({"private_note": None}, "private_note"),
        ({"task_identifier": "x"}, "task_identifier"),
        ({"draft": False}, "draft"),
        ({"asking_price": 1}, "asking_price"),
    ):
        refused = act(gig, worker, proof["id"], "draft", wrong).refused(400)
        assert list(refused["errors"]) == [field]
    for what in ("draft", "submit", "withdraw", "delete"):
        act(gig, other, proof["id"], what).refused(404)
        act(gig, gig.owner, proof["id"], what).refused(403)
        act(gig, worker, "PROOF_none", what).refused(404)
        act(world.gig(), world.person(), proof["id"], what).refused(403)
    act(gig, worker, proof["id"], "withdraw").refused(409, "not_pending")
    act(gig, worker, proof["id"], "submit").ok()
    for what in ("draft", "submit", "delete"):
        assert (
            act(gig, worker, proof["id"], what).refused(409, "not_draft")["status_now"] == "pending"
        )
    assert before["event"] != everything()["event"]


@pytest.mark.rule("R-03")
@pytest.mark.rule("R-02")
def test_a_proof_that_is_taken_back_is_a_draft_and_its_task_is_held_as_before(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT, price="2.50")
    worker = world.worker(gig)
    task_id = world.task(gig)
    (claimed,) = worker.post(f"{gig.path}/queue/poll")["tasks"]
    until = task_of(gig, task_id)["expires_at"]
    proof = worker.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]
    gig.owner.patch(gig.path, {"price": "1", "task_timeout": None})
    back = act(gig, worker, proof["id"], "withdraw").ok()["proof"]
    assert (back["status"], back["locked_price"], back["timeout_at"]) == ("draft", None, None)
    assert seen_by_owner(gig) == []
    held = task_of(gig, task_id)
    assert (held["status"], held["expires_at"]) == ("claimed", until)
    assert held["claimed_at"] == claimed["claimed_at"]
    # What the owner adds meanwhile is his as well; a cut is for whoever comes after him.
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/price", {"price": "3"})
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/price", {"price": "0.5"})
    again = act(gig, worker, proof["id"], "submit").ok()["proof"]
    assert (str(again["locked_price"]), again["resubmitted"]) == ("3", True)
    assert again["id"] == proof["id"] and seen_by_owner(gig) == [proof["id"]]
    assert kinds(gig) == ["task.claimed", "proof.submitted", "proof.withdrawn", "proof.submitted"]
    flags = [event["data"]["resubmitted"] for event in told(gig, "proof.submitted")]
    assert flags == [False, True]
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    refused = act(gig, worker, proof["id"], "withdraw").refused(409, "not_pending")
    assert refused["status_now"] == "approved"


@pytest.mark.rule("R-03")
@pytest.mark.rule("Q-07")
def test_a_proof_whose_tasks_time_is_over_stays_handed_in(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    proof = draft(gig, worker, world.task(gig))
    act(gig, worker, proof["id"], "submit").ok()
    clock.advance(TIMEOUT)
    before = everything()
    act(gig, worker, proof["id"], "withdraw").refused(409, "time_over")
    assert holds.expire() == 0 and everything() == before
    done = gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    assert done["status"] == "approved"


@pytest.mark.rule("M-05")
@pytest.mark.rule("R-03")
def test_neither_limit_is_passed_by_a_draft_or_by_taking_proofs_back(world: World) -> None:
    gig = world.gig(
        default_max_open_tasks=2, default_rate_limit_count=5, default_rate_limit_minutes=60
    )
    worker = world.worker(gig)
    sent = [world.task(gig) for _ in range(7)]

    def left() -> tuple[int, int]:
        poll_path = f"{gig.path}/queue/{sent[0]}/claim"
        answer = worker.call("POST", poll_path).json
        return answer["rate_limit"]["remaining"], answer["open_tasks"]["remaining"]

    proofs = [draft(gig, worker, task_id)["id"] for task_id in sent[:2]]
    assert left() == (3, 0)
    body = {"task_identifier": sent[2]}
    for more in ({}, {"draft": True}):
        worker.call("POST", f"{gig.path}/proofs", {**body, **more}).refused(
            429, "open_tasks_reached"
        )
    worker.call("POST", f"{gig.path}/queue/poll").refused(429, "open_tasks_reached")
    for _ in range(2):
        for proof_id in proofs:
            act(gig, worker, proof_id, "submit").ok()
            act(gig, worker, proof_id, "withdraw").ok()
    # A take and its proofs are one, however often they are handed in.
    assert left() == (3, 0)
    for proof_id in proofs:
        act(gig, worker, proof_id, "submit").ok()
    proofs += [
        worker.post(f"{gig.path}/proofs", {"task_identifier": one})["proof"]["id"]
        for one in sent[2:5]
    ]
    worker.call("POST", f"{gig.path}/proofs", {"task_identifier": sent[5], "draft": True}).refused(
        429, "rate_limit_reached"
    )
    answers = at_once(len(proofs), lambda n: act(gig, worker, proofs[n], "withdraw"))
    assert Counter(answer.status for answer in answers) == {200: 2, 429: 3}
    before = everything()
    for answer in answers:
        if answer.status == 429:
            limit = answer.refused(429, "open_tasks_reached")["open_tasks"]
            assert (limit["open"], limit["remaining"]) == (2, 0)
    for proof_id, answer in zip(proofs, answers, strict=True):
        if answer.status == 429:
            act(gig, worker, proof_id, "withdraw").refused(429)
    assert everything() == before


@pytest.mark.rule("R-03")
def test_a_proof_cannot_be_taken_back_for_ever(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    proof_id = draft(gig, worker, world.task(gig))["id"]
    act(gig, worker, proof_id, "submit").ok()
    for _ in range(proof_drafts.MOST_TIMES - 1):
        act(gig, worker, proof_id, "withdraw").ok()
        act(gig, worker, proof_id, "submit").ok()
    before = everything()
    act(gig, worker, proof_id, "withdraw").refused(409, "handed_in_often")
    assert everything() == before


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-03")
def test_whoever_has_a_draft_of_a_task_is_told_which(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    path = f"{gig.path}/proofs"
    body = {"task_identifier": task_id}
    answers = at_once(6, lambda _: worker.call("POST", path, {**body, "draft": True}))
    assert Counter(answer.status for answer in answers) == {201: 1, 409: 5}
    (made,) = [answer.json["proof"] for answer in answers if answer.status == 201]
    before = everything()
    for answer in (
        *answers,
        *(worker.call("POST", path, {**body, "draft": d}) for d in (0 == 1, True)),
    ):
        if answer.status == 409:
            assert answer.refused(409, "draft_exists")["proof_id"] == made["id"]
    # Of somebody else's there is nothing to be told.
    assert "proof_id" not in other.call("POST", path, body).refused(409, "taken")
    assert everything() == before


@pytest.mark.rule("R-03")
def test_a_draft_that_is_deleted_leaves_its_task_with_its_worker(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for handed_in in (False, True):
        task_id = world.task(gig)
        proof = draft(gig, worker, task_id)
        alias = f"{gig.path}/proofs/{proof['id']}/alias"
        worker.patch(alias, {"alias": "mine"})
        assert act(gig, worker, proof["id"], "draft", {}).ok()["proof"]["alias"] == "mine"
        if handed_in:
            act(gig, worker, proof["id"], "submit").ok()
            act(gig, worker, proof["id"], "withdraw").ok()
        act(gig, worker, proof["id"], "delete").ok()
        for what in ("draft", "submit", "withdraw", "delete"):
            act(gig, worker, proof["id"], what).refused(404)
        assert task_of(gig, task_id)["mailbox_id"] == mailbox_id(worker)
        assert task_of(gig, task_id)["status"] == "claimed"
        # The log tells of what its owner had seen, and of nothing else.
        assert ("proof.dropped" in kinds(gig)) is handed_in
        again = draft(gig, worker, task_id)
        act(gig, worker, again["id"], "submit").ok()
        assert told(gig, "proof.submitted")[-1]["data"]["resubmitted"] is handed_in
    with db.reading():
        assert db.rows("SELECT * FROM proof_alias") == []


@pytest.mark.rule("R-03")
@pytest.mark.rule("Q-07")
@pytest.mark.case("F03")
def test_whose_time_is_over_has_a_draft_of_nothing(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    proof = draft(gig, worker, task_id)
    clock.advance(TIMEOUT)
    rows = everything()["proof"]
    for what in ("draft", "submit", "submit", "delete"):
        act(gig, worker, proof["id"], what).refused(410, "claim_lost")
    worker.call("POST", f"{gig.path}/proofs", {"task_identifier": task_id}).refused(410)
    assert everything()["proof"] == rows
    (event,) = told(gig, "proof.refused")
    assert event["data"]["task_identifier"] == task_id
    assert holds.expire() == 1
    for what in ("draft", "submit", "withdraw", "delete"):
        act(gig, worker, proof["id"], what).refused(404)
    assert worker.get(f"{gig.path}/proofs")["proofs"] == []
    assert poll(gig, other) == [task_id]
    draft(gig, other, task_id)


@pytest.mark.rule("H-07")
@pytest.mark.rule("R-03")
def test_under_its_key_each_step_is_made_once(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    path = f"{gig.path}/proofs"
    steps: list[tuple[str, str, Any]] = [
        ("POST", path, {"task_identifier": task_id, "draft": True})
    ]
    made = worker.call(*steps[0], headers={"idempotency-key": "0"}).ok()["proof"]["id"]
    steps += [
        ("PATCH", f"{path}/{made}/draft", {"tags": ["x"]}),
        ("POST", f"{path}/{made}/submit", None),
        ("POST", f"{path}/{made}/withdraw", None),
        ("DELETE", f"{path}/{made}", None),
    ]

    def twice(row: tuple[int, tuple[str, str, Any]]) -> None:
        number, (method, where, body) = row
        headers = {"idempotency-key": str(number)}
        first = worker.call(method, where, body, headers=headers)
        before = everything()
        again = worker.call(method, where, body, headers=headers)
        assert (again.json, again.headers["idempotency-replayed"]) == (first.ok(), "true")
        assert everything() == before

    all_hold(list(enumerate(steps)), twice)
    assert kinds(gig) == ["task.claimed", "proof.submitted", "proof.withdrawn", "proof.dropped"]


@pytest.mark.rule("G-08")
@pytest.mark.rule("R-03")
@pytest.mark.parametrize("end", ["closed", "cancelled"])
def test_work_in_hand_is_drafted_and_handed_in_after_a_gig_has_ended(
    world: World, end: str
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    mine = draft(gig, worker, world.task(gig))
    waiting = world.task(gig)
    if end == "closed":
        gig.owner.patch(gig.path, {"status": "closed"})
    else:
        gig.owner.post(f"{gig.path}/cancel")
    status = 409 if end == "closed" else 404
    body = {"task_identifier": waiting, "draft": True}
    worker.call("POST", f"{gig.path}/proofs", body).refused(status)
    for what in ("draft", "submit", "withdraw", "submit"):
        act(gig, worker, mine["id"], what).ok()
    assert gig.owner.patch(f"{gig.path}/proofs/{mine['id']}", {"action": "approve"})["success"]
