"""The engine's view of the Treasury: keys, reads at a block, events in order."""

from __future__ import annotations

import pytest
from eth_utils.crypto import keccak

from engine.chain.client import Call
from engine.chain.deploy import send_and_wait
from engine.chain.errors import ChainUnavailable
from engine.chain.treasury import (
    FeeChanged,
    FeesWithdrawn,
    PaidOut,
    PotDeposited,
    PotPayout,
    PotRefunded,
    Treasury,
)
from tests.chain.world import DOLLAR, World


def test_our_ids_stand_on_chain_as_their_hash(world: World) -> None:
    assert world.treasury.gig_key("GIG_ü") == keccak("GIG_ü".encode())
    assert len(world.treasury.payout_key("ROLLUP_1")) == 32


@pytest.mark.rule("Y-05")
def test_the_events_tell_every_movement_of_money_in_order(world: World) -> None:
    treasury, chain = world.treasury, world.chain
    first = chain.block_number() + 1
    deposited = world.fund("GIG_a", 10 * DOLLAR)
    payouts = [
        PotPayout("ROLLUP_1", "GIG_a", world.bob.address, 3 * DOLLAR),
        PotPayout("ROLLUP_2", "GIG_a", world.charlie.address, 333_333),
    ]
    paid = world.send(world.settler, treasury.pay_from_pots(payouts))
    alice, till = world.alice.address, world.someone()
    world.send(world.refunder, treasury.refund_pot("R_1", "GIG_a", alice, DOLLAR))
    world.send(world.owner, treasury.withdraw_fees(till, 7))
    world.tell(world.owner, "setFeeBps", 250)
    world.tell(world.owner, "setDailyCap", 1)  # moves nothing, so it is not told
    last = chain.block_number()

    events = treasury.events(first, last)
    assert [type(event) for event in events] == [
        PotDeposited,
        PaidOut,
        PaidOut,
        PotRefunded,
        FeesWithdrawn,
        FeeChanged,
    ]
    gig = "0x" + treasury.gig_key("GIG_a").hex()
    deposit, one, two, refund, fees, change = events
    assert isinstance(deposit, PotDeposited)
    assert (deposit.gig_key, deposit.funder, deposit.amount_units) == (gig, alice, 10 * DOLLAR)
    assert (deposit.tx_hash, deposit.block_hash) == (deposited.tx_hash, deposited.block_hash)
    assert isinstance(one, PaidOut)
    assert one == PaidOut(
        block_number=paid.block_number,
        block_hash=paid.block_hash,
        tx_hash=paid.tx_hash,
        log_index=one.log_index,
        payout_key="0x" + treasury.payout_key("ROLLUP_1").hex(),
        gig_key=gig,
        to=world.bob.address,
        gross_units=3 * DOLLAR,
        fee_units=300_000,
    )
    assert isinstance(two, PaidOut)
    assert (two.gross_units, two.fee_units) == (333_333, 33_333)
    assert one.log_index < two.log_index
    assert isinstance(refund, PotRefunded)
    assert (refund.funder, refund.amount_units) == (alice, DOLLAR)
    assert isinstance(fees, FeesWithdrawn)
    assert (fees.to, fees.fees_units, fees.residue_units) == (till, 7, 0)
    assert isinstance(change, FeeChanged)
    assert (change.old_bps, change.new_bps) == (1000, 250)
    moved = 10 * DOLLAR - 3_333_333 - DOLLAR - 7
    assert treasury.accounted_units() == moved


def test_many_blocks_are_read_in_pieces_without_gap_or_repeat(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.chain.block_number() + 1
    for n in range(3):
        world.fund(f"GIG_{n}", DOLLAR)
    last = world.chain.block_number()
    whole = world.treasury.events(first, last)
    monkeypatch.setattr("engine.chain.client.LOG_RANGE", 2)
    assert len(whole) == 3
    assert world.treasury.events(first, last) == whole
    assert world.treasury.events(last + 1, last) == []


@pytest.mark.rule("Y-05")
def test_a_number_can_be_read_as_it_was_at_an_earlier_block(world: World) -> None:
    then = world.fund("GIG_a", DOLLAR).block_number
    world.fund("GIG_a", 2 * DOLLAR)
    assert world.treasury.pot_units("GIG_a", then) == DOLLAR
    assert world.treasury.held_units(then) == world.treasury.accounted_units(then) == DOLLAR
    assert world.treasury.pot_units("GIG_a") == 3 * DOLLAR


def test_a_block_without_kept_state_is_unavailable_not_wrong(world: World) -> None:
    with pytest.raises(ChainUnavailable):
        world.treasury.pot_units("GIG_a", world.chain.block_number() + 1000)


def test_an_address_without_a_treasury_is_unavailable_not_empty(world: World) -> None:
    nowhere = Treasury(world.chain, world.someone(), world.treasury.usdc_address)
    with pytest.raises(ChainUnavailable, match="There is no Treasury contract at"):
        nowhere.pot_units("GIG_a")


def test_gas_of_one_payout_stays_near_what_was_measured(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    payouts = [PotPayout("ROLLUP_1", "GIG_a", world.someone(), DOLLAR)]
    send_and_wait(world.chain, world.settler.key, [Call(world.someone(), b"", 1)], gas=21_000)
    receipt = world.send(world.settler, world.treasury.pay_from_pots(payouts))
    assert receipt.gas_used < 200_000
