"""A process is killed after each commit and each call of a publish and of an undo, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from engine.chain.local import LocalChain
from engine.chain.treasury import DepositOpened, DepositRefunded
from tests.faults.flow import Miner
from tests.faults.money.scene import LONG_SECONDS, PATIENCE_SECONDS
from tests.faults.money.test_dying import Deadly
from tests.faults.money.test_dying_orders import _publish, _until_sent
from tests.faults.money.test_undo_dying import _ask
from tests.orders.undoing import address
from tests.processes import POSTGRES, SQLITE, Starter
from tests.shop import Shop, shop
from tests.world import Person, eventually

DOLLAR, PRICE_UNITS = 1_000_000, 500_000
# On PostgreSQL the worker dies, which answers no requests.
LAYOUTS = {"sqlite": SQLITE, "postgres": POSTGRES}
# Fewer would mean that most of it was not counted.
LEAST = {"publish": 12, "undo": 8}


def _dies(deadly: Deadly, name: str, begin: Callable[[], object], ended: Callable[[], bool]) -> str:
    """Kill whoever takes the named step; answers what that was, or nothing where none is left."""
    fired, died = deadly.folder / "fired", deadly.folder / "died"
    fired.unlink(missing_ok=True)
    died.unlink(missing_ok=True)
    (deadly.folder / "armed").write_text(name)
    begin()
    eventually(lambda: died.exists() or ended(), PATIENCE_SECONDS, name)
    if not died.exists():
        (deadly.folder / "armed").unlink()
        return ""
    what = died.read_text()
    processes = deadly.stack.processes
    eventually(lambda: not all(one.running for one in processes), PATIENCE_SECONDS, "a death")
    deadly.stack.start()
    deadly.stack.advance(LONG_SECONDS)
    return what


def _over(deadly: Deadly, status: str, task_id: str) -> bool:
    """The order has come there, and nothing of it is under way any more."""
    ((now,),) = deadly.stack.rows(f"SELECT status FROM task WHERE id = '{task_id}'")
    ((open_,),) = deadly.stack.rows(
        "SELECT (SELECT count(*) FROM command WHERE status NOT IN ('done', 'failed')) "
        "+ (SELECT count(*) FROM chain_transaction WHERE status = 'sent')"
    )
    return bool(now == status and open_ == 0)


def _end(deadly: Deadly, status: str, task_id: str) -> None:
    eventually(lambda: _over(deadly, status, task_id), PATIENCE_SECONDS, f"it is {status}")


@pytest.mark.soak
@pytest.mark.rule("O-02")
@pytest.mark.rule("O-09")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("what", LEAST)
def test_whoever_is_killed_after_any_step_leaves_it_to_be_done_once(
    start_stack: Starter, chain: LocalChain, name: str, what: str
) -> None:
    deadly = Deadly(start_stack, LAYOUTS[name], chain)
    place = shop(deadly.stack, "0.50")
    steps: list[str] = []
    with Miner(deadly.stack):
        for number in itertools.count(1):
            # Each has yet to give the contract its allowance, which is a step as well.
            buyer = place.buyer(dollars=10)
            act = _sent if what == "publish" else _undone
            died = act(deadly, place, buyer, f"{what} step {number}", number)
            if not died:
                break
            print(f"{what} step {number}: {died}")
            steps.append(died)
    assert len(steps) >= LEAST[what], steps
    deadly.scene.check_money()
    assert deadly.stack.complaints() == []


def _sent(deadly: Deadly, place: Shop, buyer: Person, name: str, number: int) -> str:
    task_id = place.draft(buyer)
    died = _dies(
        deadly,
        name,
        lambda: _publish(place, buyer, task_id),
        lambda: _over(deadly, "claimed", task_id),
    )
    _until_sent(place, buyer, task_id)
    _end(deadly, "claimed", task_id)
    assert len(deadly.scene.node.events(DepositOpened)) == number, died
    assert deadly.stack.usdc_units(address(buyer)) == 10 * DOLLAR - PRICE_UNITS, died
    return died


def _undone(deadly: Deadly, place: Shop, buyer: Person, name: str, number: int) -> str:
    task_id = place.order(buyer, amount="0.50")
    place.deliver(task_id)
    _end(deadly, "submitted", task_id)
    path, key = f"{place.path}/tasks/{task_id}/withdraw", name.replace(" ", "-")
    died = _dies(
        deadly,
        name,
        lambda: _ask(buyer, path, key),
        lambda: _over(deadly, "withdrawn", task_id),
    )

    def answered() -> bool:
        told = _ask(buyer, path, key)
        return told is not None and told.status in (200, 202)

    eventually(answered, PATIENCE_SECONDS, f"an answer after {died}")
    _end(deadly, "withdrawn", task_id)
    assert len(deadly.scene.node.events(DepositRefunded)) == number, died
    assert len(deadly.stack.events(place.gig, "order.withdrawn")) == number, died
    assert deadly.stack.usdc_units(address(buyer)) == 10 * DOLLAR, died
    return died
