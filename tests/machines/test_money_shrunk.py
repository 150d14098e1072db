"""Sequences that the machine of `test_money.py` found, each as short as it can be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine import audit, gig_keys
from tests.machines import checks, healing
from tests.machines.scene import Scene, scene


@pytest.fixture(params=["sqlite", "postgres"])
def shrunk(anvil: None, request: pytest.FixtureRequest) -> Iterator[Scene]:
    with scene(request.getfixturevalue(request.param)) as made:
        yield made


def _carry_on(shrunk: Scene) -> None:
    for _ in range(3):
        shrunk.driver.step_all()
        shrunk.node.mine(3)
        assert shrunk.driver.reconcile()


@pytest.mark.rule("Y-05")
@pytest.mark.case("F26")
def test_the_only_pot_may_be_short_after_a_deep_reorg_and_the_books_are_still_right(
    shrunk: Scene,
) -> None:
    place = shrunk.open_gig(escrow=False, min_payout_units=0)
    shrunk.fill(place, 500)
    shrunk.send(place, 1_000_000)
    _carry_on(shrunk)
    (proof_id,) = shrunk.prove(place, place.workers[0])
    shrunk.verdict(proof_id, "approve")
    shrunk.settle(place)
    shrunk.driver.step_all()
    # Deeper than final: the deposit is gone, and what was set aside of it is still promised.
    assert shrunk.driver.reorg(10, returned=False)
    shrunk.node.mine(2)
    report = audit.run()
    assert report.faults == []
    assert report.warnings == [
        f"pot {gig_keys.key(place.gig.id)} is short of 1100000 for what it owes; deposit that much"
    ]
    shrunk.reorganised = True
    healing.heal(shrunk)
    healing.until_quiet(shrunk)
    checks.in_the_end(shrunk)


@pytest.mark.rule("Y-07")
@pytest.mark.rule("Y-03")
def test_a_worker_is_paid_although_the_deposit_of_his_task_was_taken_back_and_then_refused(
    shrunk: Scene,
) -> None:
    place = shrunk.open_gig(escrow=True, min_payout_units=0)
    shrunk.send(place, 1_000_000)
    _carry_on(shrunk)
    (proof_id,) = shrunk.prove(place, place.workers[0])
    shrunk.verdict(proof_id, "approve")
    # Deeper than final; when the same bytes are sent again the fee is no longer that of the terms.
    assert shrunk.driver.reorg(9, returned=False)
    shrunk.node.set_fee(5000)
    healing.heal(shrunk)
    healing.until_quiet(shrunk)
    checks.in_the_end(shrunk)
