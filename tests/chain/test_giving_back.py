"""How a deposit goes back: by the refunder, or by its depositor when nobody settles it."""

from __future__ import annotations

import pytest

from engine.chain.client import Call
from engine.chain.treasury import (
    Claimed,
    DepositReclaimed,
    DepositRefunded,
    FeesWithdrawn,
    PotPayout,
    ReclaimRequested,
    Settlement,
)
from tests.chain.world import DOLLAR, Person, World

DAY = 86_400
UNITS = 1_100_000


@pytest.mark.rule("Y-07")
def test_a_refund_gives_the_whole_deposit_to_its_depositor(world: World) -> None:
    treasury, deposit = world.treasury, world.opened(UNITS)
    receipt = world.send(world.refunder, treasury.refund(deposit))
    assert treasury.usdc_units(world.alice.address) == UNITS
    assert treasury.deposit_on_chain(deposit).state == "refunded"
    assert treasury.accounted_units() == treasury.held_units() == 0
    (event,) = treasury.events(receipt.block_number, receipt.block_number)
    assert isinstance(event, DepositRefunded)
    assert (event.deposit_key, event.depositor) == (deposit, world.alice.address)
    assert (event.amount_units, event.claimable) == (UNITS, False)
    assert event.gig_key == "0x" + treasury.gig_key("GIG_a").hex()


def test_only_an_open_deposit_goes_back(world: World) -> None:
    treasury = world.treasury
    settled, refunded = world.opened(UNITS), world.opened(UNITS)
    world.settle("ROLLUP_1", settled)
    world.send(world.refunder, treasury.refund(refunded))
    for found, state in (("0x" + "01" * 32, 0), (settled, 2), (refunded, 3)):
        for who, call in (
            (world.refunder, treasury.refund(found)),
            (world.alice, treasury.request_reclaim(found)),
            (world.alice, treasury.reclaim(found)),
        ):
            error = world.refused(who, call)
            assert error.name == "DepositNotOpen"
            assert error.values == {"depositId": found, "state": state}


@pytest.mark.rule("Y-07")
def test_what_the_token_refuses_to_give_back_can_be_claimed(world: World) -> None:
    treasury, alice = world.treasury, world.alice.address
    deposit, other = world.opened(UNITS), world.opened(UNITS)
    world.token("blacklist", alice)
    receipt = world.send(world.refunder, treasury.refund(deposit))
    (event,) = treasury.events(receipt.block_number, receipt.block_number)
    assert isinstance(event, DepositRefunded)
    assert event.claimable
    assert treasury.claimable_units(alice) == treasury.claimable_total_units() == UNITS
    assert treasury.deposits_total_units() == UNITS
    assert treasury.accounted_units() == treasury.held_units() == 2 * UNITS
    error = world.refused(world.alice, treasury.claim())
    assert error.name == "ClaimRefused"
    assert "blacklisted" in error.reason
    # A second refusal adds to the first.
    world.send(world.refunder, treasury.refund(other))
    assert treasury.claimable_units(alice) == 2 * UNITS
    world.token("unBlacklist", alice)
    claimed = world.send(world.alice, treasury.claim())
    assert treasury.usdc_units(alice) == 2 * UNITS
    assert treasury.claimable_units(alice) == treasury.claimable_total_units() == 0
    (event,) = treasury.events(claimed.block_number, claimed.block_number)
    assert isinstance(event, Claimed)
    assert (event.account, event.amount_units) == (alice, 2 * UNITS)
    for person in (world.alice, world.charlie):
        error = world.refused(person, treasury.claim())
        assert (error.name, error.values) == ("NothingToClaim", {"account": person.address})


@pytest.mark.rule("Y-07")
def test_a_deposit_is_reclaimed_without_us_after_90_and_30_days(world: World) -> None:
    treasury, alice = world.treasury, world.alice
    deposit = world.opened(UNITS)
    opened = treasury.deposit_on_chain(deposit).opened_at // 1000
    assert world.refused(alice, treasury.reclaim(deposit)).name == "ReclaimNotRequested"
    error = world.refused(alice, treasury.request_reclaim(deposit))
    assert (error.name, error.values["notBefore"]) == ("ReclaimTooEarly", opened + 90 * DAY)
    world.wait_seconds(90 * DAY)
    requested = world.send(alice, treasury.request_reclaim(deposit))
    reclaim_at = world.chain.block(requested.block_number).timestamp + 30 * DAY
    assert treasury.deposit_on_chain(deposit).reclaim_at == reclaim_at * 1000
    (event,) = treasury.events(requested.block_number, requested.block_number)
    assert isinstance(event, ReclaimRequested)
    assert (event.deposit_key, event.reclaim_at_seconds) == (deposit, reclaim_at)
    assert event.gig_key == "0x" + treasury.gig_key("GIG_a").hex()
    # Asking again does not begin the 30 days anew.
    error = world.refused(alice, treasury.request_reclaim(deposit))
    assert (error.name, error.values["reclaimAt"]) == ("ReclaimRequestedBefore", reclaim_at)
    error = world.refused(alice, treasury.reclaim(deposit))
    assert (error.name, error.values["notBefore"]) == ("ReclaimTooEarly", reclaim_at)
    world.wait_seconds(30 * DAY)
    receipt = world.send(alice, treasury.reclaim(deposit))
    assert treasury.usdc_units(alice.address) == UNITS
    assert treasury.deposit_on_chain(deposit).state == "refunded"
    (event,) = treasury.events(receipt.block_number, receipt.block_number)
    assert isinstance(event, DepositReclaimed)
    assert (event.deposit_key, event.depositor) == (deposit, alice.address)
    assert (event.amount_units, event.claimable) == (UNITS, False)


