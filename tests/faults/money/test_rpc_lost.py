"""Answers of the node that are lost after it took a transaction, and a node that is long away."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import PotDeposited
from tests.faults.flow import Miner
from tests.faults.money import proxy as modes
from tests.faults.money.proxy import Proxy
from tests.faults.money.scene import LONG_SECONDS, PRICE_UNITS, Scene
from tests.processes import SQLITE, Layout, Starter
from tests.world import eventually

LAYOUTS = {"sqlite": SQLITE, "postgres": Layout("postgres", 1, 2, 1)}
ROUNDS = [pytest.param(2, id="2"), pytest.param(20, id="20", marks=pytest.mark.soak)]
# How the node is away, and how long: by the dev clock alone, or for real as well.
AWAY = [
    pytest.param("sqlite", modes.REFUSE, 0, id="sqlite-refuses"),
    pytest.param("postgres", modes.HANG, 0, id="postgres-hangs"),
    *(
        pytest.param(name, mode, 180, id=f"{name}-{mode}-minutes", marks=pytest.mark.soak)
        for name in LAYOUTS
        for mode in (modes.REFUSE, modes.HANG)
    ),
]


@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_what_was_sent_and_never_answered_is_paid_and_put_in_once(
    start_stack: Starter, chain: LocalChain, name: str, rounds: int
) -> None:
    with Proxy(chain.rpc_url) as proxy:
        stack = start_stack(LAYOUTS[name], chain, CHAIN_RPC_URL=proxy.url)
        scene = Scene(stack)
        proxy.mode = modes.LOSE_ANSWERS
        with Miner(stack):
            for number in range(1, rounds + 1):
                scene.approved()
                ends = [scene.settle(), scene.deposit("5")]
                for end in ends:
                    end()
                scene.wait_paid()
                assert scene.earned() == number * PRICE_UNITS
                assert len(scene.node.events(PotDeposited)) == 1 + number
        assert proxy.lost >= 2 * rounds
        proxy.mode = modes.PASS
        scene.check()


@pytest.mark.rule("H-13")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize(("name", "mode", "seconds"), AWAY)
def test_a_node_that_is_away_for_minutes_delays_money_and_nothing_else(
    start_stack: Starter, chain: LocalChain, name: str, mode: str, seconds: int
) -> None:
    with Proxy(chain.rpc_url) as proxy:
        stack = start_stack(
            LAYOUTS[name], chain, CHAIN_RPC_URL=proxy.url, CHAIN_TIMEOUT_SECONDS="2"
        )
        scene = Scene(stack, pot="500")
        # One payout is on its way, and its block comes while nobody can see it.
        with scene.node.not_mining():
            scene.approved()
            under_way = scene.settle()
            scene.wait_status("sent")
            scene.wait_pooled()
            proxy.mode = mode
            scene.node.mine(3)
        assert scene.earned() == PRICE_UNITS

        ends = _meanwhile(scene, seconds)

        assert scene.statuses()[0] == "sent"
        assert scene.events("payout.paid") == []
        proxy.mode = modes.PASS
        stack.advance(LONG_SECONDS)
        with Miner(stack):
            for end in [under_way, *ends]:
                end()
            scene.settle()()
            scene.wait_paid()
        assert (
            scene.earned() == len(stack.pages(scene.gig.owner, scene.gig, "proofs")) * PRICE_UNITS
        )
        scene.check()


def _meanwhile(scene: Scene, seconds: int) -> list[Callable[[], Any]]:
    """Work goes on while the node is away; answers how to wait for what was asked for."""
    until = time.monotonic() + seconds
    ends: list[Callable[[], Any]] = []
    for number in range(3):
        scene.approved()
        answer = scene.gig.owner.call(
            "POST", f"{scene.gig.path}/rollups", headers={"prefer": "wait=1"}
        )
        if answer.status == 202:
            ends.append(partial(_ended, scene, answer.headers["location"]))
        else:
            answer.refused(503, "chain_unavailable")
        scene.stack.call("GET", "/health").ok()
        if number < 2:
            scene.stack.advance(LONG_SECONDS)
    while time.monotonic() < until:
        scene.approved()
        time.sleep(5)
    return ends


def _ended(scene: Scene, location: str) -> None:
    """It ended, by having found no chain if not otherwise."""
    path = location.removeprefix("/api")
    told = eventually(
        lambda: (
            state if (state := scene.gig.owner.get(path))["status"] in ("done", "failed") else None
        ),
        120,
        f"{path} has ended",
    )
    assert told["status"] == "done" or told["error"]["reason"] == "chain_unavailable", told
