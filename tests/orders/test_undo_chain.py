"""The money of an order leaves without us, is refused by the token, or comes back (O-05, O-09)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from engine import escrow_funding, install, order_handing, order_returns, signers
from engine.chain import sender
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain
from engine.chain.deploy import send_and_wait
from engine.db import db
from engine.models.escrow import Escrow
from tests.engine.escrow_world import token
from tests.orders.undoing import (
    DOLLAR,
    PRICE,
    PRICE_UNITS,
    address,
    backend,
    bought,
    deposits,
    fine,
    is_undone,
    news,
    place,
    proofs_of,
    rollups_of,
    row,
    run_out,
    told,
    units,
    until,
    withdrawals,
    world,
)
from tests.shop import Shop
from tests.world import Person, World, eventually

__all__ = ["backend", "place", "world"]

DAY_SECONDS = 86_400


def refund_past_us(escrow: Escrow) -> None:
    """Our refunder's key gives it back, and we know of nothing."""
    call = install.treasury().refund(escrow.id)
    sender.send(
        install.treasury().chain, signers.refunder(), f"test:{escrow.id}", call, lambda _: None
    )


def reclaim(world: World, escrow: Escrow) -> None:
    """Its depositor announces it and takes it, with his own key."""
    treasury = install.treasury()
    key = escrow_funding.key_of(escrow).private_key
    for call, days in (
        (treasury.request_reclaim(escrow.id), 90),
        (treasury.reclaim(escrow.id), 30),
    ):
        treasury.chain.request("evm_increaseTime", hex(days * DAY_SECONDS + 60))
        treasury.chain.request("evm_mine")
        send_and_wait(treasury.chain, key, [call])


def guardian(world: World, function: str) -> None:
    assert world.chain is not None
    call = Call(world.chain.treasury_address, artifact("Treasury").encode(function, ()))
    send_and_wait(Chain(world.chain.rpc_url), world.chain.guardian_key, [call])


# -- it has left: by a refund that we never asked for ----------------------------------------------


def held(place: Shop, buyer: Person, task_id: str) -> str:
    return ""


def drafted(place: Shop, buyer: Person, task_id: str) -> str:
    place.deliver(task_id, draft=True)
    return ""


def handed_in(place: Shop, buyer: Person, task_id: str) -> str:
    return place.deliver(task_id)


def rejected(place: Shop, buyer: Person, task_id: str) -> str:
    proof_id = place.deliver(task_id)
    place.rule(buyer, proof_id, "reject", rejection_tag="other").ok()
    return proof_id


def approved(place: Shop, buyer: Person, task_id: str) -> str:
    proof_id = place.deliver(task_id)
    place.rule(buyer, proof_id).ok()
    return proof_id


def timed_out(place: Shop, buyer: Person, task_id: str) -> str:
    proof_id = place.deliver(task_id)
    run_out()
    return proof_id


def reported(place: Shop, buyer: Person, task_id: str) -> str:
    proof_id = timed_out(place, buyer, task_id)
    place.vendor.post(f"{place.path}/proofs/{proof_id}/report", {})
    return proof_id


def carried(place: Shop, buyer: Person, task_id: str) -> str:
    """A payout that the contract refuses for now carries it."""
    proof_id = approved(place, buyer, task_id)
    guardian(place.world, "pause")
    place.vendor.post(f"{place.path}/rollups")
    assert [one.status for one in rollups_of(task_id)] == ["failed"]
    return proof_id


STAGES = (held, drafted, handed_in, rejected, approved, timed_out, reported, carried)


@pytest.mark.rule("O-05")
@pytest.mark.parametrize("stage", STAGES, ids=lambda fn: fn.__name__)
def test_money_that_left_without_us_takes_the_order_with_it(
    place: Shop, stage: Callable[[Shop, Person, str], str]
) -> None:
    buyer, task_id = bought(place)
    proof_id = stage(place, buyer, task_id)
    (escrow,) = deposits(task_id)
    refund_past_us(escrow)
    until(task_id, "withdrawn")
    is_undone(place, buyer, task_id, "reconciler", proof_id)
    assert row(task_id).order_withdrawn_reason == "refunded"
    assert units(place, buyer) == 10 * DOLLAR
    for person in (buyer, place.vendor):
        assert news(person, "order.withdrawn") == 1
        assert place.withdraw(person, task_id).ok()["withdrawn_by"] == "reconciler"
    fine()
    if stage is carried:
        # What carried it pays nothing, for good.
        (rollup,) = rollups_of(task_id)
        assert (rollup.status, rollup.gross_units, rollup.retry_at) == ("settled", 0, None)
        guardian(place.world, "resume")
    place.vendor.post(f"{place.path}/rollups")
    assert told(place, "payout.paid") == []
    assert [one.status for one in rollups_of(task_id)] == ["settled"] * (stage is carried)
    wallet = place.vendor.get("/mailboxes/mine")["mailboxes"][0]["wallet_address"]
    assert place.world.usdc_units(wallet) == 0
    # The words are still there to be sent again.
    place.publish(buyer, task_id, amount=PRICE).ok()
    place.rule(buyer, place.deliver(task_id)).ok()
    (rollup,) = place.vendor.post(f"{place.path}/rollups")["rollups"]
    assert rollup["status"] == "paid"


