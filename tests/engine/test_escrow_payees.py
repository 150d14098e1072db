"""Who is paid from a task's own deposit whose terms name nobody (Y-07, M-04)."""

from __future__ import annotations

import pytest

from engine.chain.client import new_key
from tests.engine.escrow_world import approve, ended, gig, prove, take, token, world
from tests.world import Gig, World

__all__ = ["gig", "world"]


@pytest.mark.rule("Y-04")
@pytest.mark.rule("M-04")
@pytest.mark.case("F25")
def test_a_worker_whom_the_token_refuses_names_another_address_and_is_paid_there(
    world: World, gig: Gig
) -> None:
    worker = world.worker(gig)
    first, then = worker.mailbox["wallet_address"], new_key()[1]  # type: ignore[attr-defined]
    token(world, "blacklist", first)
    world.task(gig)
    ended(gig, "open")
    approve(gig, prove(gig, worker, take(gig, worker)["id"]))
    (rollup,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert (rollup["status"], rollup["wallet_address"]) == ("failed", first)
    path = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    worker.patch(path, {"wallet_address": then})
    (rollup,) = gig.owner.post(f"{gig.path}/rollups")["rollups"]
    assert (rollup["status"], rollup["wallet_address"]) == ("paid", then)
    ended(gig, "settled")
    assert world.usdc_units(then) > 0
