"""Tokens, guardians, fees and empty tanks that stand between a worker and his money."""

from __future__ import annotations

from typing import Any

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import DepositOpened, PaidOut
from tests.faults.flow import Miner
from tests.faults.money.escrow import escrow_gig, states, submit
from tests.faults.money.scene import LONG_SECONDS, PRICE_UNITS, Scene
from tests.processes import SQLITE, Layout, Starter
from tests.world import eventually

LAYOUTS = {"sqlite": SQLITE, "postgres": Layout("postgres", 1, 2, 1)}
WORKERS = 5
MANY_SECONDS = 24 * 3600
NEW_FEE_BPS = 2000


def _transactions(scene: Scene) -> int:
    ((count,),) = scene.stack.rows(
        "SELECT COUNT(*) FROM chain_transaction WHERE intent LIKE 'payout:%'"
    )
    return int(count)


@pytest.mark.case("F25")
@pytest.mark.rule("Y-04")
@pytest.mark.parametrize("name", LAYOUTS)
def test_one_who_cannot_be_paid_holds_up_nobody_and_a_pause_loses_nothing(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack, WORKERS)
    node, third = scene.node, scene.people[2]
    others = [worker for worker in scene.people if worker is not third]
    node.token("blacklist", scene.address(third))
    free = scene.available()
    with Miner(stack):
        for worker in scene.people:
            scene.approved(worker)
        scene.settle()()

        assert [scene.earned(worker) for worker in others] == [PRICE_UNITS] * 4
        (held,) = [one for one in scene.rollups() if one["status"] != "paid"]
        assert (held["status"], held["wallet_address"]) == ("failed", scene.address(third))
        (failed,) = scene.events("payout.failed")
        assert failed["data"]["rollup_id"] == held["id"]
        assert "blacklisted" in failed["data"]["failure"]
        assert scene.available() == free - WORKERS * 2.75

        # The whole token is paused: nothing is lost, nothing called paid, no gas burnt on tries.
        node.token("pause")
        for worker in others:
            scene.approved(worker)
        sent = _transactions(scene)
        scene.settle()()
        assert scene.statuses().count("failed") == WORKERS
        for _ in range(3):
            before = _failures(scene)
            stack.advance(MANY_SECONDS)
            eventually(lambda: _failures(scene) > before, 60, "it was tried again")  # noqa: B023
            # Once for each rollup in the time that a retry and the day's settlement are due.
            eventually(lambda: _quiet(scene), 60, "and it is quiet again")
            assert _failures(scene) <= before + 3 * WORKERS
        assert _transactions(scene) == sent
        assert len(scene.events("payout.paid")) == 4
        scene.check_money()

        node.token("unpause")
        stack.advance(MANY_SECONDS)
        eventually(lambda: scene.statuses().count("paid") == 8, 120, "all others are paid")
        assert [scene.earned(worker) for worker in others] == [2 * PRICE_UNITS] * 4
        assert scene.earned(third) == 0

        # The guardian stops all payouts; after that the third has another address.
        node.guardian("pause")
        scene.approved(others[0])
        scene.settle()()
        assert scene.statuses().count("failed") == 2
        new_wallet = third.post("/wallets", {"label": "new"})["wallet"]["evm_address"]
        mailbox_id = third.mailbox["id"]  # type: ignore[attr-defined]
        third.patch(f"{scene.gig.path}/mailboxes/{mailbox_id}", {"wallet_address": new_wallet})
        node.guardian("resume")
        stack.advance(MANY_SECONDS)
        scene.wait_paid()
    assert node.treasury.usdc_units(new_wallet) == PRICE_UNITS
    assert scene.earned(third) == 0
    assert scene.earned(others[0]) == 3 * PRICE_UNITS
    assert len(node.events(PaidOut)) == 10
    scene.check()


def _failures(scene: Scene) -> int:
    ((count,),) = scene.stack.rows("SELECT SUM(failures) FROM rollup")
    return int(count)


def _quiet(scene: Scene) -> bool:
    """No settlement is at it, and none is due."""
    unfinished = "status NOT IN ('done', 'failed')"
    return scene.stack.rows(f"SELECT id FROM command WHERE {unfinished}") == []


