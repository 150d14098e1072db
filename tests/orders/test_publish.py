"""Publishing is paying: one deposit, and the order is the vendor's as soon as that is booked."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from engine import audit, install
from engine.chain.client import Chain
from engine.chain.treasury import DepositOpened, Treasury
from engine.db import db
from engine.models.escrow import Escrow
from tests.shop import Shop, shop
from tests.world import Person, World, at_once, eventually

NOT_WAITING = {"prefer": "wait=0"}


@pytest.fixture
def world(paying_world: World) -> Iterator[World]:
    """Whatever is bought, the books balance in the end."""
    yield paying_world
    assert audit.run().faults == []


@pytest.fixture
def place(world: World) -> Shop:
    return shop(world, "0.50")


def deposits(task_id: str) -> list[str]:
    """The states of an order's deposits, in the order in which they were attempted."""
    with db.reading():
        query = Escrow.select().where(Escrow.task_id == task_id).order_by(Escrow.attempt)
        return [one.status for one in query]


def units(person: Person) -> int:
    (wallet,) = [
        one
        for one in person.get("/wallets")["wallets"]
        if one["id"] == person.wallet_id  # type: ignore[attr-defined]
    ]
    chain = person.world.chain
    assert chain is not None
    # Not the way that the install goes, on which things may be lost.
    treasury = Treasury(Chain(chain.rpc_url), chain.treasury_address, chain.usdc_address)
    return treasury.usdc_units(wallet["evm_address"])


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-02")
@pytest.mark.rule("Y-01")
@pytest.mark.parametrize(
    ("amount", "tip", "price"),
    [("0.50", "0", "0.45"), (5, "4.5", "4.54")],
)
def test_a_paid_order_is_answered_as_promised_under_the_id_of_its_draft(
    place: Shop, amount: Any, tip: str, price: str
) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    sent = place.publish(buyer, task_id, amount=amount).ok()
    tx_hash, deposit_id = sent.pop("tx_hash"), sent.pop("deposit_id")
    assert len(tx_hash) == len(deposit_id) == 66
    assert sent == {
        "status": "assigned",
        "mailbox_id": place.mailbox_id,
        "message_id": task_id,
        "draft_id": task_id,
        "published": True,
        "funded_total": Decimal(amount),
        "funded_minimum": Decimal("0.5"),
        "tip": Decimal(tip),
        "price": Decimal(price),
        "fee_bps": 1000,
    }
    assert deposits(task_id) == ["open"]
    assert units(buyer) == 10_000_000 - Decimal(amount) * 1_000_000
    told = place.publish(buyer, task_id, amount=amount).refused(409, "not_draft")
    assert told["message_id"] == task_id
    task = place.task(buyer, task_id)
    assert (task["id"], task["status"], task["deposit_id"]) == (task_id, "claimed", deposit_id)
    # What the shop asks for now changes nothing about what was sold.
    place.vendor.patch(place.path, {"list_price": "0.75"})
    assert place.task(buyer, task_id)["funded_minimum"] == Decimal("0.5")


@pytest.mark.rule("O-02")
@pytest.mark.rule("H-08")
def test_while_the_chain_is_slow_it_is_202_and_a_second_call_is_in_progress(place: Shop) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    path = f"{place.path}/tasks/{task_id}/publish"
    body = {"amount": "0.50", "wallet_alias_id": buyer.wallet_id}  # type: ignore[attr-defined]
    place.world.stop_following()
    sent = buyer.call("POST", path, body, headers=NOT_WAITING)
    assert sent.status == 202
    told = buyer.call("POST", path, body).refused(409, "in_progress")
    assert told["message_id"] == task_id and told["retry_after"] > 0
    place.withdraw(buyer, task_id).refused(409, "in_progress")
    place.world.follow()
    command = sent.headers["location"].removeprefix("/api")
    done = eventually(lambda: (told := buyer.get(command))["status"] == "done" and told)
    assert done["result"]["message_id"] == task_id
    assert deposits(task_id) == ["open"]


