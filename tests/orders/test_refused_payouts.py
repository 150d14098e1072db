"""An approved order whose vendor the token will not pay: who is told, and how it can end (Y-04)."""

from __future__ import annotations

import pytest

from engine import clock, install, settlement
from engine.db import db
from engine.models.proof import Proof
from tests.engine.escrow_world import token
from tests.orders.test_disputes import resolve
from tests.orders.undoing import (
    DOLLAR,
    NET_UNITS,
    PRICE_UNITS,
    backend,
    bought,
    deposits,
    is_undone,
    news,
    place,
    rollups_of,
    row,
    told,
    units,
    until,
    world,
)
from tests.shop import Shop
from tests.world import Person, at_once, eventually

__all__ = ["backend", "place", "world"]

RETRY_SECONDS = 7 * 60 * 60
ROUNDS = 3


def payee(place: Shop) -> str:
    (mailbox,) = place.vendor.get("/mailboxes/mine")["mailboxes"]
    return str(mailbox["wallet_address"])


def earned(place: Shop) -> int:
    return install.treasury().usdc_units(payee(place))


def refused(place: Shop) -> tuple[Person, str, str]:
    """An approved order that its vendor cannot be paid for."""
    token(place.world, "blacklist", payee(place))
    buyer, task_id = bought(place)
    proof_id = place.deliver(task_id, note="the key")
    place.rule(buyer, proof_id).ok()
    (rollup,) = place.vendor.post(f"{place.path}/rollups")["rollups"]
    assert (rollup["status"], "blacklisted" in rollup["failure"]) == ("failed", True)
    return buyer, task_id, proof_id


@pytest.mark.rule("Y-04")
@pytest.mark.rule("O-11")
@pytest.mark.case("F25")
def test_both_sides_are_told_once_that_a_payout_is_refused_and_it_is_made_when_it_can_be(
    place: Shop,
) -> None:
    buyer, task_id, proof_id = refused(place)
    for person in (place.vendor, buyer):
        # Another try that is refused is no news.
        person.post(f"{place.path}/rollups")
        assert news(person, "payout.failed") == 1
        (seen,) = person.get(f"{place.path}/rollups")["rollups"]
        assert (seen["status"], "blacklisted" in seen["failure"]) == ("failed", True)
        place.withdraw(person, task_id).refused(409, "already_approved")
    assert buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]["private_note"] is None
    token(place.world, "unBlacklist", payee(place))
    clock.advance(RETRY_SECONDS)
    settlement.retry_stuck()
    eventually(lambda: earned(place) == NET_UNITS, 30)
    eventually(lambda: [one.status for one in rollups_of(task_id)] == ["paid"], 30)
    resolve(place.world, proof_id, "refund").refused(409, "not_reported")


@pytest.mark.rule("O-07")
@pytest.mark.rule("O-11")
@pytest.mark.case("F25")
def test_the_operator_gives_back_what_can_be_paid_to_nobody(place: Shop) -> None:
    buyer, task_id, proof_id = refused(place)
    resolve(place.world, proof_id, "pay").refused(409, "not_reported")
    done = resolve(place.world, proof_id, "refund").ok()
    assert (done["status"], done["task_status"]) == ("rejected", "undoing")
    until(task_id, "withdrawn")
    is_undone(place, buyer, task_id, "operator", proof_id)
    assert units(place, buyer) == 10 * DOLLAR
    (rollup,) = rollups_of(task_id)
    assert (rollup.status, rollup.gross_units, rollup.retry_at) == ("settled", 0, None)
    assert "operator" in str(rollup.failure)
    for person in (place.vendor, buyer):
        assert (news(person, "proof.resolved"), news(person, "order.withdrawn")) == (1, 1)
    assert buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]["private_note"] is None
    resolve(place.world, proof_id, "refund", "again").ok()
    assert len(told(place, "proof.resolved")) == 1
    # The vendor is paid nothing for it any more, and for the next one again.
    token(place.world, "unBlacklist", payee(place))
    assert place.vendor.post(f"{place.path}/rollups")["rollups"] == []
    place.publish(buyer, task_id, amount="0.50").ok()
    place.rule(buyer, place.deliver(task_id)).ok()
    place.vendor.post(f"{place.path}/rollups")
    assert earned(place) == NET_UNITS


@pytest.mark.rule("O-07")
@pytest.mark.rule("Y-03")
def test_of_another_try_and_the_operators_word_at_once_one_has_the_money(place: Shop) -> None:
    paid = 0
    for _ in range(ROUNDS):
        buyer, task_id, proof_id = refused(place)
        token(place.world, "unBlacklist", payee(place))
        before = earned(place)

        def act(
            number: int, buyer: Person = buyer, proof_id: str = proof_id
        ) -> tuple[int, str | None]:
            if number == 0:
                answer = resolve(place.world, proof_id, "refund")
            else:
                answer = buyer.call("POST", f"{place.path}/rollups")
            return answer.status, None if answer.status == 200 else answer.json["reason"]

        ruled, _ = at_once(2, act)
        until(task_id, "withdrawn", "approved")
        eventually(lambda: deposits(task_id)[0].status in ("settled", "refunded"), 30)  # noqa: B023
        if ruled[0] == 200:
            until(task_id, "withdrawn")
            assert (earned(place), units(place, buyer)) == (before, 10 * DOLLAR)
        else:
            assert ruled[1] in ("in_progress", "not_reported")
            assert (earned(place) - before, row(task_id).status) == (NET_UNITS, "approved")
            assert units(place, buyer) == 10 * DOLLAR - PRICE_UNITS
            paid += 1
    with db.reading():
        done = Proof.select().where(Proof.paid_out_at.is_null(False)).count()
    assert done == paid