@pytest.mark.case("F25")
@pytest.mark.rule("Y-01")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_fee_that_moves_on_the_way_is_taken_from_the_pot_and_never_from_the_worker(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    # Two payouts at the old rate are all that it holds.
    scene = Scene(stack, pot="5.50")
    node = scene.node
    scene.approved()
    with node.not_mining():
        end = scene.settle()
        eventually(lambda: "sent" in scene.statuses(), 60, "it is sent")
        eventually(lambda: node.chain.nonce(node.operator, "pending") == 1, 60, "it waits")
        node.owner("setFeeBps", NEW_FEE_BPS)
        node.mine()
        end()
    (paid,) = node.events(PaidOut)
    assert (paid.gross_units, paid.fee_units) == (PRICE_UNITS, PRICE_UNITS // 5)  # type: ignore[attr-defined]
    assert scene.earned() == PRICE_UNITS
    assert _fee(scene) == 0.5
    assert scene.available() == 2.5
    scene.check()

    # A reorg takes both back; then it is paid at the old rate.
    with node.not_mining():
        node.reorg(node.head() - paid.block_number + 1)
        eventually(lambda: scene.events("payout.taken_back"), 60, "it is taken back")
        assert _fee(scene) == 0.25
        assert scene.audit()["faults"] == []
    stack.advance(LONG_SECONDS)
    with Miner(stack):
        scene.wait_paid()
    assert _fee(scene) == 0.25
    assert scene.available() == 2.75
    scene.check()

    # Now the pot is short of the new fee; nothing is paid in part.
    node.owner("setFeeBps", NEW_FEE_BPS)
    scene.approved()
    answer = scene.gig.owner.call("POST", f"{scene.gig.path}/rollups")
    assert answer.refused(400, "pot_short")["needed"] == 3
    with Miner(stack):
        scene.deposit("1")()
        scene.settle()()
    assert scene.earned() == 2 * PRICE_UNITS
    scene.check()


def _fee(scene: Scene) -> float:
    """What the only rollup is said to have cost."""
    (rollup,) = scene.rollups()
    return float(rollup["platform_fee"])


@pytest.mark.case("F25")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-01")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_pot_that_a_new_fee_leaves_short_pays_in_full_once_it_is_filled(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack, pot="2.75")
    node = scene.node
    scene.approved()
    with node.not_mining():
        end = scene.settle()
        eventually(lambda: node.chain.nonce(node.operator, "pending") == 1, 60, "it waits")
        node.owner("setFeeBps", NEW_FEE_BPS)
        node.mine()
        end()
    assert scene.statuses() == ["failed"]
    assert "pot holds" in scene.events("payout.failed")[0]["data"]["failure"]
    assert scene.earned() == 0
    scene.check_money()
    with Miner(stack):
        scene.deposit("0.25")()
        stack.advance(MANY_SECONDS)
        scene.wait_paid()
    assert scene.earned() == PRICE_UNITS
    scene.check()


@pytest.mark.case("F25")
@pytest.mark.rule("Y-07")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_fee_that_moves_before_the_named_deposit_takes_nothing_and_the_next_try_asks_for_it(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack)
    node = scene.node
    gig = escrow_gig(scene)
    with Miner(stack):
        submit(scene, gig, "first")
        eventually(lambda: states(scene, gig) == ["open"], 60, "the first is funded")
    with node.not_mining():
        submit(scene, gig, "second")
        eventually(lambda: _deposit_waits(scene), 60, "its deposit is in the pool")
        node.owner("setFeeBps", NEW_FEE_BPS)
        node.mine()
        eventually(lambda: stack.events(gig, "task.not_funded"), 60, "it is not funded")
    (told,) = stack.events(gig, "task.not_funded")
    assert told["data"]["reason"] == "fee_moved"
    assert len(node.events(DepositOpened)) == 1
    with Miner(stack):
        submit(scene, gig, "second")
        eventually(lambda: states(scene, gig).count("open") == 2, 60, "it is funded after all")
    assert [event.amount_units for event in node.events(DepositOpened)] == [2_750_000, 3_000_000]  # type: ignore[attr-defined]
    assert states(scene, gig) == ["open", "abandoned", "open"]
    scene.check()


def _deposit_waits(scene: Scene) -> bool:
    rows: list[tuple[Any, ...]] = scene.stack.rows(
        "SELECT a.tx_hash FROM chain_attempt a JOIN chain_transaction t ON t.id = a.transaction_id "
        "WHERE t.status = 'sent' AND t.intent LIKE 'escrow:%'"
    )
    return any(scene.node.waits(tx_hash) for (tx_hash,) in rows)


@pytest.mark.case("F25")
@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-05")
@pytest.mark.parametrize("name", LAYOUTS)
def test_an_operator_without_gas_pays_once_he_has_some_and_gifts_are_nobodys(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain)
    scene = Scene(stack)
    node = scene.node
    free = scene.available()
    node.set_ether(node.operator, 0)
    with Miner(stack):
        scene.approved()
        end = scene.settle()
        for _ in range(3):
            tried = _steps(scene)
            stack.advance(LONG_SECONDS)
            eventually(lambda: _steps(scene) > tried, 60, "it is tried")  # noqa: B023
        assert scene.statuses() == ["pending"]
        assert scene.events("payout.failed") == []
        assert _transactions(scene) == 0
        assert scene.available() == free - 2.75

        node.token("mint", node.treasury.address, 7_000_000)

        node.set_ether(node.operator, 10**20)
        stack.advance(LONG_SECONDS)
        end()
        scene.wait_paid()
    assert scene.earned() == PRICE_UNITS
    assert scene.available() == free - 2.75
    with Miner(stack):
        report = scene.audit()
    assert report["unsolicited_units"] == 7_000_000
    assert report["faults"] == []
    scene.check()


def _steps(scene: Scene) -> int:
    ((count,),) = scene.stack.rows("SELECT SUM(attempts) FROM command WHERE kind = 'gig.settle'")
    return int(count)
