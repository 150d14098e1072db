"""What may be done with a task that was for nobody, that all have a copy of, or that is done."""

from __future__ import annotations

from typing import Any

import pytest

from tests.world import Gig, Person, World


def status(gig: Gig, task_id: str) -> str:
    return str(gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["status"])


def refusals(gig: Gig, worker: Person, task_id: str) -> dict[str, Any]:
    """What owner and worker are refused, by what they try."""
    task, queued = f"{gig.path}/tasks/{task_id}", f"{gig.path}/queue/{task_id}"
    proof = {"task_identifier": task_id, "proofs": ["x"]}
    tries: list[tuple[Person, str, str, Any]] = [
        (worker, "GET", task, None),
        (worker, "POST", f"{gig.path}/proofs", proof),
        (worker, "POST", f"{queued}/violation", {"violation": "bad"}),
        (gig.owner, "PATCH", f"{task}/price", {"price": "3.00"}),
        (gig.owner, "PATCH", f"{task}/private-details", {"private_details": "p"}),
        (gig.owner, "POST", f"{task}/recycle", {}),
        (gig.owner, "DELETE", queued, None),
        (
            gig.owner,
            "POST",
            f"{task}/assign",
            {"assign_to": worker.mailbox["id"]},  # type: ignore[attr-defined]
        ),
    ]
    found = {}
    for who, method, path, body in tries:
        answer = who.call(method, path, body)
        if answer.status >= 300:
            what = "read" if path == task else path.rpartition("/")[2]
            found["delete" if method == "DELETE" else what] = answer.json["reason"]
    return found


@pytest.mark.rule("U-04")
@pytest.mark.rule("A-01")
def test_what_was_dropped_is_its_owners_to_give_or_to_delete(world: World) -> None:
    gig = world.gig(distribution="round_robin", webhook_daily_spend="2.50")
    given, deleted = (world.send(gig).ok()["message_id"] for _ in range(2))
    worker = world.worker(gig)
    worker.call("GET", f"{gig.path}/tasks/{given}").refused(404)
    proof = {"task_identifier": given, "proofs": ["x"]}
    worker.call("POST", f"{gig.path}/proofs", proof).refused(404)
    counts = gig.owner.get(f"{gig.path}/dashboard")["counts"]
    assert (counts["tasks"]["dropped"], counts["queued"]) == (2, 0)
    gig.owner.call("DELETE", f"{gig.path}/queue/{deleted}").ok()
    gig.owner.call("DELETE", f"{gig.path}/queue/{deleted}").refused(404)
    body = {"assign_to": worker.mailbox["id"]}  # type: ignore[attr-defined]
    gig.owner.post(f"{gig.path}/tasks/{given}/assign", body)
    worker.post(f"{gig.path}/proofs", proof)
    assert (status(gig, given), status(gig, deleted)) == ("submitted", "cancelled")
    # None of it was the token's to spend, which is left whole.
    spent = [world.send(gig).ok()["status"] for _ in range(2)]
    assert spent == ["forwarded", "draft"]


@pytest.mark.rule("U-01")
def test_a_task_that_all_have_a_copy_of_is_nobodys_any_more(world: World) -> None:
    gig = world.gig(distribution="free_for_all")
    worker = world.worker(gig)
    sent = world.send(gig).ok()
    assert refusals(gig, worker, sent["message_id"]) == {
        "read": "not_found",
        "proofs": "template",
        "violation": "not_found",
        "price": "already_claimed",
        "private-details": "template",
        "recycle": "not_held",
        "delete": "template",
        "assign": "solo_task",
    }
    assert status(gig, sent["message_id"]) == "forwarded"
    (copy,) = sent["message_ids"]
    gig.owner.patch(f"{gig.path}/tasks/{copy}/price", {"price": "3.00"})
    proof = {"task_identifier": copy, "proofs": ["x"]}
    assert worker.post(f"{gig.path}/proofs", proof)["proof"]["locked_price"] == 3


@pytest.mark.rule("I-02")
@pytest.mark.rule("M-06")
def test_what_is_completed_stays_and_counts_as_done(world: World) -> None:
    gig = world.gig(distribution="incoming", price=0)
    worker = world.worker(gig)
    task_id = world.task(gig, title="Water the plants")
    for verb, body in (("start", {}), ("complete", {"response": "They are wet."})):
        (item,) = worker.get("/v1/incoming?includeAccepted=true")
        headers = {"if-match": item["etag"], "idempotency-key": f"{task_id} {verb}"}
        worker.call("POST", f"/v1/incoming/{item['id']}/{verb}", body, headers=headers).ok()
    assert refusals(gig, worker, task_id) == {
        "proofs": "incoming",
        "violation": "already_completed",
        "price": "already_claimed",
        "recycle": "not_held",
        "delete": "already_completed",
        "assign": "already_completed",
    }
    assert status(gig, task_id) == "completed"
    (row,) = gig.owner.get(f"{gig.path}/mailboxes")["mailboxes"]
    assert (row["tasks_received"], row["proofs_submitted"], row["response_rate"]) == (1, 0, 1)


@pytest.mark.rule("I-04")
def test_what_waits_to_be_routed_is_shown_to_its_owner_alone(world: World) -> None:
    gig = world.gig(distribution="incoming")
    worker = world.worker(gig)
    path = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    worker.patch(path, {"paused": True})
    assert world.send(gig, title="Water the plants").ok()["status"] == "waiting"
    assert len(gig.owner.get(f"{gig.path}/queue")["tasks"]) == 1
    assert worker.get(f"{gig.path}/queue")["tasks"] == []
