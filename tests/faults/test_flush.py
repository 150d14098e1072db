"""The broker forgets everything; the rows do not."""

from __future__ import annotations

import random
import threading

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Flow, Miner
from tests.processes import Layout, Starter
from tests.services import Redis

FLUSHES = 30


@pytest.mark.rule("H-08")
def test_a_broker_that_is_emptied_again_and_again_costs_time_and_no_work(
    start_stack: Starter, chain: LocalChain, redis: Redis
) -> None:
    seed = random.SystemRandom().randrange(10**9)
    dice = random.Random(seed)
    stack = start_stack(Layout("postgres", 1, 2, 1), chain)
    flow = Flow(stack, seed)

    with Miner(stack), flow:
        for _ in range(FLUSHES):
            threading.Event().wait(dice.uniform(0.01, 0.3))
            redis.flush_all()
        flow.finish()
    flow.check()
