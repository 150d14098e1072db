"""A process dies between any two of: nonce, signature, bytes, broadcast, block, books, event."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import DepositOpened, DepositRefunded, PotDeposited
from tests.faults.flow import Miner
from tests.faults.money.dying import POINTS
from tests.faults.money.escrow import escrow_gig, submit, wait_states
from tests.faults.money.scene import LONG_SECONDS, PRICE_UNITS, Scene
from tests.processes import SQLITE, Layout, Stack, Starter
from tests.world import eventually

ROOT = Path(__file__).parents[3]
LAYOUTS = {"sqlite": SQLITE, "postgres": Layout("postgres", 1, 2, 1)}
# What a quick round dies at; each of the others is as likely to be where something is lost.
FEW = {
    "payout": ["committed", "broadcast", "event written"],
    "pot": ["broadcast"],
    "named": [("committed", "books committed")],
}
ALL = {
    "payout": list(POINTS),
    "pot": list(POINTS),
    "named": list(zip(POINTS, reversed(POINTS), strict=True)),
}
ROUNDS = [pytest.param(FEW, id="few"), pytest.param(ALL, id="all", marks=pytest.mark.soak)]


class Deadly:
    """A stack whose processes can be told where to die."""

    def __init__(self, start_stack: Starter, layout: Layout, chain: LocalChain) -> None:
        self.stack: Stack = start_stack(layout, chain)
        self.folder = self.stack.folder / "deadly"
        self.folder.mkdir()
        self.stack.environment["PYTHONPATH"] = str(ROOT)
        for process in self.stack.workers or self.stack.serves:
            process.program = [sys.executable, "-m", "tests.faults.money.dying", str(self.folder)]
        self.stack.restart()
        self.scene = Scene(self.stack)

    def die_at(self, point: str, begin: Callable[[], Any]) -> Any:
        """Begin something, let a process die of it at the point, and start that one again."""
        fired = self.folder / "fired"
        fired.unlink(missing_ok=True)
        (self.folder / "armed").write_text(point)
        begun = begin()
        eventually(fired.exists, 60, f"nobody came to {point}")
        if not all(process.running for process in self.stack.processes):
            self.stack.start()
        else:
            self.scene.revive()
        self.stack.advance(LONG_SECONDS)
        return begun


@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-05")
@pytest.mark.parametrize("points", ROUNDS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_process_that_dies_anywhere_in_a_payout_or_a_deposit_leaves_it_to_be_done_once(
    start_stack: Starter, chain: LocalChain, name: str, points: dict[str, Any]
) -> None:
    deadly = Deadly(start_stack, LAYOUTS[name], chain)
    scene = deadly.scene
    with Miner(deadly.stack):
        for number, point in enumerate(points["payout"], 1):
            scene.approved()
            print(f"payout dies at: {point}")
            deadly.die_at(point, scene.settle)
            scene.wait_paid()
            assert scene.earned() == number * PRICE_UNITS, point

        for number, point in enumerate(points["pot"], 1):
            print(f"pot deposit dies at: {point}")
            before = scene.available()
            ended = deadly.die_at(point, lambda: scene.deposit("10"))
            ended()
            assert scene.available() == before + 10, point
            assert len(scene.node.events(PotDeposited)) == 1 + number, point

        for number, (opening, refund) in enumerate(points["named"], 1):
            _named(deadly, number, opening, refund)
    scene.check()


def _named(deadly: Deadly, number: int, opening: str, refund: str) -> None:
    """A task's own deposit, and its way back, each with a death on the way."""
    scene, gig = deadly.scene, escrow_gig(deadly.scene)
    print(f"named deposit dies at: {opening}")
    deadly.die_at(opening, lambda: submit(scene, gig, "one"))
    wait_states(scene, gig, "open")
    assert len(scene.node.events(DepositOpened)) == number, opening

    print(f"refund dies at: {refund}")
    deadly.die_at(refund, lambda: scene.ask(f"{gig.path}/cancel", {}))
    wait_states(scene, gig, "refunded")
    assert len(scene.node.events(DepositRefunded)) == number, refund
    for told in ("escrow.opened", "escrow.refunded"):
        assert len(deadly.stack.events(gig, told)) == 1