@pytest.mark.rule("O-05")
def test_an_order_whose_buyer_has_reclaimed_its_deposit_is_over(place: Shop) -> None:
    buyer, task_id = bought(place)
    proof_id = place.deliver(task_id)
    place.rule(buyer, proof_id, "reject").ok()
    (escrow,) = deposits(task_id)
    reclaim(place.world, escrow)
    until(task_id, "withdrawn")
    is_undone(place, buyer, task_id, "reconciler", proof_id)
    assert row(task_id).order_withdrawn_reason == "reclaimed"
    assert deposits(task_id)[0].status == "reclaimed"
    assert units(place, buyer) == 10 * DOLLAR
    assert "escrow.reclaim_requested" in [
        event["type"] for event in place.vendor.get(f"{place.path}/events?limit=200")["events"]
    ]


@pytest.mark.rule("O-05")
@pytest.mark.rule("Y-03")
def test_what_is_approved_when_a_reclaim_is_announced_is_paid(place: Shop) -> None:
    buyer, task_id = bought(place)
    place.rule(buyer, place.deliver(task_id)).ok()
    (escrow,) = deposits(task_id)
    treasury = install.treasury()
    treasury.chain.request("evm_increaseTime", hex(90 * DAY_SECONDS + 60))
    treasury.chain.request("evm_mine")
    key = escrow_funding.key_of(escrow).private_key
    send_and_wait(treasury.chain, key, [treasury.request_reclaim(escrow.id)])
    eventually(lambda: deposits(task_id)[0].status == "settled", 30)
    assert row(task_id).status == "approved"
    assert told(place, "order.withdrawn") == []


# -- the token refuses ---------------------------------------------------------------------------


@pytest.mark.rule("O-09")
def test_a_refund_that_the_token_refuses_can_be_claimed(place: Shop) -> None:
    buyer, task_id = bought(place)
    wallet = address(buyer)
    token(place.world, "blacklist", wallet)
    done = place.withdraw(place.vendor, task_id).ok()
    assert (done["state"], done["claimable"]) == ("withdrawn", True)
    assert place.withdraw(buyer, task_id).ok() == done
    is_undone(place, buyer, task_id, "vendor")
    assert units(place, buyer) == 10 * DOLLAR - PRICE_UNITS
    fine()
    token(place.world, "unBlacklist", wallet)
    buyer.post(f"/wallets/{buyer.wallet_id}/claim")  # type: ignore[attr-defined]
    assert units(place, buyer) == 10 * DOLLAR


@pytest.mark.rule("O-09")
def test_a_token_that_is_paused_holds_up_no_undo(place: Shop) -> None:
    """A token that fails altogether is refused likewise: the contract keeps the amount."""
    buyer, task_id = bought(place)
    guardian(place.world, "pause")
    # A pause of payouts leaves the way back open.
    done = place.withdraw(buyer, task_id).ok()
    assert (done["state"], done["claimable"]) == ("withdrawn", False)
    assert units(place, buyer) == 10 * DOLLAR
    guardian(place.world, "resume")


# -- an open deposit that was never delivered -----------------------------------------------------


@pytest.mark.rule("O-02")
@pytest.mark.rule("O-09")
@pytest.mark.parametrize("by", ["participant", "vendor"])
def test_a_draft_whose_deposit_is_open_is_undone_too(
    place: Shop, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    real: Any = order_handing.hold_vendor
    answers = iter([True])
    # Nobody is there to be given it when the chain says that it is paid.
    monkeypatch.setattr(
        order_handing, "hold_vendor", lambda gig: real(gig) and next(answers, False)
    )
    path = f"{place.path}/tasks/{task_id}/publish"
    body = {"amount": PRICE, "wallet_alias_id": buyer.wallet_id}  # type: ignore[attr-defined]
    buyer.call("POST", path, body)
    eventually(lambda: [one.status for one in deposits(task_id)] == ["open"], 30)
    monkeypatch.undo()
    assert row(task_id).status == "draft"
    person = buyer if by == "participant" else place.vendor
    done = place.withdraw(person, task_id).ok()
    assert (done["state"], done["withdrawn_by"]) == ("withdrawn", by)
    assert units(place, buyer) == 10 * DOLLAR
    is_undone(place, buyer, task_id, by)
    place.publish(buyer, task_id, amount=PRICE).ok()
    assert [one.status for one in deposits(task_id)] == ["refunded", "open"]
    assert proofs_of(task_id) == []


# -- whatever worked on it is gone -----------------------------------------------------------------


@pytest.mark.rule("O-09")
def test_an_undo_that_nothing_works_on_any_more_is_taken_up_again(place: Shop) -> None:
    buyer, task_id = bought(place)
    place.world.stop_following()
    path = f"{place.path}/tasks/{task_id}/withdraw"
    buyer.call("POST", path, headers={"prefer": "wait=0"})
    (command,) = withdrawals(task_id)
    assert order_returns.sweep() == 0
    eventually(lambda: withdrawals(task_id)[0].status == "waiting", 20)
    db.write(lambda: db.rows("UPDATE command SET status = 'failed' WHERE id = ?", (command.id,)))
    assert [order_returns.sweep() for _ in range(2)] == [1, 0]
    place.world.follow()
    until(task_id, "withdrawn")
    assert units(place, buyer) == 10 * DOLLAR
    is_undone(place, buyer, task_id, "participant")