@pytest.mark.rule("Y-07")
def test_the_terms_reclaimer_gives_it_back_to_the_depositor_and_no_other_can(world: World) -> None:
    treasury = world.treasury
    deposit = world.opened(UNITS, reclaimer=world.charlie.address)
    nobodys = world.opened(UNITS)
    world.wait_seconds(90 * DAY)
    strangers: list[tuple[str, Person]] = [(deposit, person) for person in (world.bob, world.owner)]
    strangers += [(deposit, world.settler), (deposit, world.refunder), (nobodys, world.charlie)]
    for found, person in strangers:
        for call in (treasury.request_reclaim(found), treasury.reclaim(found)):
            error = world.refused(person, call)
            assert error.name == "ReclaimNotYours"
            assert error.values["account"] == person.address
    world.send(world.charlie, treasury.request_reclaim(deposit))
    world.wait_seconds(30 * DAY)
    world.send(world.charlie, treasury.reclaim(deposit))
    assert treasury.usdc_units(world.alice.address) == UNITS
    assert treasury.usdc_units(world.charlie.address) == 0


@pytest.mark.rule("Y-07")
def test_approved_work_is_still_settled_while_a_reclaim_is_announced(world: World) -> None:
    treasury, deposit = world.treasury, world.opened(UNITS)
    world.wait_seconds(90 * DAY)
    world.send(world.alice, treasury.request_reclaim(deposit))
    world.wait_seconds(31 * DAY)
    world.settle("ROLLUP_1", deposit)
    assert treasury.usdc_units(world.bob.address) == DOLLAR
    error = world.refused(world.alice, treasury.reclaim(deposit))
    assert (error.name, error.values["state"]) == ("DepositNotOpen", 2)


def test_a_reclaim_that_the_token_refuses_can_be_claimed(world: World) -> None:
    treasury, deposit = world.treasury, world.opened(UNITS, reclaimer=world.charlie.address)
    world.wait_seconds(90 * DAY)
    world.send(world.charlie, treasury.request_reclaim(deposit))
    world.wait_seconds(30 * DAY)
    world.token("blacklist", world.alice.address)
    receipt = world.send(world.charlie, treasury.reclaim(deposit))
    (event,) = treasury.events(receipt.block_number, receipt.block_number)
    assert isinstance(event, DepositReclaimed)
    assert event.claimable
    assert treasury.claimable_units(world.alice.address) == UNITS


@pytest.mark.rule("Y-07")
def test_a_pause_stops_payouts_and_nothing_that_goes_back(world: World) -> None:
    treasury, bob = world.treasury, world.bob.address
    world.fund("GIG_a", 10 * DOLLAR)
    first, second, third, kept = (world.opened(UNITS) for _ in range(4))
    world.wait_seconds(90 * DAY)
    world.send(world.alice, treasury.request_reclaim(first))
    world.wait_seconds(30 * DAY)
    world.token("blacklist", world.alice.address)
    world.send(world.refunder, treasury.refund(third))
    world.token("unBlacklist", world.alice.address)
    world.tell(world.guardian, "pause")
    closed: list[Call] = [
        treasury.settle([Settlement("ROLLUP_1", kept, bob, DOLLAR)]),
        treasury.pay_from_pots([PotPayout("ROLLUP_1", "GIG_a", bob, DOLLAR)]),
    ]
    for call in closed:
        assert world.refused(world.settler, call).name == "PayoutsPaused"
    for person, call in (
        (world.alice, treasury.reclaim(first)),
        (world.refunder, treasury.refund(second)),
        (world.alice, treasury.claim()),
        (world.alice, treasury.request_reclaim(kept)),
        (world.refunder, treasury.refund_pot("R_1", "GIG_a", world.alice.address, DOLLAR)),
    ):
        world.send(person, call)
    assert treasury.usdc_units(world.alice.address) == 3 * UNITS + DOLLAR
    world.wait_seconds(14 * DAY)
    for call in closed[:1]:
        world.send(world.settler, call)


@pytest.mark.rule("Y-05")
def test_the_owner_takes_fees_first_and_then_residue(world: World) -> None:
    treasury, till = world.treasury, world.someone()
    world.settle("ROLLUP_1", world.opened(UNITS + 9_000))
    world.opened(UNITS)
    block = world.chain.block_number() + 1
    world.send(world.owner, treasury.withdraw_fees(till, 40_000))
    world.send(world.owner, treasury.withdraw_fees(till, 61_000))
    error = world.refused(world.owner, treasury.withdraw_fees(till, 8_001))
    assert (error.name, error.values) == ("FeesShort", {"wanted": 8_001, "due": 8_000})
    assert treasury.fees_due_units() == 0
    assert treasury.residue_due_units() == 8_000
    world.send(world.owner, treasury.withdraw_fees(till, 8_000))
    events = treasury.events(block, world.chain.block_number())
    assert all(isinstance(event, FeesWithdrawn) for event in events)
    taken = [
        (event.fees_units, event.residue_units)
        for event in events
        if isinstance(event, FeesWithdrawn)
    ]
    assert taken == [(40_000, 0), (60_000, 1_000), (0, 8_000)]
    assert treasury.usdc_units(till) == 109_000
    assert treasury.accounted_units() == treasury.held_units() == UNITS
