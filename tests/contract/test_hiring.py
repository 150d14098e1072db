"""Hiring for a high-value task, call by call: free applications, all rejected, one real job."""

from __future__ import annotations

from typing import Any

import pytest

from engine import audit
from tests.world import Gig, Person, World

APPLICANTS = 3
NOT_SELECTED = {"action": "reject", "rejection_tag": "not_selected", "requeue": False}
BRIEF = "The real brief: https://example.com/spec"
WANTS = {"count": 1, "tags": ["type:interested"]}


def _place(worker: Person) -> str:
    found: str = worker.mailbox["id"]  # type: ignore[attr-defined]
    return found


def _gig(world: World, distribution: str) -> Gig:
    """Gated: who joins is looked at first, and may show what he has done in his notes."""
    most = {"max_claims_per_task": APPLICANTS} if distribution == "queue_solo" else {}
    gig = world.gig(distribution=distribution, requires_approval=True, review_timeout=-1, **most)
    world.fund(gig, "600")
    return gig


def _joined(world: World, gig: Gig) -> Person:
    worker = world.worker(gig, notes="https://example.com/portfolio")
    worker.call("POST", f"{gig.path}/queue/poll", WANTS).refused(403, "mailbox_inactive")
    gig.owner.patch(f"{gig.path}/mailboxes/{_place(worker)}", {"status": "active"})
    return worker


def _apply(gig: Gig, worker: Person) -> str:
    (task,) = worker.post(f"{gig.path}/queue/poll", WANTS)["tasks"]
    assert (task["price"], task["price_tbd"], task["tags"]) == (0, False, ["type:interested"])
    body = {"task_identifier": task["id"], "proofs": ["https://example.com/sample"]}
    proof = worker.post(f"{gig.path}/proofs", body)["proof"]
    assert (proof["status"], proof["locked_price"], proof["price_pending"]) == ("pending", 0, False)
    proof_id: str = proof["id"]
    return proof_id


def _settle(gig: Gig) -> list[dict[str, Any]]:
    rollups: list[dict[str, Any]] = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    return rollups


@pytest.mark.rule("R-04")
@pytest.mark.rule("A-01")
@pytest.mark.rule("T-09")
@pytest.mark.rule("S-01")
@pytest.mark.parametrize("distribution", ["queue", "queue_solo"])
def test_a_high_value_task_goes_to_the_best_of_free_applications(
    paying_world: World, distribution: str
) -> None:
    world, gig = paying_world, _gig(paying_world, distribution)
    applicants = [_joined(world, gig) for _ in range(APPLICANTS)]
    winner, loser, late = applicants[0], applicants[1], _joined(world, gig)

    # 1. Free application tasks: one with so many copies, or so many.
    for _ in range(1 if distribution == "queue_solo" else APPLICANTS):
        sent = world.send(gig, "Show us a sample.", price=0, tags="type:interested").ok()
        assert sent["status"] == "queued"

    # 2. A proof that costs nothing from each. The next who comes finds no place.
    proofs = {_apply(gig, worker): worker for worker in applicants}
    assert late.post(f"{gig.path}/queue/poll", WANTS)["tasks"] == []
    pending = gig.owner.get(f"{gig.path}/proofs?status=pending")["proofs"]
    assert [proof["id"] for proof in pending] == list(proofs)

    # 3. All are rejected, the winner's too; no application comes back to be done again.
    for proof_id, worker in proofs.items():
        path = f"{gig.path}/proofs/{proof_id}"
        done = gig.owner.patch(path, NOT_SELECTED)
        assert (done["status"], done["requeued"]) == ("rejected", False)
        assert worker.get(path)["proof"]["rejection_tag"] == "not_selected"
    for worker in (*applicants, late):
        assert worker.post(f"{gig.path}/queue/poll", WANTS)["tasks"] == []
    # A settlement clears them, and none is looked at again.
    cleared = _settle(gig)
    assert sorted(i for one in cleared for i in one["proof_ids"]) == sorted(proofs)
    assert {(one["status"], one["gross_amount"]) for one in cleared} == {("settled", 0)}
    assert _settle(gig) == []
    more = {**NOT_SELECTED, "feedback": "Another word."}
    change = gig.owner.call("PATCH", f"{gig.path}/proofs/{next(iter(proofs))}", more)
    change.refused(409, "in_rollup")

    # 4. The real job, for the one who was chosen; the brief is his alone.
    job = world.send(gig, "A big job.", price=500, assign_to=winner.email).ok()
    assert (job["status"], job["mailbox_id"]) == ("assigned", _place(winner))
    path = f"{gig.path}/tasks/{job['message_id']}"
    gig.owner.patch(f"{path}/private-details", {"private_details": BRIEF})
    for worker in (loser, late):
        assert worker.post(f"{gig.path}/queue/poll", {"count": 20})["tasks"] == []
        worker.call("GET", path).refused(404)
        link = f"{gig.path}/queue/{job['message_id']}/claim"
        worker.call("POST", link, {}).refused(409, "assigned_elsewhere")
        assert BRIEF not in worker.call("GET", f"{gig.path}/queue").text
    inbound = winner.get(f"/mailboxes/{_place(winner)}/inbound?status=claimed")["tasks"]
    assert [(t["id"], t["private_details"]) for t in inbound] == [(job["message_id"], BRIEF)]

    # Done, approved and paid: exactly once, to the cent, and to nobody else.
    body = {"task_identifier": job["message_id"], "proofs": ["https://example.com/done"]}
    proof = winner.post(f"{gig.path}/proofs", body)["proof"]
    assert proof["locked_price"] == 500
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    (paid,) = _settle(gig)
    assert (paid["status"], paid["paid_proof_ids"]) == ("paid", [proof["id"]])
    assert (paid["net_amount"], paid["platform_fee"]) == (500, 50)
    assert world.usdc_units(paid["wallet_address"]) == 500_000_000
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 50
    for worker in applicants[1:]:
        assert world.usdc_units(worker.mailbox["wallet_address"]) == 0  # type: ignore[attr-defined]
    assert audit.run().faults == []
