"""Tags that both sides of a proof see, names for oneself alone, and who reads which proof."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, proofs
from tests.contract.scene import everything
from tests.contract.test_verdicts import APPROVE, KEEP, events, prove, read
from tests.world import World


@pytest.mark.rule("R-04")
def test_a_proof_is_tagged_by_its_owner_always_and_by_its_submitter_until_it_is_decided(
    world: World,
) -> None:
    gig = world.gig()
    worker, colleague = world.worker(gig), world.worker(gig)
    proof_id = prove(world, gig, worker, tags=["first"])
    path = f"{gig.path}/proofs/{proof_id}/tags"
    for person, given in ((worker, ["a", "b"]), (worker, ["a", "b"]), (gig.owner, [])):
        assert person.patch(path, {"tags": given}) == {
            "success": True,
            "id": proof_id,
            "tags": given,
        }
        assert read(gig, proof_id)["tags"] == worker.get(f"{gig.path}/proofs")["proofs"][0]["tags"]
    told = [event["data"] for event in events(gig, "proof.changed")]
    assert [(one["from"], one["to"]) for one in told] == [(["first"], ["a", "b"]), (["a", "b"], [])]
    before = everything()
    colleague.call("PATCH", path, {"tags": ["x"]}).refused(404)
    colleague.call("PATCH", path.replace("tags", "alias"), {"alias": "x"}).refused(404)
    for wrong in ({}, {"tags": None}, {"tags": ["x"] * 26}, {"tags": [""]}, {"tags": "x"}):
        worker.call("PATCH", path, wrong).refused(400)
    assert everything() == before
    for verdict in (KEEP, APPROVE):
        gig.owner.patch(f"{gig.path}/proofs/{proof_id}", verdict)
        worker.call("PATCH", path, {"tags": ["x"]}).refused(409, "already_reviewed")
        gig.owner.patch(path, {"tags": [verdict["action"]]})
        assert read(gig, proof_id)["tags"] == [verdict["action"]]


@pytest.mark.rule("T-09")
def test_a_name_for_a_proof_is_shown_to_whoever_gave_it(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    proof_id = prove(world, gig, worker)
    path = f"{gig.path}/proofs/{proof_id}"

    def names() -> list[Any]:
        found = [(p, p.get(path)["proof"]["alias"]) for p in (gig.owner, worker)]
        for person, name in found:
            assert [one["alias"] for one in person.get(f"{gig.path}/proofs")["proofs"]] == [name]
        return [name for _, name in found]

    told = len(gig.owner.get(f"{gig.path}/events?limit=200")["events"])
    assert names() == [None, None]
    for person, alias, shown in (
        (worker, "mine", [None, "mine"]),
        (gig.owner, "theirs", ["theirs", "mine"]),
        (worker, "n" * 200, ["theirs", "n" * 200]),
        (gig.owner, None, [None, "n" * 200]),
        (gig.owner, None, [None, "n" * 200]),
    ):
        answer = person.patch(f"{path}/alias", {"alias": alias})
        assert answer == {"success": True, "id": proof_id, "alias": alias}
        assert names() == shown
    assert len(gig.owner.get(f"{gig.path}/events?limit=200")["events"]) == told
    before = everything()
    for wrong in ({}, {"alias": ""}, {"alias": "n" * 201}, {"alias": 5}):
        worker.call("PATCH", f"{path}/alias", wrong).refused(400)
    assert everything() == before


@pytest.mark.rule("R-03")
def test_a_draft_is_listed_read_tagged_and_named_by_its_submitter_alone(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    draft = prove(world, gig, worker, draft=True, private_note="mine")
    sent = prove(world, gig, worker)
    path = f"{gig.path}/proofs"
    seen = worker.get(f"{path}/{draft}")["proof"]
    assert (seen["status"], seen["submitted_at"], seen["timeout_at"]) == ("draft", None, None)
    assert (seen["private_note"], seen["resubmitted"], seen["price_pending"]) == (
        "mine",
        False,
        True,
    )
    told = len(gig.owner.get(f"{gig.path}/events?limit=200")["events"])
    worker.patch(f"{path}/{draft}/tags", {"tags": ["x"]})
    worker.patch(f"{path}/{draft}/alias", {"alias": "later"})
    for query, his in (
        ("", {draft, sent}),
        ("?status=draft", {draft}),
        ("?status=pending", {sent}),
    ):
        assert {one["id"] for one in worker.get(path + query)["proofs"]} == his
        assert {one["id"] for one in gig.owner.get(path + query)["proofs"]} == his - {draft}
    task = f"?task={seen['task_identifier']}"
    assert gig.owner.get(path + task)["proofs"] == []
    assert [one["alias"] for one in worker.get(path + task)["proofs"]] == ["later"]
    before = everything()
    for method, end, body in (
        ("GET", "", None),
        ("PATCH", "", APPROVE),
        ("PATCH", "/tags", {"tags": []}),
        ("PATCH", "/alias", {"alias": "x"}),
        ("POST", "/report", {}),
    ):
        gig.owner.call(method, f"{path}/{draft}{end}", body).refused(404)
    assert everything() == before
    board = gig.owner.get(f"{gig.path}/dashboard")
    assert [one["id"] for one in board["proofs"]] == [sent]
    assert board["counts"]["proofs"]["pending"] == 1 and "draft" not in board["counts"]["proofs"]
    assert draft not in gig.owner.call("GET", f"{gig.path}/export.csv?what=proofs").text
    assert len(gig.owner.get(f"{gig.path}/events?limit=200")["events"]) == told


@pytest.mark.rule("R-05")
def test_proofs_are_listed_by_every_status(world: World) -> None:
    gig = world.gig(review_timeout=60)
    worker = world.worker(gig)
    ended = [prove(world, gig, worker) for _ in range(2)]
    clock.advance(61)
    assert proofs.time_out() == 2
    gig.owner.post(f"{gig.path}/proofs/{ended[1]}/report", {})
    approved, rejected, pending = (prove(world, gig, worker) for _ in range(3))
    gig.owner.patch(f"{gig.path}/proofs/{approved}", APPROVE)
    gig.owner.patch(f"{gig.path}/proofs/{rejected}", KEEP)
    of = {"timeout_approved": ended[0], "reported": ended[1], "approved": approved}
    of |= {"rejected": rejected, "pending": pending}
    for person in (gig.owner, worker):
        for status, proof_id in of.items():
            (one,) = person.get(f"{gig.path}/proofs?status={status}")["proofs"]
            assert (one["id"], one["status"]) == (proof_id, status)
        assert person.get(f"{gig.path}/proofs?status=draft")["proofs"] == []
        person.call("GET", f"{gig.path}/proofs?status=paid").refused(400)
