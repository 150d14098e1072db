"""Proofs and verdicts: each counted once, final when they are final (R-01 … R-06)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.models.proof import Proof
from tests.contract.scene import all_hold, everything
from tests.world import Gig, Person, World, at_once

APPROVE = {"action": "approve"}
REJECT = {"action": "reject", "rejection_tag": "incomplete", "feedback": "again"}


def proven(world: World, gig: Gig, worker: Person, **more: Any) -> dict[str, Any]:
    body = {"task_identifier": world.task(gig), **more}
    proof: dict[str, Any] = worker.post(f"{gig.path}/proofs", body)["proof"]
    return proof


def verdicts(gig: Gig) -> list[str]:
    events = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
    return [e["type"] for e in events if e["type"] in ("proof.approved", "proof.rejected")]


def status_of_task(gig: Gig, proof: dict[str, Any]) -> str:
    task = gig.owner.get(f"{gig.path}/tasks/{proof['task_identifier']}")["task"]
    return str(task["status"])


@pytest.mark.rule("R-04")
def test_the_same_verdict_again_changes_nothing(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for body, status in ((APPROVE, "approved"), (REJECT, "rejected")):
        proof = proven(world, gig, worker)
        path = f"{gig.path}/proofs/{proof['id']}"
        first = gig.owner.patch(path, body)
        assert (first["status"], first["previous_status"]) == (status, "pending")
        before = everything()
        again = gig.owner.patch(path, body)
        assert (again["status"], again["previous_status"], again["revised"]) == (
            status,
            status,
            False,
        )
        assert everything() == before
    assert verdicts(gig) == ["proof.approved", "proof.rejected"]


@pytest.mark.rule("R-04")
def test_an_approval_may_turn_into_a_rejection_which_is_final_once_the_task_is_back(
    world: World,
) -> None:
    gig = world.gig()
    worker, next_worker = world.worker(gig), world.worker(gig)
    proof = proven(world, gig, worker)
    path = f"{gig.path}/proofs/{proof['id']}"
    gig.owner.patch(path, APPROVE)
    turned = gig.owner.patch(path, REJECT)
    assert (turned["revised"], turned["previous_status"], turned["requeued"]) == (
        True,
        "approved",
        True,
    )
    assert status_of_task(gig, proof) == "queued"
    before = everything()
    gig.owner.call("PATCH", path, APPROVE).refused(409, "returned")
    assert everything() == before
    # Not for him again; the next one gets it.
    assert worker.post(f"{gig.path}/queue/poll")["tasks"] == []
    (task,) = next_worker.post(f"{gig.path}/queue/poll")["tasks"]
    assert task["id"] == proof["task_identifier"]


@pytest.mark.rule("R-04")
def test_a_rejection_that_kept_the_task_may_turn_into_an_approval(world: World) -> None:
    gig = world.gig()
    proof = proven(world, gig, world.worker(gig))
    path = f"{gig.path}/proofs/{proof['id']}"
    kept = gig.owner.patch(path, {**REJECT, "requeue": False})
    assert kept["requeued"] is False and status_of_task(gig, proof) == "rejected"
    turned = gig.owner.patch(path, APPROVE)
    assert (turned["status"], turned["revised"]) == ("approved", True)
    assert status_of_task(gig, proof) == "approved"
    read = gig.owner.get(path)["proof"]
    assert (read["rejection_tag"], read["feedback"]) == (None, "")


@pytest.mark.rule("R-04")
@pytest.mark.parametrize("requeue", [True, False])
def test_approval_and_rejection_at_once_leave_one_verdict_that_all_agree_on(
    world: World, requeue: bool
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    bodies = (APPROVE, {**REJECT, "requeue": requeue})
    told = 0
    for _ in range(10):
        proof = proven(world, gig, worker)
        path = f"{gig.path}/proofs/{proof['id']}"
        answers = at_once(2, lambda n, one=path: gig.owner.call("PATCH", one, bodies[n]))
        done = [answer.json for answer in answers if answer.status == 200]
        for answer in answers:
            if answer.status != 200:
                answer.refused(409, "returned")
        last = next((one for one in done if one["revised"]), done[0])
        assert gig.owner.get(path)["proof"]["status"] == last["status"]
        ends = {"approved": "approved", "rejected": "queued" if requeue else "rejected"}
        assert status_of_task(gig, proof) == ends[last["status"]]
        told += len(done)
        assert len(verdicts(gig)) == told


@pytest.mark.rule("R-01")
def test_one_task_has_one_live_proof_however_many_come_at_once(world: World) -> None:
    gig = world.gig()
    workers = [world.worker(gig) for _ in range(4)]
    path = f"{gig.path}/proofs"
    for held in (True, False, True, False):
        task_id = world.task(gig)
        mine = workers[0] if held else None
        if mine is not None:
            mine.post(f"{gig.path}/queue/poll", {"count": 1})
        answers = at_once(
            8,
            lambda n, mine=mine, task_id=task_id: (mine or workers[n % 4]).call(
                "POST", path, {"task_identifier": task_id}
            ),
        )
        assert sorted(answer.status for answer in answers) == [201] + [409] * 7
        for answer in answers:
            if answer.status == 409:
                assert answer.refused(409)["reason"] in ("already_proven", "taken")
        live = gig.owner.get(f"{path}?task={task_id}")["proofs"]
        assert [proof["status"] for proof in live] == ["pending"]


@pytest.mark.rule("R-01")
def test_a_proof_of_a_waiting_task_claims_it_and_one_of_a_foreign_task_is_refused(
    world: World,
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    proof = proven(world, gig, worker)
    assert gig.owner.get(f"{gig.path}/queue")["tasks"] == []
    held = world.task(gig)
    other.post(f"{gig.path}/queue/poll")
    before = everything()
    path = f"{gig.path}/proofs"
    for person, task_id, status, reason in (
        (worker, held, 409, "taken"),
        (other, proof["task_identifier"], 409, "taken"),
        (worker, proof["task_identifier"], 409, "already_proven"),
        (worker, "TASK_none", 404, "not_found"),
        (worker, world.gig().id, 404, "not_found"),
    ):
        person.call("POST", path, {"task_identifier": task_id}).refused(status, reason)
    decline = f"{gig.path}/queue/{proof['task_identifier']}/decline"
    worker.call("POST", decline).refused(409, "already_proven")
    assert everything()["proof"] == before["proof"] and everything()["task"] == before["task"]


@pytest.mark.rule("R-06")
def test_a_private_note_opens_to_the_reviewer_once_it_is_paid_out(world: World) -> None:
    gig = world.gig()
    worker, colleague = world.worker(gig), world.worker(gig)
    note = "the secret \N{KEY} \u202e'\"<b>"
    proof = proven(world, gig, worker, private_note=note)
    plain = proven(world, gig, worker)
    path = f"{gig.path}/proofs/{proof['id']}"

    def seen(person: Person) -> list[tuple[Any, bool]]:
        listed = person.get(f"{gig.path}/proofs")["proofs"]
        one = person.get(path)["proof"]
        both = [one, *(row for row in listed if row["id"] == proof["id"])]
        return [(row["private_note"], row["private_note_locked"]) for row in both]

    assert seen(worker) == [(note, True)] * 2
    for body in (None, APPROVE):
        if body is not None:
            gig.owner.patch(path, body)
        assert seen(gig.owner) == [(None, True)] * 2
        everywhere = (path, f"{gig.path}/proofs", f"{gig.path}/events")
        assert "the secret" not in "".join(gig.owner.call("GET", p).text for p in everywhere)
    read = gig.owner.get(f"{gig.path}/proofs/{plain['id']}")["proof"]
    assert (read["private_note"], read["private_note_locked"]) == ("", False)
    colleague.call("GET", path).refused(404)
    assert colleague.get(f"{gig.path}/proofs")["proofs"] == []
    paid = Proof.update(paid_out_at=1).where(Proof.id == proof["id"])
    db.write(paid.execute)
    assert seen(gig.owner) == seen(worker) == [(note, False)] * 2


# (what is added to a right proof, the field that is named)
TOO_MUCH: list[tuple[dict[str, Any], str]] = [
    ({"private_note": "x" * 8001}, "private_note"),
    ({"private_note": None}, "private_note"),
    ({"proofs": ["x"] * 1001}, "proofs"),
    ({"proofs": ["x" * 8001]}, "proofs.0"),
    ({"proofs": ["ok", ""]}, "proofs.1"),
    ({"proofs": ["ok", 5]}, "proofs.1"),
    ({"proofs": [["x"]]}, "proofs.0"),
    ({"proofs": "x"}, "proofs"),
    ({"proofs": None}, "proofs"),
    ({"proofs": ["\0"]}, "proofs.0"),
    ({"tags": ["x"] * 26}, "tags"),
    ({"tags": ["x" * 257]}, "tags.0"),
    ({"task_identifier": ""}, "task_identifier"),
    ({"task_identifier": "x" * 201}, "task_identifier"),
    ({"task_identifier": 5}, "task_identifier"),
    ({"mailbox_id": 5}, "mailbox_id"),
    ({"asking_price": 1}, "asking_price"),
    ({"status": "approved"}, "status"),
]


@pytest.mark.rule("R-01")
def test_a_proof_with_too_much_in_it_is_refused_by_name_and_the_task_stays_held(
    world: World,
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    right = {"task_identifier": world.task(gig)}
    worker.post(f"{gig.path}/queue/poll")
    before = everything()

    def refused(row: tuple[dict[str, Any], str]) -> None:
        told = worker.call("POST", f"{gig.path}/proofs", {**right, **row[0]}).refused(400)
        assert list(told["errors"]) == [row[1]]

    all_hold(TOO_MUCH, refused)
    assert everything() == before
    evidence = ["x" * 8000, *("é\u2028" for _ in range(999))]
    most = {"proofs": evidence, "private_note": "é" * 8000, "tags": ["t"] * 25}
    proof = worker.post(f"{gig.path}/proofs", {**right, **most})["proof"]
    assert (proof["proofs"], proof["private_note"]) == (evidence, "é" * 8000)


WRONG_VERDICTS: list[tuple[dict[str, Any], str]] = [
    ({}, "action"),
    ({"action": "pay"}, "action"),
    ({"action": "Approve"}, "action"),
    ({"action": None}, "action"),
    ({**APPROVE, "rejection_tag": "other"}, "rejection_tag"),
    ({**APPROVE, "amount": "3"}, "amount"),
    ({"action": "reject", "amount": "3"}, "amount"),
    ({"action": "reject", "rejection_tag": "ugly"}, "rejection_tag"),
    ({"action": "reject", "requeue": "yes"}, "requeue"),
    ({**APPROVE, "feedback": "x" * 8001}, "feedback"),
]


@pytest.mark.rule("R-04")
def test_a_verdict_that_is_none_is_refused_by_name(world: World) -> None:
    gig = world.gig()
    proof = proven(world, gig, world.worker(gig))
    before = everything()

    def refused(row: tuple[dict[str, Any], str]) -> None:
        told = gig.owner.call("PATCH", f"{gig.path}/proofs/{proof['id']}", row[0]).refused(400)
        assert list(told["errors"]) == [row[1]]

    all_hold(WRONG_VERDICTS, refused)
    assert everything() == before


@pytest.mark.rule("R-02")
def test_a_price_left_open_is_named_by_the_reviewer_or_is_the_gigs(world: World) -> None:
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    for amount, price, source in (("0.000001", "0.000001", "review"), (None, "2.5", "gig")):
        body = {"task_identifier": world.task(gig, price="tbd")}
        proof = worker.post(f"{gig.path}/proofs", body)["proof"]
        assert proof["locked_price"] is None and proof["price_pending"] is True
        path = f"{gig.path}/proofs/{proof['id']}"
        done = gig.owner.patch(path, {**APPROVE, "amount": amount})
        assert (str(done["locked_price"]), done["price_source"]) == (price, source)
        before = everything()
        gig.owner.call("PATCH", path, {**APPROVE, "amount": "9"}).refused(400)
        assert (
            gig.owner.patch(path, {**APPROVE, "amount": price})["locked_price"]
            == done["locked_price"]
        )
        assert everything() == before
