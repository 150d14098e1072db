"""Blocks that are taken back under a payout and under a deposit."""

from __future__ import annotations

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import DepositOpened, DepositSettled, PaidOut, PotDeposited
from tests.faults.flow import Miner
from tests.faults.money.escrow import escrow_gig, states, submit, wait_states
from tests.faults.money.scene import LONG_SECONDS, PRICE_UNITS, Scene
from tests.processes import SQLITE, Layout, Starter
from tests.world import eventually

LAYOUTS = {"sqlite": SQLITE, "postgres": Layout("postgres", 1, 2, 1)}
# With one confirmation the last two are deeper than what was called final.
DEPTHS = [1, 3, 10]


@pytest.mark.case("F26")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-05")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_payout_and_a_deposit_that_a_reorg_takes_back_are_made_once_in_the_end(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack)
    node = scene.node
    for number, depth in enumerate(DEPTHS, 1):
        was_final = depth > 1
        before = scene.available()
        scene.approved()
        with node.not_mining():
            ends = [scene.settle(), scene.deposit("10")]
            eventually(lambda: _under_way(scene) == 2, 60, "both are sent")
            scene.mine(depth, confirmations=1)
            assert scene.earned() == number * PRICE_UNITS
            if was_final:
                for end in ends:
                    end()
                scene.wait_paid()
            assert len(_standing(scene, "payout.paid")) == number - (not was_final)
            assert len(node.events(PotDeposited)) == 1 + number

            node.reorg(depth)

            assert scene.earned() == (number - 1) * PRICE_UNITS
            assert len(node.events(PotDeposited)) == number
            if was_final:
                # Both are taken back although no block has come since.
                eventually(lambda: "sent" in scene.statuses(), 60, "it is not paid any more")
                assert not scene.all_paid()
                assert len(_standing(scene, "payout.paid")) == number - 1
                assert scene.available() < before + 10 - 2.5
        stack.advance(LONG_SECONDS)
        with Miner(stack):
            for end in ends:
                end()
            scene.wait_paid()
            eventually(
                lambda: scene.available() == before + 10 - 2.75,  # noqa: B023
                60,
                "the deposit is there again",
            )
        assert scene.earned() == number * PRICE_UNITS
        assert len(node.events(PaidOut)) == number
        assert len(node.events(PotDeposited)) == 1 + number
    assert len(scene.events("payout.taken_back")) == 2
    scene.check()


def _under_way(scene: Scene) -> int:
    """How many transactions of ours wait in the pool."""
    hashes = scene.stack.rows(
        "SELECT a.tx_hash FROM chain_attempt a JOIN chain_transaction t ON t.id = a.transaction_id "
        "WHERE t.status = 'sent'"
    )
    return sum(scene.node.waits(tx_hash) for (tx_hash,) in hashes)


def _standing(scene: Scene, kind: str) -> list[str]:
    """What was told and not taken back."""
    told = [event["subject"]["id"] for event in scene.events(kind)]
    for event in scene.events(kind.replace(".paid", ".taken_back")):
        told.remove(event["subject"]["id"])
    return told


@pytest.mark.case("F26")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("name", LAYOUTS)
def test_nothing_is_final_before_its_confirmations_whatever_is_taken_back_meanwhile(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain, CONFIRMATIONS="3")
    scene = Scene(stack)
    node = scene.node
    scene.approved()
    with node.not_mining():
        ends = [scene.settle(), scene.deposit("10")]
        eventually(lambda: _under_way(scene) == 2, 60, "both are sent")
        available = scene.available()
        for depth in (1, 2, 3):
            scene.mine(depth, confirmations=3)
            assert scene.earned() == PRICE_UNITS
            assert scene.statuses() == ["sent"]
            assert not scene.all_paid()
            assert scene.available() == available
            node.reorg(depth)
            assert scene.earned() == 0
            # It is sent again as it was.
            stack.advance(LONG_SECONDS)
            eventually(lambda: _under_way(scene) >= 2, 60, "both are sent again")
        scene.mine(3, confirmations=3)
        assert scene.statuses() == ["sent"]
        node.mine()
        scene.wait_paid()
        eventually(lambda: scene.available() == available + 10, 60, "the deposit is final")
        for end in ends:
            end()
    assert scene.earned() == PRICE_UNITS
    assert scene.events("payout.taken_back") == []
    assert len(node.events(PotDeposited)) == 2
    with Miner(stack, blocks=3):
        scene.check()


@pytest.mark.case("F26")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-07")
@pytest.mark.parametrize("depth", [3, pytest.param(10, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_named_deposit_is_opened_and_settled_once_though_a_reorg_takes_back_either(
    start_stack: Starter, chain: LocalChain, name: str, depth: int
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack)
    node, gig = scene.node, escrow_gig(scene)
    worker = stack.worker(gig)
    with Miner(stack):
        # The first one gives the contract its allowance, which stays.
        submit(scene, gig, "before")
        wait_states(scene, gig, "open")

    with node.not_mining():
        submit(scene, gig, "one")
        eventually(lambda: _under_way(scene) == 1, 60, "the deposit is sent")
        scene.mine(depth, confirmations=1)
        wait_states(scene, gig, "open", "open")
        node.reorg(depth)
        wait_states(scene, gig, "open", "planned")
        assert len(node.events(DepositOpened)) == 1
    with Miner(stack):
        stack.advance(LONG_SECONDS)
        wait_states(scene, gig, "open", "open")
    assert len(node.events(DepositOpened)) == 2
    assert len(stack.events(gig, "escrow.opened")) == 3
    assert len(stack.events(gig, "escrow.taken_back")) == 1

    tasks = worker.post(f"{gig.path}/queue/poll", {"count": 5})["tasks"]
    assert len(tasks) == 2
    for task in tasks:
        body = {"task_identifier": task["id"], "proofs": ["done"]}
        proof = worker.post(f"{gig.path}/proofs", body)["proof"]
        gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    with node.not_mining():
        end = scene.settle(gig)
        eventually(lambda: _under_way(scene) == 1, 60, "the settlement is sent")
        scene.mine(depth, confirmations=1)
        end()
        assert states(scene, gig) == ["settled", "settled"]
        node.reorg(depth)
        wait_states(scene, gig, "open", "open")
        assert node.events(DepositSettled) == []
        assert len(stack.events(gig, "payout.taken_back")) == 2
    with Miner(stack):
        stack.advance(LONG_SECONDS)
        wait_states(scene, gig, "settled", "settled")
    assert scene.earned(worker) == 2 * PRICE_UNITS
    assert len(node.events(DepositSettled)) == 2
    assert len(stack.events(gig, "payout.paid")) == 4
    scene.check()
