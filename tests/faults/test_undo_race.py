"""An order is undone, delivered and talked about at one instant, and all is killed (O-09)."""

from __future__ import annotations

import http.client
import random
import time
from typing import Any

import pytest

from engine.chain.local import LocalChain
from tests.orders.undoing import address
from tests.processes import Layout, Starter
from tests.shop import Shop, shop
from tests.world import Answer, Person, at_once, eventually

BATCH, DOLLARS = 8, 100
DOLLAR = 1_000_000
TWICE = Layout("postgres", serve=2, worker=2, scheduler=1)
BATCHES = 5
SECONDS = 120
UNDO_BUYER, UNDO_VENDOR, DELIVER, SAY_BUYER, SAY_VENDOR, SHUT = range(6)
LATE = {"in_progress", "order_withdrawn"}


def _act(place: Shop, buyer: Person, what: int, task_id: str, via: int) -> Answer | None:
    """None where the process that was asked has been killed."""
    path = f"{place.path}/tasks/{task_id}"
    calls: dict[int, tuple[Person, str, str, Any]] = {
        UNDO_BUYER: (buyer, "POST", f"{path}/withdraw", None),
        UNDO_VENDOR: (place.vendor, "POST", f"{path}/withdraw", None),
        DELIVER: (
            place.vendor,
            "POST",
            f"{place.path}/proofs",
            {"task_identifier": task_id, "proofs": ["a preview"], "private_note": "the poem"},
        ),
        SAY_BUYER: (buyer, "POST", f"{path}/comments", {"body": "Stop."}),
        SAY_VENDOR: (place.vendor, "POST", f"{path}/comments", {"body": "Here it is."}),
        SHUT: (buyer, "PATCH", f"{path}/comments-policy", {"policy": "private"}),
    }
    person, method, where, body = calls[what]
    try:
        return person.call(method, where, body, via=via)
    except (OSError, http.client.HTTPException):
        return None


@pytest.mark.rule("O-09")
@pytest.mark.rule("O-02")
@pytest.mark.soak
def test_what_is_undone_as_it_is_delivered_and_talked_about_ends_whole_whoever_is_killed(
    start_stack: Starter, chain: LocalChain
) -> None:
    stack = start_stack(TWICE, chain, ORDERS_PER_MINUTE="100000")
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    print("seed", seed)
    place = shop(stack, "0.50")
    buyer = place.buyer(dollars=DOLLARS)
    undone = 0
    for _ in range(BATCHES):
        ids = at_once(BATCH, lambda _: place.order(buyer, amount="0.50"))
        for task_id in ids:
            buyer.patch(f"{place.path}/tasks/{task_id}/comments-policy", {"policy": "public"})
        waits = [dice.uniform(0, 0.6) for _ in range(6 * BATCH + 1)]

        def act(n: int, ids: list[str] = ids, waits: list[float] = waits) -> Answer | None:
            time.sleep(waits[n])
            if n == 6 * BATCH:
                stack.restart()
                return None
            what, number = divmod(n, BATCH)
            return _act(place, buyer, what, ids[number], via=n)

        answers = at_once(6 * BATCH + 1, act)
        for number, task_id in enumerate(ids):
            _, _, handed, *words, _ = answers[number:-1:BATCH]
            _is_whole(place, buyer, task_id, handed, words)
        undone += len(ids)
    assert stack.usdc_units(address(buyer)) == DOLLARS * DOLLAR
    assert len(stack.events(place.gig, "order.withdrawn")) == undone
    stack.audit()
    assert stack.complaints() == []


def _is_whole(
    place: Shop,
    buyer: Person,
    task_id: str,
    handed: Answer | None,
    words: list[Answer | None],
) -> None:
    def look() -> bool:
        # Whoever was killed before he could ask asks again.
        answer = place.withdraw(buyer, task_id)
        return answer.status == 200 and answer.json["state"] == "withdrawn"

    eventually(look, SECONDS, f"{task_id} is undone")
    found = buyer.get(f"{place.path}/proofs?task={task_id}")["proofs"]
    if handed is not None and handed.status == 201:
        assert [one["id"] for one in found] == [handed.json["proof"]["id"]]
    elif handed is not None:
        assert handed.refused(409)["reason"] in LATE and found == []
    for one in found:
        told = (one["status"], one["rejection_tag"], one["private_note"], one["timeout_at"])
        assert told == ("rejected", "other", None, None)
    said = buyer.get(f"{place.path}/tasks/{task_id}/comments")["comments"]
    kept = {one.json["comment"]["id"] for one in words if one is not None and one.status == 201}
    assert kept <= {one["id"] for one in said}
    view = place.task(place.vendor, task_id)
    assert (view["status"], view["price"], view["escrow_funded"]) == ("withdrawn", None, False)
