"""SIGKILL of everything that is ours, at any moment of a busy gig."""

from __future__ import annotations

import random
import time

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Flow, Miner
from tests.processes import SQLITE, Layout, Starter

LAYOUTS = {"sqlite": SQLITE, "postgres": Layout("postgres", 1, 2, 1)}
KILLS = [
    pytest.param(3, id="3-kills"),
    pytest.param(30, id="30-kills", marks=pytest.mark.soak),
]


@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_whatever_is_killed_when_every_approved_proof_is_paid_exactly_once(
    start_stack: Starter, chain: LocalChain, name: str, kills: int
) -> None:
    seed = random.SystemRandom().randrange(10**9)
    dice = random.Random(seed)
    print("seed", seed)
    stack = start_stack(LAYOUTS[name], chain)
    flow = Flow(stack, seed)

    with Miner(stack), flow:
        for _ in range(kills):
            time.sleep(dice.uniform(0.3, 3))
            stack.restart()
        flow.finish()
    flow.check()