@pytest.mark.rule("O-01")
@pytest.mark.rule("O-02")
def test_a_payment_link_is_two_calls_of_the_maker_and_one_of_the_buyer(place: Shop) -> None:
    """The order is written for the buyer by whoever has his key; he only pays for it."""
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer, '{"order":"One haiku about escrow."}')
    details = {"private_details": "for Ann"}
    buyer.patch(f"{place.path}/tasks/{task_id}/private-details", details)
    assert place.publish(buyer, task_id, amount="0.50").ok()["published"] is True
    # The link shows the receipt from now on, and never offers to pay twice.
    read = place.task(buyer, task_id)
    assert read["funded_total"] == Decimal("0.5") and read["private_details"] == "for Ann"
    (row,) = buyer.get("/orders")["orders"]
    assert (row["task_id"], row["state"]) == (task_id, "open")


@pytest.mark.rule("O-02")
@pytest.mark.rule("Y-03")
def test_eight_who_publish_one_draft_at_once_make_one_deposit(place: Shop) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    answers = at_once(8, lambda _: place.publish(buyer, task_id, amount="0.50"))
    assert [one.status for one in answers].count(200) == 1
    for one in answers:
        if one.status != 200:
            assert one.refused(409)["reason"] in ("in_progress", "not_draft")
    assert deposits(task_id) == ["open"]
    assert units(buyer) == 9_500_000
    treasury = install.treasury()
    events = treasury.events(0, treasury.chain.block_number())
    assert [event.deposit_key for event in events if isinstance(event, DepositOpened)] == [
        place.task(buyer, task_id)["deposit_id"]
    ]


@pytest.mark.rule("O-09")
@pytest.mark.rule("O-01")
def test_an_order_that_was_undone_is_sent_again_with_another_deposit(place: Shop) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.order(buyer, amount="0.50")
    place.withdraw(buyer, task_id).ok()
    assert units(buyer) == 10_000_000
    # Sent in vain, it is what it was: an order that was undone.
    told = place.publish(buyer, task_id, amount="50").refused(402, "insufficient_funds")
    assert told["draft_kept"] is True
    read = place.task(buyer, task_id)
    assert (read["status"], read["funded_total"]) == ("withdrawn", Decimal("0.5"))
    assert read["order_withdrawn_at"] is not None
    again = place.publish(buyer, task_id, amount="0.60").ok()
    assert again["message_id"] == task_id and again["tip"] == Decimal("0.1")
    assert deposits(task_id) == ["refunded", "open"]
    assert place.task(buyer, task_id)["status"] == "claimed"
    assert units(buyer) == 9_400_000


@pytest.mark.rule("O-10")
def test_which_wallet_pays(place: Shop) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    path = f"{place.path}/tasks/{task_id}/publish"
    other = place.buyer(dollars=10)
    outside = buyer.post(
        "/wallets", {"label": "cold", "is_hot_wallet": False, "evm_address": "0x" + "12" * 20}
    )["wallet"]["id"]
    for wrong in (other.wallet_id, outside, "WALLET_NONE"):  # type: ignore[attr-defined]
        body = {"amount": "0.50", "wallet_alias_id": wrong}
        told = buyer.call("POST", path, body).refused(400, "invalid")
        assert "wallet_alias_id" in told["errors"]
    # Without a name it is his mailbox's, which is empty.
    told = buyer.call("POST", path, {"amount": "0.50"}).refused(402, "insufficient_funds")
    assert told["short"] == ["usdc", "gas"]
    assert buyer.mailbox["wallet_address"] in told["error"]  # type: ignore[attr-defined]
    # Where his mailbox is paid to an address whose key is elsewhere, it is his only hot one.
    lone = place.world.person("lone")
    place.world.worker(place.gig, lone, wallet_address="0x" + "34" * 20)
    task_id = place.draft(lone)
    path = f"{place.path}/tasks/{task_id}/publish"
    told = lone.call("POST", path, {"amount": "0.50"}).refused(400, "invalid")
    assert "wallet_alias_id" in told["errors"]
    lone.wallet_id = place.world.funded_wallet(lone, 1)  # type: ignore[attr-defined]
    assert lone.call("POST", path, {"amount": "0.50"}).ok()["published"] is True
    assert units(lone) == 500_000
