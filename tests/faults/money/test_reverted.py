"""A payout that the contract refuses after the estimate had passed: mined, with status 0."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import PaidOut
from tests.faults.flow import Miner
from tests.faults.money.scene import LONG_SECONDS, PRICE_UNITS, Scene
from tests.processes import SQLITE, Layout, Starter
from tests.world import eventually

LAYOUTS = {"sqlite": SQLITE, "postgres": Layout("postgres", 1, 2, 1)}
NO_CAP = 2**256 - 1
WORKERS = 5


@dataclass(frozen=True)
class Cause:
    """What stops the payout after its estimate, the word that tells it, and what ends it."""

    comes: Callable[[Scene], None]
    word: str
    goes: Callable[[Scene], None]


def _nothing(_: Scene) -> None:
    """The next estimate sees it."""


CAUSES = {
    "treasury-paused": Cause(
        lambda scene: scene.node.guardian("pause"),
        "paused until",
        lambda scene: scene.node.guardian("resume"),
    ),
    "token-paused": Cause(
        lambda scene: scene.node.token("pause"),
        "Pausable: paused",
        lambda scene: scene.node.token("unpause"),
    ),
    "blacklisted": Cause(
        lambda scene: scene.node.token("blacklist", scene.address()),
        "blacklisted",
        lambda scene: scene.node.token("unBlacklist", scene.address()),
    ),
    "over-the-cap": Cause(
        lambda scene: scene.node.owner("setDailyCap", 1),
        "today's cap",
        lambda scene: scene.node.owner("setDailyCap", NO_CAP),
    ),
    # A first transfer to an address takes more gas than the next ones.
    "out-of-gas": Cause(
        lambda scene: scene.node.empty(*(scene.address(one) for one in scene.people)),
        "gas",
        _nothing,
    ),
}


@pytest.mark.case("F27")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("name", LAYOUTS)
def test_mined_but_reverted_is_failed_with_its_reason_and_paid_once_when_that_is_gone(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack, WORKERS, pot="200")
    with Miner(stack):
        for worker in scene.people:
            scene.approved(worker)
        scene.settle()()
    for number, (name_of_cause, cause) in enumerate(CAUSES.items(), 1):
        print(name_of_cause)
        _round(scene, number, cause)
    scene.check()


def _round(scene: Scene, number: int, cause: Cause) -> None:
    """The payout of five workers, mined behind what stops it, and again once that is gone."""
    node = scene.node
    free, earned, told = scene.available(), scene.earned(), len(scene.events("payout.failed"))
    for worker in scene.people:
        scene.approved(worker)
    with node.not_mining():
        end = scene.settle()
        tx_hash = eventually(lambda: _in_the_pool(scene), 60, "it is in the pool")
        cause.comes(scene)
        assert node.receipt(tx_hash).status == 0
        node.mine()
        end()

    had = scene.earned()
    assert had in (earned, 0)
    statuses = scene.statuses()
    assert statuses.count("failed") == WORKERS
    assert statuses.count("paid") == number * WORKERS
    failed = scene.events("payout.failed")[told:]
    assert len(failed) == WORKERS
    for event in failed:
        assert "mined but" in event["data"]["failure"]
        assert cause.word in event["data"]["failure"]
    assert len(scene.events("payout.paid")) == number * WORKERS
    assert not scene.all_paid()
    # It is owed still: the pot keeps it aside.
    assert scene.available() == free - WORKERS * 2.75
    scene.check_money()

    cause.goes(scene)
    scene.stack.advance(LONG_SECONDS)
    with Miner(scene.stack):
        scene.wait_paid()
    assert scene.earned() == had + PRICE_UNITS
    assert len(node.events(PaidOut)) == (1 + number) * WORKERS


def _in_the_pool(scene: Scene) -> str | None:
    rows = scene.stack.rows(
        "SELECT a.tx_hash FROM chain_attempt a JOIN chain_transaction t ON t.id = a.transaction_id "
        "WHERE t.status = 'sent' AND t.intent LIKE 'payout:%'"
    )
    return next((tx_hash for (tx_hash,) in rows if scene.node.waits(tx_hash)), None)
