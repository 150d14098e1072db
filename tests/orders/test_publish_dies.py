"""Whoever dies while an order is paid for leaves one deposit, or none, and says which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from engine import (
    audit,
    commands,
    escrow_funding,
    escrow_relay,
    order_deposits,
    order_funding,
    order_handing,
    order_terms,
    order_unsending,
)
from engine.chain import repair
from engine.chain.client import Chain
from tests.engine.escrow_world import token
from tests.engine.test_escrow_faults import dies_once
from tests.orders.test_publish import deposits, units
from tests.orders.test_quote import Cold, ask, publish
from tests.orders.undoing import address
from tests.shop import Shop, shop
from tests.world import World, eventually

# Where it dies: the module, its function, and whether before or after that has done its work.
PAYING = [
    (order_funding, "_plan", "before"),
    (order_terms, "plan", "after"),
    (order_funding, "_plan", "after"),
    (order_funding, "_prepare", "after"),
    (escrow_funding, "_allowed", "after"),
    (escrow_funding, "store", "before"),
    (escrow_funding, "store", "after"),
    (Chain, "broadcast", "before"),
    (Chain, "broadcast", "after"),
    (order_handing, "hand_over", "before"),
    (order_handing, "hand_over", "after"),
    (order_deposits, "deliver_or_keep", "after"),
    (commands, "_finish", "before"),
]
RELAYING = [
    (escrow_relay, "send", "before"),
    (escrow_funding, "store", "after"),
    (Chain, "broadcast", "before"),
    (Chain, "broadcast", "after"),
    (escrow_relay, "send", "after"),
]
GIVING_UP = [
    (order_unsending, "give_up", "before"),
    (order_unsending, "_let_go", "after"),
    (order_unsending, "give_up", "after"),
    (commands, "_finish", "before"),
]


@pytest.fixture
def world(paying_world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setattr(commands, "LEASE_MS", 500)
    monkeypatch.setattr(repair, "RESEND_MS", 200)
    yield paying_world
    assert audit.run().faults == []


@pytest.fixture
def place(world: World) -> Shop:
    return shop(world, "0.50")


def _name(value: Any) -> str:
    return str(getattr(value, "__name__", value)).removeprefix("engine.")


@pytest.mark.rule("O-02")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize(("owner", "name", "when"), PAYING, ids=_name)
def test_whoever_dies_while_paying_makes_one_deposit_and_the_order_is_sent(
    place: Shop, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str
) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    died = dies_once(monkeypatch, owner, name, when)
    sent = place.publish(buyer, task_id, amount="0.50").ok()
    assert died == [name]
    assert sent["message_id"] == task_id and sent["published"] is True
    assert deposits(task_id) == ["open"] and units(buyer) == 9_500_000
    assert place.task(buyer, task_id)["status"] == "claimed"
    assert len(buyer.get("/orders")["orders"]) == 1


@pytest.mark.rule("O-10")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize(("owner", "name", "when"), RELAYING, ids=_name)
def test_whoever_dies_while_sending_what_was_signed_sends_it_once(
    place: Shop, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str
) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 10)
    task_id = place.draft(buyer)
    signed = wallet.sign(ask(place, buyer, task_id, wallet).ok())
    died = dies_once(monkeypatch, owner, name, when)
    publish(place, buyer, task_id, authorization=signed).ok()
    assert died == [name]
    assert deposits(task_id) == ["open"] and wallet.units == 9_500_000


@pytest.mark.rule("O-02")
@pytest.mark.parametrize(("owner", "name", "when"), GIVING_UP, ids=_name)
def test_whoever_dies_while_giving_up_has_it_said_why_and_the_draft_is_kept(
    place: Shop, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str, when: str
) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    died = dies_once(monkeypatch, owner, name, when)
    wallet = address(buyer)
    token(place.world, "blacklist", wallet)
    told = place.publish(buyer, task_id, amount="0.60").refused(502, "deposit_failed")
    token(place.world, "unBlacklist", wallet)
    assert died == [name] and told["draft_kept"] is True
    assert deposits(task_id) == ["abandoned"] and units(buyer) == 10_000_000
    eventually(lambda: place.task(buyer, task_id)["status"] == "draft")
    place.publish(buyer, task_id, amount="0.50").ok()
