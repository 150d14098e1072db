"""Idempotency-Key with a share link's token (H-07, R-07)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from engine.db import db
from engine.models.access import StoredAnswer
from tests.contract.links import Link
from tests.contract.shares import Share, proofs_of, regenerate
from tests.world import World, at_once


@pytest.fixture
def two(world: World) -> Iterator[tuple[Link, Share, Share]]:
    link = Link.of(world)
    yield link, Share.of(link.worker), Share.of(link.colleague)


@pytest.mark.rule("H-07")
@pytest.mark.rule("R-07")
def test_a_key_belongs_to_the_token_that_it_came_with(two: tuple[Link, Share, Share]) -> None:
    link, mine, others = two
    first = mine.prove(link.task_id, "k-1", proofs=["done"])
    assert first.status == 201
    again = mine.prove(link.task_id, "k-1", proofs=["done"])
    assert (again.status, again.text) == (201, first.text)
    assert again.headers["idempotency-replayed"] == "true"
    mine.prove(link.task_id, "k-1", proofs=["other"]).refused(422, "idempotency_mismatch")
    # From another address it is the same link; another link is another one from the same address.
    elsewhere = link.world.app.test_client().post(
        "/api/public/submit-proof",
        json={"share_token": mine.token, "task_identifier": link.task_id, "proofs": ["done"]},
        headers={"idempotency-key": "k-1"},
        environ_overrides={"REMOTE_ADDR": "203.0.113.9"},
    )
    assert elsewhere.headers["idempotency-replayed"] == "true"
    task_id = link.world.task(link.gig)
    told = others.prove(task_id, "k-1")
    assert told.ok()["proof_id"] != first.json["proof_id"]
    assert "idempotency-replayed" not in told.headers
    with db.reading():
        kept = "".join(str(one.__data__) for one in StoredAnswer.select())
    assert mine.token not in kept and first.json["proof_id"] not in kept


@pytest.mark.rule("H-07")
@pytest.mark.rule("R-07")
def test_a_stored_answer_is_shown_to_no_token_that_was_replaced(
    two: tuple[Link, Share, Share],
) -> None:
    link, mine, _ = two
    mine.prove(link.task_id, "k-1").ok()
    regenerate(link.gig, link.worker).ok()
    mine.prove(link.task_id, "k-1").refused(404, "not_found")
    for answer in (mine.decline(link.task_id, "k-2"), mine.report(link.task_id, "k-3")):
        answer.refused(404, "not_found")


@pytest.mark.rule("H-07")
@pytest.mark.rule("R-07")
def test_a_keyed_proof_by_link_sent_sixteen_times_at_once_is_one(
    two: tuple[Link, Share, Share],
) -> None:
    link, mine, _ = two
    answers = at_once(16, lambda _: mine.prove(link.task_id, "k-1"))
    told = Counter(one.status for one in answers)
    assert set(told) <= {201, 409} and told[201] >= 1
    assert {one.json["reason"] for one in answers if one.status == 409} <= {"in_progress"}
    (proof,) = proofs_of(link.task_id)
    assert {one.json["proof_id"] for one in answers if one.status == 201} == {proof.id}
