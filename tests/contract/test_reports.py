"""Disputing what the end of the review time has approved (R-05)."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest

from engine import clock, proofs
from tests.contract.scene import all_hold, everything
from tests.contract.test_verdicts import APPROVE, KEEP, REJECT, events, prove, read, task_of
from tests.world import Gig, Person, World, at_once


def timed_out(world: World, gig: Gig, worker: Person, **more: Any) -> str:
    proof_id = prove(world, gig, worker, **more)
    clock.advance(61)
    assert proofs.time_out() == 1
    return proof_id


@pytest.mark.rule("R-05")
def test_a_reported_proof_is_shown_to_both_sides_and_may_be_approved_after_all(
    world: World,
) -> None:
    gig = world.gig(review_timeout=60)
    worker = world.worker(gig)
    proof_id = timed_out(world, gig, worker)
    path = f"{gig.path}/proofs/{proof_id}"
    assert read(gig, proof_id)["reported_at"] is None
    answer = gig.owner.post(f"{path}/report", {"reason": "Nobody looked."})["proof"]
    assert answer == read(gig, proof_id)
    for seen in (answer, worker.get(path)["proof"]):
        assert (seen["status"], seen["reported_by"]) == ("reported", "client")
        assert (seen["report_reason"], seen["reported_at"] is None) == ("Nobody looked.", False)
    assert (answer["can_revise"], task_of(gig, proof_id)) == (False, "approved")
    before = everything()
    again = gig.owner.post(f"{path}/report", {"reason": "Something else."})["proof"]
    assert again == answer
    for body, reason in ((REJECT, "reported"), (KEEP, "reported")):
        gig.owner.call("PATCH", path, body).refused(409, reason)
    assert everything() == before
    (told,) = events(gig, "proof.reported")
    assert told["data"]["reason"] == "Nobody looked." and told["subject"]["id"] == proof_id
    assert told in worker.get(f"{gig.path}/events?limit=200")["events"]

    done = gig.owner.patch(path, {**APPROVE, "feedback": "Fine after all."})
    assert (done["status"], done["previous_status"], done["revised"]) == (
        "approved",
        "reported",
        True,
    )
    after = read(gig, proof_id)
    assert (after["status"], after["can_revise"]) == ("approved", False)
    gig.owner.call("PATCH", path, REJECT).refused(409, "dispute_over")
    assert after["report_reason"] == "Nobody looked."
    assert [event["data"]["auto"] for event in events(gig, "proof.approved")] == [True, False]
    gig.owner.call("POST", f"{path}/report", {}).refused(409, "not_reportable")


@pytest.mark.rule("R-05")
def test_only_what_the_clock_approved_is_reported_and_by_the_owner_alone(world: World) -> None:
    gig = world.gig(review_timeout=60)
    worker = world.worker(gig)
    ended = timed_out(world, gig, worker)
    pending, approved, rejected = (prove(world, gig, worker) for _ in range(3))
    gig.owner.patch(f"{gig.path}/proofs/{approved}", APPROVE)
    gig.owner.patch(f"{gig.path}/proofs/{rejected}", KEEP)
    stranger, elsewhere = world.person(), world.gig()
    before = everything()

    def refused(row: tuple[Person, str, Any, int, str]) -> None:
        person, proof_id, body, status, reason = row
        path = f"{gig.path}/proofs/{proof_id}/report"
        person.call("POST", path, body).refused(status, reason)

    all_hold(
        [
            (gig.owner, pending, {}, 409, "not_reportable"),
            (gig.owner, approved, {}, 409, "not_reportable"),
            (gig.owner, rejected, {}, 409, "not_reportable"),
            (gig.owner, "PROOF_none", {}, 404, "not_found"),
            (gig.owner, ended, {"reason": "x" * 2001}, 400, "invalid"),
            (gig.owner, ended, {"reason": 5}, 400, "invalid"),
            (worker, ended, {}, 403, "not_permitted"),
            (stranger, ended, {}, 403, "not_permitted"),
            (elsewhere.owner, ended, {}, 403, "not_permitted"),
        ],
        refused,
    )
    assert everything() == before
    gig.owner.post(f"{gig.path}/proofs/{ended}/report", {"reason": "é" * 2000})


@pytest.mark.rule("R-05")
@pytest.mark.rule("G-07")
@pytest.mark.rule("T-07")
def test_a_reported_proof_is_counted_listed_and_exported_as_what_it_is(world: World) -> None:
    gig = world.gig(review_timeout=60)
    worker = world.worker(gig)
    proof_id = timed_out(world, gig, worker)
    gig.owner.post(f"{gig.path}/proofs/{proof_id}/report", {})
    board = gig.owner.get(f"{gig.path}/dashboard")
    assert [(one["id"], one["status"]) for one in board["proofs"]] == [(proof_id, "reported")]
    assert board["counts"]["proofs"]["reported"] == 1
    export = gig.owner.call("GET", f"{gig.path}/export.csv?what=proofs").text
    (row,) = csv.DictReader(io.StringIO(export))
    assert row["status"] == "reported"


@pytest.mark.rule("R-05")
def test_many_reports_at_once_are_one(world: World) -> None:
    gig = world.gig(review_timeout=60)
    worker = world.worker(gig)
    proof_id = timed_out(world, gig, worker)
    path = f"{gig.path}/proofs/{proof_id}/report"
    answers = at_once(6, lambda n: gig.owner.post(path, {"reason": f"{n}"})["proof"])
    assert len({answer["report_reason"] for answer in answers}) == 1
    assert len(events(gig, "proof.reported")) == 1
