"""An order is approved, undone by both sides and overtaken by the clock at one instant (O-09)."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from engine.chain.local import LocalChain
from tests.orders.undoing import address
from tests.processes import Layout, Stack, Starter
from tests.shop import Shop, shop
from tests.world import Answer, Person, at_once, eventually

WINDOW_SECONDS = 3600
BATCH = 10
DOLLARS = 200
PRICE_UNITS, NET_UNITS, DOLLAR = 500_000, 450_000, 1_000_000
TWICE = Layout("postgres", serve=2, worker=2, scheduler=2)
BATCHES = [
    pytest.param(1, id="10-rounds"),
    pytest.param(20, id="200-rounds", marks=pytest.mark.soak),
]
SECONDS = 120
# Who may have been first, by what he asks for; the clock asks for nothing.
APPROVE, UNDO_BUYER, UNDO_VENDOR = range(3)
LOST = {"in_progress", "order_withdrawn", "timeout_approved"}
CLOSED = {"already_approved", "already_settled", "in_progress"}


def _delivered(place: Shop, buyer: Person) -> tuple[str, str]:
    task_id = place.order(buyer, amount="0.50")
    return task_id, place.deliver(task_id)


def _act(place: Shop, buyer: Person, what: int, task_id: str, proof_id: str, via: int) -> Answer:
    if what == APPROVE:
        path = f"{place.path}/proofs/{proof_id}"
        return buyer.call("PATCH", path, {"action": "approve"}, via=via)
    person = buyer if what == UNDO_BUYER else place.vendor
    return person.call("POST", f"{place.path}/tasks/{task_id}/withdraw", via=via)


def _end(stack: Stack, task_id: str) -> tuple[str, str, str]:
    """(state of the order, of its delivery, of its deposit), once nothing is under way."""

    def look() -> tuple[str, str, str] | None:
        ((task, proof, escrow),) = stack.rows(
            "SELECT task.status, proof.status, escrow.status FROM task "
            "JOIN proof ON proof.task_id = task.id JOIN escrow ON escrow.id = task.deposit_id "
            f"WHERE task.id = '{task_id}'"
        )
        ended = escrow in ("settled", "refunded") and task in ("approved", "withdrawn")
        return (task, proof, escrow) if ended else None

    found: tuple[str, str, str] = eventually(look, SECONDS, f"{task_id} has ended")
    return found


def _check(answers: list[Answer], end: tuple[str, str, str]) -> str:
    """One of them won, and the money followed; answers who."""
    approved, *undone = answers
    if end == ("withdrawn", "rejected", "refunded"):
        assert any(one.status == 200 for one in undone)
        assert all(one.status == 200 or one.json["reason"] == "in_progress" for one in undone)
        assert approved.refused(409)["reason"] in LOST
        return "undone"
    assert end[::2] == ("approved", "settled"), end
    for one in undone:
        assert one.refused(409)["reason"] in CLOSED
    if end[1] == "approved":
        approved.ok()
    else:
        assert (end[1], approved.refused(409)["reason"]) == ("timeout_approved", "timeout_approved")
    return end[1]


@pytest.mark.case("F21")
@pytest.mark.rule("O-09")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("batches", BATCHES)
def test_of_approval_undo_and_clock_at_once_one_wins_and_the_money_follows(
    start_stack: Starter, chain: LocalChain, batches: int
) -> None:
    stack = start_stack(TWICE, chain, ORDERS_PER_MINUTE="100000")
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    print("seed", seed)
    place = shop(stack, "0.50", review_timeout=WINDOW_SECONDS)
    buyer = place.buyer(dollars=DOLLARS)
    payer, payee = address(buyer), place.vendor.get("/mailboxes/mine")["mailboxes"][0]
    ends: Counter[str] = Counter()
    for _ in range(batches):
        made = at_once(BATCH, lambda _: _delivered(place, buyer))
        # The schedulers look once a second, and have to be first now and then.
        waits = [dice.uniform(0, 3) for _ in range(3 * BATCH)]
        stack.advance(WINDOW_SECONDS)

        def act(n: int, made: list[tuple[str, str]] = made, waits: list[float] = waits) -> Answer:
            time.sleep(waits[n])
            what, number = divmod(n, BATCH)
            return _act(place, buyer, what, *made[number], via=n)

        answers = at_once(3 * BATCH, act)
        # Whatever the clock has yet to approve it does now; then all that is approved is paid.
        eventually(lambda: not place.vendor.get(f"{place.path}/proofs?status=pending")["proofs"])
        place.vendor.post(f"{place.path}/rollups")
        for number, (task_id, _) in enumerate(made):
            ends[_check(answers[number::BATCH], _end(stack, task_id))] += 1
    print(ends)
    paid = ends["approved"] + ends["timeout_approved"]
    assert stack.usdc_units(payer) == DOLLARS * DOLLAR - paid * PRICE_UNITS
    assert stack.usdc_units(payee["wallet_address"]) == paid * NET_UNITS
    assert len(stack.events(place.gig, "order.withdrawn")) == ends["undone"]
    assert len(stack.events(place.gig, "payout.paid")) == paid
    stack.audit()
    assert stack.complaints() == []
