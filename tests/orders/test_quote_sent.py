"""Deposits that a payer sends himself, and wallets whose signature cannot be used (O-10)."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from engine import audit, clock, commands, install, reconcile
from engine.chain.client import Call
from engine.db import db
from engine.models.escrow import Escrow
from jobs.schedule import Scheduler
from tests.orders.node import EVERYTHING, Way
from tests.orders.test_publish import deposits
from tests.orders.test_quote import Cold, ask, publish, terms_of
from tests.shop import Shop, shop
from tests.world import World, eventually


@pytest.fixture
def world(paying_world: World) -> Iterator[World]:
    yield paying_world
    assert audit.run().faults == []


@pytest.fixture
def place(world: World) -> Shop:
    return shop(world, "0.50")


def _deposit(place: Shop, wallet: Cold, quote: object) -> None:
    treasury = install.treasury()
    terms = terms_of(quote, place.gig.id)
    wallet.send(treasury.approve(10**12), treasury.deposit_for(terms))


@pytest.mark.rule("O-10")
@pytest.mark.rule("Y-03")
def test_while_a_quote_stands_the_chain_is_followed_since_its_payer_may_send_it(
    world: World, place: Shop
) -> None:
    buyer, wallet = place.buyer(), Cold.of(world, 10, wei=10**18)
    task_id = place.draft(buyer)
    # What the faucet sends is ours, and followed anyway.
    eventually(lambda: not commands.has_waiting() and reconcile.idle())
    world.stop_following()
    heard: list[str] = []
    bell = Scheduler(world.settings, "one", heard.append)

    def followed() -> bool:
        heard.clear()
        bell.tick()
        return "follow" in heard

    assert not followed()
    quote = ask(place, buyer, task_id, wallet).ok()
    assert followed()
    # An hour later nobody can pay by it any more, and nothing is asked for its sake.
    expired = Escrow.update(expires_at=clock.now() - 1).where(Escrow.id == quote["deposit_id"])
    db.write(lambda: expired.execute())
    assert not followed()


@pytest.mark.rule("O-10")
@pytest.mark.rule("O-02")
def test_what_a_payer_has_sent_is_finished_by_publishing_though_the_books_lag_behind(
    world: World, place: Shop
) -> None:
    buyer, wallet = place.buyer(), Cold.of(world, 10, wei=10**18)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    # Of what was not sent nothing is finished.
    told = publish(place, buyer, task_id).refused(400, "amount_required")
    assert told["draft_kept"] is True
    world.stop_following()
    _deposit(place, wallet, quote)
    assert deposits(task_id) == ["planned"]
    way = Way()
    way.lost.add("deposits")
    told = publish(place, buyer, task_id).refused(503, "chain_unreadable")
    assert told["draft_kept"] is True
    way.lost.add(EVERYTHING)
    signed = {"signature": "0x" + "11" * 65}
    publish(place, buyer, task_id, authorization=signed).refused(503, "chain_unreadable")
    # For nobody else the chain is asked, so they learn nothing of the quote.
    other = place.buyer()
    publish(place, other, task_id).refused(404, "not_found")
    publish(place, other, task_id, authorization=signed).refused(404, "not_found")
    way.heal()
    body = {"prefer": "wait=0"}
    path = f"{place.path}/tasks/{task_id}/publish"
    sent = buyer.call("POST", path, headers=body)
    assert sent.status == 202
    publish(place, buyer, task_id).refused(409, "in_progress")
    world.follow()
    eventually(lambda: place.task(buyer, task_id)["status"] == "claimed")
    assert deposits(task_id) == ["open"] and wallet.units == 9_500_000
    assert place.task(buyer, task_id)["funded_total"] == Decimal("0.5")


@pytest.mark.rule("O-10")
def test_a_cancelled_authorization_is_told_from_other_failures_and_others_take_its_place(
    place: Shop,
) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 10, wei=10**18)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    signed = wallet.sign(quote)
    wallet.cancel(quote)
    told = publish(place, buyer, task_id, authorization=signed)
    said = told.refused(409, "authorization_cancelled")
    assert said["draft_kept"] is True and "quote" in said["error"]
    assert place.task(buyer, task_id)["status"] == "draft"
    publish(place, buyer, task_id, authorization=signed).refused(409, "quote_expired")
    again = ask(place, buyer, task_id, wallet).ok()
    assert again["deposit_id"] != quote["deposit_id"]
    publish(place, buyer, task_id, authorization=wallet.sign(again)).ok()
    assert deposits(task_id) == ["abandoned", "open"] and wallet.units == 9_500_000


@pytest.mark.rule("O-10")
def test_the_signature_of_a_contract_is_refused_by_that_name_and_it_may_send_the_deposit(
    place: Shop,
) -> None:
    buyer, wallet = place.buyer(), Cold.of(place.world, 10, wei=10**18)
    task_id = place.draft(buyer)
    quote = ask(place, buyer, task_id, wallet).ok()
    node = install.treasury().chain
    node.request("anvil_setCode", wallet.address, "0x6000")
    for length in (65, 97, 650):
        signed = {"signature": "0x" + "11" * length}
        told = publish(place, buyer, task_id, authorization=signed).refused(400, "contract_wallet")
        assert "authorization" in told["errors"] and told["draft_kept"] is True
    # It sends the deposit itself, as any contract can.
    treasury = install.treasury()
    node.request("anvil_impersonateAccount", wallet.address)
    calls: list[Call] = [
        treasury.approve(10**12),
        treasury.deposit_for(terms_of(quote, place.gig.id)),
    ]
    for call in calls:
        sent = {"from": wallet.address, "to": call.to, "data": "0x" + call.data.hex()}
        node.request("eth_sendTransaction", sent)
        node.request("evm_mine")
    publish(place, buyer, task_id).ok()
    assert deposits(task_id) == ["open"] and wallet.units == 9_500_000


@pytest.mark.rule("O-10")
def test_one_order_is_paid_from_one_wallet(place: Shop) -> None:
    buyer, wallet = place.buyer(dollars=10), Cold.of(place.world, 10)
    task_id = place.draft(buyer)
    signed = wallet.sign(ask(place, buyer, task_id, wallet).ok())
    told = place.publish(buyer, task_id, authorization=signed).refused(400, "invalid")
    assert "wallet_alias_id" in told["errors"]
    publish(place, buyer, task_id, authorization=signed).ok()
