"""What a shop that takes money does otherwise than one that takes none, played in both."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine import audit
from engine.db import db
from engine.models.reputation import ReputationEvent
from engine.reputation import ORDER_WITHDRAWN
from tests.contract.scene import all_hold
from tests.shop import Shop, shop
from tests.world import Person, World, eventually

QUICKLY = {"prefer": "wait=0"}
# What → (where each order is paid for, where none is).
KINDS: dict[str, tuple[Any, Any]] = {
    "the mark of a sent order": ("deposit_id", "order_free"),
    "its states in the ledger": (["pending", "open", "settled"], ["free"]),
    "what opens the note": ("the payout", "the approval"),
    "rollups": (1, "free_order"),
    "another verdict on what is approved": (200, "free_order_approved"),
    "undo": ("the deposit comes back", "nothing comes back"),
    "what undoing leaves of a name": (1, 0),
    "closing while an order is under way": ("unsettled_orders", 200),
    "closing when all is over": (200, 200),
}


@pytest.fixture
def world(paying_world: World) -> Iterator[World]:
    yield paying_world
    assert audit.run().faults == []


@pytest.mark.rule("O-06")
@pytest.mark.rule("R-06")
def test_the_two_kinds_of_shop_differ_in_this_and_nothing_else(world: World) -> None:
    played = Played(world, "0.50"), Played(world, 0)
    for one in played:
        one.play()
    assert [list(one.seen) for one in played] == [list(KINDS)] * 2

    def same(row: tuple[str, tuple[Any, Any]]) -> None:
        name, wanted = row
        assert tuple(one.seen[name] for one in played) == wanted

    all_hold(KINDS.items(), same)


class Played:
    """One shop from its first order until it is closed, and what was seen of it."""

    def __init__(self, world: World, price: Any) -> None:
        self.world = world
        self.place: Shop = shop(world, price)
        self.body = {"amount": price} if price else {}
        self.buyer: Person = self.place.buyer(dollars=10 if price else None)
        self.states: list[str] = []
        self.seen: dict[str, Any] = {}

    def play(self) -> None:
        seen, place, buyer = self.seen, self.place, self.buyer
        order = self._sent_while_it_is_watched()
        task = place.task(buyer, order)
        marks = [name for name in ("deposit_id", "order_free") if task.get(name)]
        seen["the mark of a sent order"] = ", ".join(marks)
        seen["its states in the ledger"] = self.states
        proof_id = place.deliver(order, "the key")
        opened = {"the delivery": self._note(proof_id)}
        place.rule(buyer, proof_id).ok()
        opened["the approval"] = self._note(proof_id)
        verdict = place.rule(buyer, proof_id, "reject", rejection_tag="other")
        if verdict.status == 200:
            place.rule(buyer, proof_id).ok()
        settled = buyer.call("POST", f"{place.path}/rollups")
        opened["the payout"] = self._note(proof_id)
        seen["what opens the note"] = next(name for name, note in opened.items() if note)
        seen["rollups"] = settled.json.get("reason") or len(settled.json["rollups"])
        seen["another verdict on what is approved"] = verdict.json.get("reason", verdict.status)
        self._look()
        self._undo()
        seen["closing when all is over"] = self._close()

    def _sent_while_it_is_watched(self) -> str:
        place, buyer = self.place, self.buyer
        order = place.draft(buyer)
        self.world.stop_following()
        wallet = getattr(buyer, "wallet_id", None)
        body = self.body and {**self.body, "wallet_alias_id": wallet}
        buyer.call("POST", f"{place.path}/tasks/{order}/publish", body or None, headers=QUICKLY)
        eventually(self._look)
        self.world.follow()
        eventually(lambda: place.task(buyer, order)["status"] == "claimed")
        self._look()
        return order

    def _look(self) -> bool:
        """Note the state of the first order in the ledger, if it is another one."""
        rows = self.buyer.get("/orders")["orders"]
        if rows and rows[-1]["state"] not in self.states[-1:]:
            self.states.append(rows[-1]["state"])
        return bool(rows)

    def _note(self, proof_id: str) -> Any:
        return self.buyer.get(f"{self.place.path}/proofs/{proof_id}")["proof"]["private_note"]

    def _undo(self) -> None:
        place, buyer = self.place, self.buyer
        order = place.order(buyer, **self.body)
        self.seen["undo"] = "nothing comes back"
        closed, paid = self._close(), self._units()
        if closed == 200:
            place.vendor.patch(place.path, {"status": "active"})
        place.withdraw(buyer, order).ok()
        if self._units() - paid == 500_000:
            self.seen["undo"] = "the deposit comes back"
        with db.reading():
            told = ReputationEvent.select().where(
                ReputationEvent.gig_id == place.gig.id, ReputationEvent.type == ORDER_WITHDRAWN
            )
            self.seen["what undoing leaves of a name"] = told.count()
        self.seen["closing while an order is under way"] = closed

    def _units(self) -> int:
        wallets = self.buyer.get("/wallets")["wallets"]
        return sum(self.world.usdc_units(one["evm_address"]) for one in wallets)

    def _close(self) -> Any:
        answer = self.place.vendor.call("PATCH", self.place.path, {"status": "closed"})
        return answer.json.get("reason", answer.status)
