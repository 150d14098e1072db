"""What an approval pays, and when a price that was left open is settled (R-02)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, proofs
from tests.contract.scene import all_hold, everything
from tests.contract.test_verdicts import APPROVE, KEEP, events, prove, read
from tests.world import World

# (the task's price, what is asked, the amount, what is paid or None for 400, where it comes from)
PRICES: list[tuple[str | None, str | None, str | None, str | None, str]] = [
    (None, None, None, "2.5", "gig"),
    ("4", None, None, "4", "task"),
    ("4", None, "4", None, ""),
    ("4", None, "5", None, ""),
    ("tbd", None, None, "2.5", "gig"),
    ("tbd", None, "7.25", "7.25", "review"),
    ("tbd", None, "0", "0", "review"),
    ("tbd", "6", None, "2.5", "gig"),
    ("tbd", "6", "6", "6", "worker"),
    ("tbd", "6", "5.99", "5.99", "review"),
    ("4", "6", None, "4", "task"),
    ("4", "6", "6.000000", "6", "worker"),
    ("4", "6", "5", None, ""),
    ("4", "1", "1", "1", "worker"),
    (None, "6", "6", "6", "worker"),
    (None, "6", "4", None, ""),
]


@pytest.mark.rule("R-02")
def test_an_approval_pays_what_is_locked_or_the_gigs_price_or_what_is_agreed(world: World) -> None:
    gig = world.gig(price="2.50", allow_price_offers=True)
    worker = world.worker(gig)

    def holds(row: tuple[str | None, str | None, str | None, str | None, str]) -> None:
        price, asking, amount, pays, source = row
        task = {} if price is None else {"price": price}
        proof_id = prove(world, gig, worker, task, asking_price=asking)
        path = f"{gig.path}/proofs/{proof_id}"
        body = {**APPROVE, "amount": amount}
        if pays is None:
            before = everything()
            told = gig.owner.call("PATCH", path, body).refused(400)
            assert list(told["errors"]) == ["amount"] and everything() == before
            return
        answer = gig.owner.patch(path, body)
        assert (str(answer["locked_price"]), answer["price_source"]) == (pays, source)
        assert str(events(gig, "proof.approved")[-1]["data"]["amount"]) == pays
        before = everything()
        for again in (APPROVE, body, {**APPROVE, "amount": pays}):
            told = gig.owner.patch(path, again)
            assert (str(told["locked_price"]), told["revised"]) == (pays, False)
        gig.owner.call("PATCH", path, {**APPROVE, "amount": "9.99"}).refused(400)
        assert everything() == before

    all_hold(PRICES, holds)


@pytest.mark.rule("R-02")
@pytest.mark.rule("R-04")
def test_the_asking_price_may_be_agreed_to_later_and_a_rejection_takes_that_back(
    world: World,
) -> None:
    gig = world.gig(price="2.50", allow_price_offers=True)
    proof_id = prove(world, gig, world.worker(gig), asking_price="6")
    path = f"{gig.path}/proofs/{proof_id}"

    def paid(body: dict[str, Any]) -> tuple[str, str, bool]:
        answer = gig.owner.patch(path, body)
        return str(answer["locked_price"]), answer["price_source"], answer["revised"]

    assert paid(APPROVE) == ("2.5", "gig", False)
    assert paid({**APPROVE, "amount": 6}) == ("6", "worker", True)
    assert paid(APPROVE) == ("6", "worker", False)
    assert paid(KEEP) == ("2.5", "gig", True)
    assert paid(APPROVE) == ("2.5", "gig", True)


@pytest.mark.rule("R-02")
@pytest.mark.rule("R-05")
def test_a_price_to_be_decided_is_settled_once_by_whoever_comes_first(world: World) -> None:
    gig = world.gig(price="2.50", review_timeout=60, allow_price_offers=True)
    worker = world.worker(gig)
    named, timed, agreed = (
        prove(world, gig, worker, {"price": "tbd"}, asking_price=6) for _ in range(3)
    )
    price = f"{gig.path}/tasks/{read(gig, named)['task_identifier']}/price"
    assert gig.owner.patch(price, {"price": 4})["proof_updated"] is True
    assert gig.owner.patch(price, {"price": 5})["proof_updated"] is False
    gig.owner.patch(f"{gig.path}/proofs/{agreed}", {**APPROVE, "amount": 6})
    clock.advance(61)
    assert proofs.time_out() == 2
    told = {
        one: (read(gig, one)["locked_price"], read(gig, one)["price_source"])
        for one in (named, timed, agreed)
    }
    assert told == {named: (4, "task"), timed: (pytest.approx(2.5), "gig"), agreed: (6, "worker")}
    for one in told:
        price = f"{gig.path}/tasks/{read(gig, one)['task_identifier']}/price"
        gig.owner.call("PATCH", price, {"price": 9}).refused(409, "already_claimed")
