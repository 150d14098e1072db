"""Amounts of before there was a limit, and sums that no column holds, stop nothing (H-09)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import cancellation
from engine.db import db
from engine.models.gig import Gig as GigRow
from engine.models.task import Task
from engine.rules import money
from tests.engine.escrow_world import approve, escrow_gig, fine, prove, take, token
from tests.engine.test_cancellation import cancel, fund_from
from tests.world import Gig, World

DOLLAR = money.UNITS_PER_DOLLAR
# What a column holds.
MOST = 2**63 - 1


def held(world: World, gig: Gig, count: int) -> list[str]:
    """Tasks in a new worker's hands."""
    worker = world.worker(gig)
    gig.worker = worker  # type: ignore[attr-defined]
    for _ in range(count):
        world.task(gig)
    return [take(gig, worker)["id"] for _ in range(count)]


def price(task_ids: list[str], units: int) -> None:
    """As tasks that were sent and taken at that price."""
    sets: dict[str, Any] = {"price_units": units, "held_price_units": units}
    db.write(lambda: Task.update(**sets).where(Task.id.in_(task_ids)).execute())


@pytest.mark.rule("G-08")
@pytest.mark.rule("H-09")
def test_what_a_gig_may_owe_is_counted_to_the_unit_however_much_it_is(world: World) -> None:
    gig = world.gig(price="1")
    ids = held(world, gig, 4)
    price(ids[:2], MOST)
    price(ids[2:], 1_234_567)
    prove(gig, gig.worker, ids[0])  # type: ignore[attr-defined]
    with db.reading():
        row = GigRow.get(GigRow.id == gig.id)
        gross = 2 * MOST + 2 * 1_234_567
        assert cancellation.kept_aside_units(row, 0) == gross
        assert cancellation.kept_aside_units(row, 1000) == gross + gross // 10


@pytest.mark.rule("G-08")
@pytest.mark.rule("H-09")
def test_a_gig_that_can_never_pay_what_it_owes_is_settled_and_cancelled_all_the_same(
    paying_world: World,
) -> None:
    world = paying_world
    gig = world.gig(price="1")
    funder = fund_from(world, gig, 10, "5")
    ids = held(world, gig, 3)
    price(ids, MOST)
    proofs = [prove(gig, gig.worker, one) for one in ids[:2]]  # type: ignore[attr-defined]
    for proof_id in proofs:
        approve(gig, proof_id)
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 5
    gig.owner.get(f"{gig.path}/dashboard")
    short = gig.owner.call("POST", f"{gig.path}/rollups").refused(400, "pot_short")
    assert short["needed"] > 2 * MOST // DOLLAR
    answer = cancel(gig)
    assert (answer["refunds"], answer["kept_funds"]) == ([], 5)
    fine()
    # Once it is rejected for good, everything goes back.
    for proof_id in proofs:
        body = {"action": "reject", "requeue": False}
        gig.owner.patch(f"{gig.path}/proofs/{proof_id}", body)
    gig.worker.post(f"{gig.path}/queue/{ids[2]}/decline")  # type: ignore[attr-defined]
    gig.owner.post(f"{gig.path}/rollups")
    assert [row["amount"] for row in cancel(gig)["refunds"]] == [5]
    assert world.usdc_units(funder) == 10 * DOLLAR
    fine()


@pytest.mark.rule("Y-07")
@pytest.mark.rule("H-09")
def test_a_task_that_costs_more_than_can_be_deposited_is_refused_and_not_tried_for_ever(
    paying_world: World,
) -> None:
    world = paying_world
    gig = escrow_gig(world, dollars=1, price="2")
    world.send(gig, "x", external_id="a").refused(402, "insufficient_funds")
    with db.reading():
        waiting = Task.get(Task.gig_id == gig.id)
    price([waiting.id], MOST)
    db.write(
        lambda: (
            GigRow.update(price_units=MOST, webhook_daily_spend_units=MOST)
            .where(GigRow.id == gig.id)
            .execute()
        )
    )
    token(world, "mint", gig.wallet, 5 * DOLLAR)  # type: ignore[attr-defined]
    for external_id in ("a", "b"):
        told = world.send(gig, "x", external_id=external_id).refused(400, "invalid")
        assert "1000000000" in told["errors"]["price"]
    world.send(gig, "x", external_id="c", price="3").ok()
    fine()


@pytest.mark.rule("H-09")
@pytest.mark.rule("G-04")
def test_a_days_sum_that_no_column_holds_stops_nothing(world: World) -> None:
    gig = world.gig(price="1")
    db.write(
        lambda: GigRow.update(webhook_daily_spend_units=MOST).where(GigRow.id == gig.id).execute()
    )
    for _ in range(3):
        assert world.send(gig, "x", price="1000000000").ok()["status"] == "queued"
    price([world.task(gig)], MOST)
    # What was sent before the day's count began is part of it.
    db.write(lambda: db.rows("DELETE FROM counter"))
    assert world.send(gig, "x", price="1000000000").ok()["status"] in ("queued", "draft")
    gig.owner.patch(gig.path, {"webhook_daily_spend": "1000000000"})
    assert world.send(gig, "x", price="1").ok()["status"] == "draft"
