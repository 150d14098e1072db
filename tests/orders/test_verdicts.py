"""Who rules on a delivery, who reads it, and when its note opens; in shops that take no money."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, proofs
from tests.shop import Shop, shop
from tests.world import Person, World

WINDOW_SECONDS = 3600


@pytest.fixture
def place(world: World) -> Shop:
    return shop(world, review_timeout=WINDOW_SECONDS)


def proof(place: Shop, person: Person, proof_id: str) -> Any:
    return person.get(f"{place.path}/proofs/{proof_id}")["proof"]


def delivered(place: Shop, note: str = "the key") -> tuple[Person, str, str]:
    """(buyer, task id, proof id)"""
    buyer = place.buyer()
    task_id = place.order(buyer)
    return buyer, task_id, place.deliver(task_id, note)


@pytest.mark.rule("O-07")
@pytest.mark.rule("R-04")
def test_only_the_buyer_rules_on_his_order(place: Shop) -> None:
    buyer, task_id, proof_id = delivered(place)
    for action in ("approve", "reject"):
        place.rule(place.vendor, proof_id, action).refused(403, "not_permitted")
        place.rule(place.buyer(), proof_id, action).refused(404, "not_found")
        place.rule(place.world.person(), proof_id, action).refused(403, "not_joined")
    body = {"reviews": [{"proof_id": proof_id, "action": "approve"}]}
    for person, reason in ((place.vendor, "not_permitted"), (place.buyer(), "not_found")):
        told = person.post(f"{place.path}/proofs/bulk-review", body)
        assert [one["reason"] for one in told["results"]] == [reason]
    assert proof(place, buyer, proof_id)["status"] == "pending"
    told = buyer.post(f"{place.path}/proofs/bulk-review", body)
    assert (told["reviewed"], told["results"][0]["status"]) == (1, "approved")
    assert place.task(buyer, task_id)["status"] == "approved"


@pytest.mark.rule("R-06")
@pytest.mark.rule("O-06")
def test_a_free_orders_approval_is_final_and_opens_the_note(place: Shop) -> None:
    buyer, _, proof_id = delivered(place)
    before = proof(place, buyer, proof_id)
    assert (before["private_note"], before["private_note_locked"]) == (None, True)
    assert before["can_revise"] is False
    assert (
        place.rule(buyer, proof_id, "reject", rejection_tag="incomplete").ok()["revised"] is False
    )
    rejected = proof(place, buyer, proof_id)
    assert (rejected["can_revise"], rejected["private_note"]) == (True, None)
    assert place.rule(buyer, proof_id, "approve").ok()["revised"] is True
    after = proof(place, buyer, proof_id)
    assert (after["private_note"], after["private_note_locked"]) == ("the key", False)
    assert after["can_revise"] is False
    # The same again changes nothing; nothing else is taken.
    assert place.rule(buyer, proof_id, "approve").ok()["revised"] is False
    place.rule(buyer, proof_id, "reject").refused(409, "free_order_approved")
    place.rule(buyer, proof_id, "approve", feedback="Well").refused(409, "free_order_approved")
    assert proof(place, buyer, proof_id) == after


@pytest.mark.rule("O-07")
def test_a_rejection_is_revisable_until_the_vendor_delivers_again(place: Shop) -> None:
    buyer, task_id, first = delivered(place)
    place.rule(buyer, first, "reject", rejection_tag="low_quality", feedback="Longer.").ok()
    assert place.task(place.vendor, task_id)["status"] == "rejected"
    revised = place.rule(buyer, first, "reject", rejection_tag="incomplete").ok()
    assert (revised["revised"], revised["requeued"]) == (True, False)
    # The shop is closed to new orders only.
    place.vendor.patch(place.path, {"status": "closed"})
    body = {"task_identifier": task_id, "proofs": ["longer"]}
    second = place.vendor.post(f"{place.path}/proofs", body)["proof"]
    assert (second["resubmitted"], second["status"]) == (True, "pending")
    assert second["id"] != first
    for action in ("approve", "reject"):
        more = {} if action == "approve" else {"feedback": "else"}
        place.rule(buyer, first, action, **more).refused(409, "returned")
    old = proof(place, buyer, first)
    assert (old["can_revise"], old["revision_blocked_by_requeue"]) == (False, True)
    place.rule(buyer, second["id"]).ok()
    assert place.task(buyer, task_id)["status"] == "approved"


@pytest.mark.rule("O-07")
@pytest.mark.parametrize("amount", ["0", "1", "0.45"])
def test_no_verdict_names_an_amount(place: Shop, amount: str) -> None:
    buyer, _, proof_id = delivered(place)
    for _ in range(2):
        errors = place.rule(buyer, proof_id, "approve", amount=amount).refused(400)["errors"]
        assert list(errors) == ["amount"]
        place.rule(buyer, proof_id).ok()


@pytest.mark.rule("R-05")
def test_the_clock_approves_and_then_nobody_revises(place: Shop) -> None:
    buyer, task_id, proof_id = delivered(place)
    clock.advance(WINDOW_SECONDS)
    assert proofs.time_out() == 1
    for action in ("approve", "reject"):
        place.rule(buyer, proof_id, action).refused(409, "timeout_approved")
    read = proof(place, buyer, proof_id)
    assert (read["status"], read["private_note"]) == ("timeout_approved", "the key")
    assert read["can_revise"] is False
    assert place.task(buyer, task_id)["status"] == "approved"
    place.withdraw(buyer, task_id).refused(409, "already_approved")


@pytest.mark.rule("H-05")
def test_a_verdict_may_name_what_was_read(place: Shop) -> None:
    buyer, _, proof_id = delivered(place)
    path = f"{place.path}/proofs/{proof_id}"
    tag = buyer.call("GET", path).headers["etag"]
    stale = {"if-match": '"9"'}
    approve = {"action": "approve"}
    buyer.call("PATCH", path, approve, headers=stale).refused(412, "precondition_failed")
    # Before anybody else is told what stands there.
    place.vendor.call("PATCH", path, approve, headers=stale).refused(403, "not_permitted")
    place.buyer().call("PATCH", path, approve, headers=stale).refused(404, "not_found")
    buyer.call("PATCH", path, approve, headers={"if-match": tag}).ok()


@pytest.mark.rule("R-06")
@pytest.mark.rule("O-08")
def test_a_delivery_is_read_by_its_two_sides_and_nobody_else(place: Shop) -> None:
    buyer, task_id, proof_id = delivered(place)
    other, other_task, other_proof = delivered(place)
    drafted = place.order(buyer)
    body = {"task_identifier": drafted, "draft": True, "private_note": "not yet"}
    draft = place.vendor.post(f"{place.path}/proofs", body)["proof"]["id"]

    def ids(person: Person, query: str = "") -> set[str]:
        rows = person.get(f"{place.path}/proofs{query}")["proofs"]
        return {row["id"] for row in rows}

    assert ids(buyer) == ids(buyer, f"?task={task_id}") == {proof_id}
    assert ids(buyer, f"?task={other_task}") == set()
    assert ids(other) == ids(other, "?status=pending") == {other_proof}
    assert ids(place.buyer()) == set()
    assert ids(place.vendor) == {proof_id, other_proof, draft}
    for hidden in (other_proof, draft):
        buyer.call("GET", f"{place.path}/proofs/{hidden}").refused(404, "not_found")
    place.buyer().call("GET", f"{place.path}/proofs/{proof_id}").refused(404, "not_found")
    # The vendor reads his own, and is no reviewer of it.
    own = proof(place, place.vendor, proof_id)
    assert (own["private_note"], own["private_note_locked"]) == ("the key", True)
    assert "can_revise" not in own
    assert "can_revise" in proof(place, buyer, proof_id)
    (listed,) = buyer.get(f"{place.path}/proofs")["proofs"]
    assert listed["private_note"] is None and listed["can_revise"] is False
    shown = place.vendor.get(f"{place.path}/dashboard")["proofs"]
    assert {row["private_note"] for row in shown} == {"the key"}
    assert all("can_revise" not in row for row in shown)


@pytest.mark.rule("R-06")
def test_a_buyer_who_has_left_still_reads_rules_and_undoes(place: Shop) -> None:
    buyer, _, proof_id = delivered(place)
    second = place.order(buyer)
    mailbox_id = buyer.mailbox["id"]  # type: ignore[attr-defined]
    buyer.call("DELETE", f"{place.path}/mailboxes/{mailbox_id}").ok()
    assert proof(place, buyer, proof_id)["status"] == "pending"
    place.rule(buyer, proof_id).ok()
    assert proof(place, buyer, proof_id)["private_note"] == "the key"
    assert place.withdraw(buyer, second).ok()["state"] == "withdrawn"


@pytest.mark.rule("O-08")
def test_tags_are_the_buyers_and_names_are_each_ones_own(place: Shop) -> None:
    buyer, _, proof_id = delivered(place)
    path = f"{place.path}/proofs/{proof_id}"
    place.vendor.patch(f"{path}/tags", {"tags": ["mine"]})
    place.rule(buyer, proof_id).ok()
    answer = place.vendor.call("PATCH", f"{path}/tags", {"tags": ["late"]})
    answer.refused(409, "already_reviewed")
    buyer.patch(f"{path}/tags", {"tags": ["good"]})
    assert proof(place, place.vendor, proof_id)["tags"] == ["good"]
    for person, name in ((buyer, "my haiku"), (place.vendor, "number 7")):
        person.patch(f"{path}/alias", {"alias": name})
        assert proof(place, person, proof_id)["alias"] == name
    for what, body in (("tags", {"tags": []}), ("alias", {"alias": "x"})):
        place.buyer().call("PATCH", f"{path}/{what}", body).refused(404, "not_found")


@pytest.mark.rule("O-09")
def test_an_order_is_delivered_from_its_vendors_mailbox_alone(place: Shop) -> None:
    buyer, other = place.buyer(), place.buyer()
    draft, sent = place.draft(buyer), place.order(buyer)

    def tries(person: Person, task_id: str, **more: Any) -> Any:
        body = {"task_identifier": task_id, "proofs": ["x"], **more}
        return person.call("POST", f"{place.path}/proofs", body)

    for more in ({}, {"draft": True}):
        # Nobody learns of a draft order that is not his.
        tries(other, draft, **more).refused(404, "not_found")
        tries(other, "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ", **more).refused(404, "not_found")
        tries(other, sent, **more).refused(403, "not_permitted")
        tries(buyer, draft, **more).refused(403, "not_permitted")
        tries(buyer, sent, **more).refused(403, "not_permitted")
        tries(place.vendor, draft, **more).refused(409, "not_sent")
    made = tries(place.vendor, sent, draft=True).ok()
    assert "warning" not in made
    proof_id = made["proof"]["id"]
    place.vendor.patch(f"{place.path}/proofs/{proof_id}/draft", {"proofs": ["better"]})
    handed = place.vendor.post(f"{place.path}/proofs/{proof_id}/submit")
    assert "warning" not in handed and handed["proof"]["resubmitted"] is False
    tries(place.vendor, sent).refused(409, "already_proven")
    path = f"{place.path}/proofs/{proof_id}/withdraw"
    place.vendor.call("POST", path).refused(
        409, place.vendor.get(place.path)["gig"]["distribution"]
    )
    place.rule(buyer, proof_id).ok()
    tries(place.vendor, sent).refused(409, "already_proven")
