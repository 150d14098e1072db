"""Verdicts said again, revised and made final (R-04)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.scene import all_hold, everything
from tests.world import Gig, Person, World

APPROVE: dict[str, Any] = {"action": "approve"}
REJECT: dict[str, Any] = {"action": "reject"}
KEEP = {**REJECT, "requeue": False}
VERDICTS = ("proof.approved", "proof.rejected")


def prove(world: World, gig: Gig, worker: Person, task: Any = None, **more: Any) -> str:
    body = {"task_identifier": world.task(gig, **(task or {})), **more}
    proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    return proof_id


def events(gig: Gig, *kinds: str) -> list[Any]:
    told = gig.owner.get(f"{gig.path}/events?limit=200")["events"]
    return [event for event in told if event["type"] in kinds]


def read(gig: Gig, proof_id: str) -> Any:
    return gig.owner.get(f"{gig.path}/proofs/{proof_id}")["proof"]


def task_of(gig: Gig, proof_id: str) -> Any:
    task_id = read(gig, proof_id)["task_identifier"]
    return gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["status"]


# (a verdict, the next one, what that answers beside its status and whether it requeued, the task)
AGAIN: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], bool, str]] = [
    (APPROVE, {**APPROVE, "feedback": "Good."}, {"feedback": "Good."}, False, "approved"),
    ({**APPROVE, "feedback": "Good."}, APPROVE, {}, False, "approved"),
    (
        {**APPROVE, "feedback": "Good."},
        {**APPROVE, "feedback": ""},
        {"feedback": ""},
        False,
        "approved",
    ),
    (
        KEEP,
        {**KEEP, "rejection_tag": "duplicate"},
        {"rejection_tag": "duplicate"},
        False,
        "rejected",
    ),
    (KEEP, {**KEEP, "rejection_tag": "other"}, {}, False, "rejected"),
    # What is left out stays as it is, and is not the default of a first rejection.
    ({**KEEP, "feedback": "No."}, REJECT, {}, False, "rejected"),
    (KEEP, {**REJECT, "requeue": True}, {}, True, "queued"),
    (KEEP, {**REJECT, "requeue": True, "feedback": "No."}, {"feedback": "No."}, True, "queued"),
    ({**REJECT, "feedback": "No."}, {**REJECT, "requeue": True}, {}, True, "queued"),
]
FINAL: list[dict[str, Any]] = [
    {**REJECT, "feedback": "Else."},
    {**REJECT, "rejection_tag": "duplicate"},
    KEEP,
    APPROVE,
]


@pytest.mark.rule("R-04")
def test_a_verdict_said_again_records_what_is_new_in_it_and_nothing_else(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)

    def holds(row: tuple[Any, Any, dict[str, Any], bool, str]) -> None:
        first, second, new, requeued, task = row
        proof_id = prove(world, gig, worker)
        path = f"{gig.path}/proofs/{proof_id}"
        gig.owner.patch(path, first)
        before, state, told = read(gig, proof_id), everything(), len(events(gig, *VERDICTS))
        answer = gig.owner.patch(path, second)
        assert (answer["status"], answer["previous_status"]) == (before["status"],) * 2
        assert (answer["revised"], answer["requeued"]) == (bool(new), requeued)
        assert "requeue_error" not in answer
        assert task_of(gig, proof_id) == task
        after = read(gig, proof_id)
        assert {name: after[name] for name in new} == new
        assert len(events(gig, *VERDICTS)) == told + bool(new)
        if new:
            assert events(gig, *VERDICTS)[-1]["data"]["revised"] is True
        if not new and requeued == before["revision_blocked_by_requeue"]:
            assert everything() == state

    all_hold(AGAIN, holds)


@pytest.mark.rule("R-04")
def test_once_its_task_went_back_a_rejection_is_final_and_says_since_when(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    proof_id = prove(world, gig, worker)
    path = f"{gig.path}/proofs/{proof_id}"

    def revisable(proof: Any) -> tuple[Any, ...]:
        names = ("can_revise", "revision_blocked_by_rollup_id", "revision_blocked_by_requeue")
        return tuple(proof[name] for name in names)

    assert revisable(read(gig, proof_id)) == (False, None, False)
    gig.owner.patch(path, KEEP)
    kept = read(gig, proof_id)
    assert (*revisable(kept), kept["task_released_at"]) == (True, None, False, None)
    gig.owner.patch(path, {**REJECT, "requeue": True})
    final = read(gig, proof_id)
    assert revisable(final) == (False, None, True) and final["task_released_at"] is not None
    (listed,) = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert listed == final
    # These are the reviewer's.
    shown = worker.get(path)["proof"]
    hidden = {"can_revise", "task_released_at"} | {n for n in final if n.startswith("revision_")}
    assert hidden == final.keys() - shown.keys()
    before = everything()
    all_hold(FINAL, lambda body: gig.owner.call("PATCH", path, body).refused(409, "returned"))
    assert everything() == before


@pytest.mark.rule("R-04")
def test_a_rejection_holds_where_its_task_cannot_go_back_and_says_why(world: World) -> None:
    for end in ("closed", "cancelled"):
        gig = world.gig()
        proof_id = prove(world, gig, world.worker(gig))
        path = f"{gig.path}/proofs/{proof_id}"
        if end == "closed":
            gig.owner.patch(gig.path, {"status": "closed"})
        else:
            gig.owner.post(f"{gig.path}/cancel")
        answer = gig.owner.patch(path, REJECT)
        assert (answer["status"], answer["requeued"]) == ("rejected", False)
        assert f"gig is {end}" in answer["requeue_error"]
        assert task_of(gig, proof_id) == {"closed": "rejected"}.get(end, "cancelled")
        assert read(gig, proof_id)["can_revise"] is (end == "closed")
        if end == "cancelled":
            gig.owner.call("PATCH", path, APPROVE).refused(409, "returned")
            continue
        before = everything()
        again = gig.owner.patch(path, {**REJECT, "requeue": True})
        assert (again["requeued"], again["requeue_error"]) == (False, answer["requeue_error"])
        assert everything() == before
        gig.owner.patch(gig.path, {"status": "active"})
        assert gig.owner.patch(path, {**REJECT, "requeue": True})["requeued"] is True
        assert task_of(gig, proof_id) == "queued"


@pytest.mark.rule("R-04")
@pytest.mark.rule("S-01")
@pytest.mark.rule("A-01")
def test_a_task_kept_at_first_goes_back_where_it_came_from(world: World) -> None:
    gig = world.gig(distribution="queue_solo", max_claims_per_task=1)
    worker, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    (copy,) = worker.post(f"{gig.path}/queue/poll")["tasks"]
    body = {"task_identifier": copy["id"]}
    path = f"{gig.path}/proofs/{worker.post(f'{gig.path}/proofs', body)['proof']['id']}"
    for requeue, offered in ((False, 0), (True, 1), (True, 1)):
        answer = gig.owner.patch(path, {**REJECT, "requeue": requeue})
        assert answer["requeued"] is requeue
        assert len(gig.owner.get(f"{gig.path}/queue")["tasks"]) == offered
    (next_copy,) = other.post(f"{gig.path}/queue/poll")["tasks"]
    assert next_copy["source_task_id"] == copy["source_task_id"]

    assigned = world.gig()
    worker = world.worker(assigned)
    world.task(assigned, assign_to=worker.mailbox["id"])  # type: ignore[attr-defined]
    (task,) = worker.get(f"/mailboxes/{worker.mailbox['id']}/inbound")["tasks"]  # type: ignore[attr-defined]
    body = {"task_identifier": task["id"]}
    proof_id = worker.post(f"{assigned.path}/proofs", body)["proof"]["id"]
    assigned.owner.patch(f"{assigned.path}/proofs/{proof_id}", KEEP)
    back = assigned.owner.patch(f"{assigned.path}/proofs/{proof_id}", {**REJECT, "requeue": True})
    assert back["requeued"] and task_of(assigned, proof_id) == "unassigned"


@pytest.mark.rule("H-05")
@pytest.mark.rule("R-04")
def test_a_verdict_may_name_what_was_read_and_is_not_given_on_anything_else(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    proof_id = prove(world, gig, worker, proofs=["good"])
    path = f"{gig.path}/proofs/{proof_id}"
    tag = gig.owner.call("GET", path).headers["etag"]
    worker.post(f"{path}/withdraw")
    worker.patch(f"{path}/draft", {"proofs": ["bad"]})
    worker.post(f"{path}/submit")

    before = everything()
    refused = gig.owner.call("PATCH", path, APPROVE, headers={"if-match": tag})
    now = refused.refused(412, "precondition_failed")["etag"]
    assert now == gig.owner.call("GET", path).headers["etag"] != tag
    assert everything() == before
    done = gig.owner.call("PATCH", path, APPROVE, headers={"if-match": f"{tag}, {now}"})
    assert (done.ok()["status"], done.headers["etag"]) == ("approved", now)
