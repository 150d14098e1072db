"""Two workers did one task, because the first came back after his time: one of them is paid."""

from __future__ import annotations

import pytest

from engine import audit, clock, holds
from tests.engine.holding import TIMEOUT, act, claim, mailbox_id, told
from tests.world import World, eventually


@pytest.mark.case("F03")
@pytest.mark.rule("Q-07")
def test_of_two_who_hand_in_one_task_the_one_who_holds_it_is_paid(paying_world: World) -> None:
    gig = paying_world.gig(price="2.50", task_timeout=TIMEOUT)
    one, other = paying_world.worker(gig), paying_world.worker(gig)
    paying_world.fund(gig, "100")
    task_id = paying_world.task(gig)
    claim(gig, one)
    clock.advance(TIMEOUT + 1)
    holds.expire()
    assert claim(gig, other) == task_id

    for _ in range(2):
        act(gig, one, task_id, "proof").refused(410, "claim_lost")
    act(gig, other, task_id, "proof").ok()
    for proof in gig.owner.get(f"{gig.path}/proofs")["proofs"]:
        gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    rollups = eventually(lambda: gig.owner.post(f"{gig.path}/rollups")["rollups"])

    assert [rollup["mailbox_id"] for rollup in rollups] == [mailbox_id(other)]
    assert gig.owner.post(f"{gig.path}/rollups")["rollups"] == []
    for worker, units in ((one, 0), (other, 2_500_000)):
        address = worker.mailbox["wallet_address"]  # type: ignore[attr-defined]
        assert paying_world.usdc_units(address) == units
    # What he did in vain can be read, and is no proof.
    kinds = ("task.claimed", "task.expired", "proof.refused", "proof.submitted")
    trail = [(event["type"], event["data"]["mailbox_id"]) for event in told(gig, *kinds)]
    first, second = mailbox_id(one), mailbox_id(other)
    assert trail == [
        ("task.claimed", first),
        ("task.expired", first),
        ("task.claimed", second),
        ("proof.refused", first),
        ("proof.submitted", second),
    ]
    assert len(gig.owner.get(f"{gig.path}/proofs")["proofs"]) == 1
    assert audit.run().faults == []
