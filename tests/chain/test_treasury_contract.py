"""Promises of Treasury.sol about paying and refunding, each against a real EVM."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.chain.errors import CallReverted
from engine.chain.treasury import MAX_BATCH, PotPayout
from tests.chain.world import DOLLAR, World

GAS_CAP = 16_777_216  # EIP-7825


def refusal(world: World, payouts: list[PotPayout]) -> CallReverted:
    with pytest.raises(CallReverted) as caught:
        world.send(world.settler, world.treasury.pay_from_pots(payouts))
    return caught.value


@pytest.mark.rule("Y-05")
def test_a_deposit_is_credited_to_its_gig_and_its_funder(world: World) -> None:
    world.fund("GIG_a", 3 * DOLLAR)
    world.fund("GIG_b", 2 * DOLLAR, by=world.charlie)
    treasury = world.treasury
    assert treasury.pot_units("GIG_a") == 3 * DOLLAR
    assert treasury.pot_units("GIG_b") == 2 * DOLLAR
    assert treasury.funded_units("GIG_a", world.alice.address) == 3 * DOLLAR
    assert treasury.funded_units("GIG_a", world.charlie.address) == 0
    assert treasury.accounted_units() == treasury.held_units() == 5 * DOLLAR


@pytest.mark.rule("Y-05")
def test_tokens_sent_unasked_are_in_no_pot(world: World) -> None:
    world.token("mint", world.treasury.address, DOLLAR)
    assert world.treasury.held_units() == DOLLAR
    assert world.treasury.accounted_units() == 0


def test_a_deposit_of_nothing_is_refused(world: World) -> None:
    with pytest.raises(CallReverted) as caught:
        world.send(world.alice, world.treasury.deposit("GIG_a", 0))
    assert caught.value.name == "ZeroAmount"


def test_a_deposit_without_allowance_says_what_is_allowed(world: World) -> None:
    world.send(world.owner, world.treasury.mint(world.alice.address, DOLLAR))
    with pytest.raises(CallReverted) as caught:
        world.send(world.alice, world.treasury.deposit("GIG_a", DOLLAR))
    assert caught.value.name == "ERC20InsufficientAllowance"
    assert "allowed 0 base units; it needs 1000000" in caught.value.reason


@pytest.mark.rule("Y-01")
def test_the_fee_comes_on_top_of_what_the_worker_gets(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    payout = PotPayout("ROLLUP_1", "GIG_a", world.bob.address, 2 * DOLLAR)
    world.send(world.settler, world.treasury.pay_from_pots([payout]))
    assert world.treasury.usdc_units(world.bob.address) == 2 * DOLLAR
    assert world.treasury.fees_due_units() == 200_000
    assert world.treasury.pot_units("GIG_a") == 10 * DOLLAR - 2_200_000
    assert world.treasury.payout_spent("ROLLUP_1")


@pytest.mark.rule("Y-01")
@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    fee_bps=st.integers(0, 5000),
    gross=st.one_of(st.integers(1, 30), st.integers(1, 10**12)),
)
def test_the_fee_is_rounded_down_to_the_base_unit(world: World, fee_bps: int, gross: int) -> None:
    world.tell(world.owner, "setFeeBps", fee_bps)
    gig_id, rollup_id, payee = world.someone(), world.someone(), world.someone()
    fee = gross * fee_bps // 10_000
    world.fund(gig_id, gross + fee)
    before = world.treasury.fees_due_units()
    payout = PotPayout(rollup_id, gig_id, payee, gross)
    world.send(world.settler, world.treasury.pay_from_pots([payout]))
    # To the unit: a pot filled with exactly this much is empty afterwards.
    assert world.treasury.pot_units(gig_id) == 0
    assert world.treasury.usdc_units(payee) == gross
    assert world.treasury.fees_due_units() - before == fee
    assert world.treasury.accounted_units() == world.treasury.held_units()


@pytest.mark.rule("Y-03")
def test_a_payout_id_is_spent_once_for_ever(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    world.fund("GIG_b", 10 * DOLLAR)
    first = PotPayout("ROLLUP_1", "GIG_a", world.bob.address, DOLLAR)
    world.send(world.settler, world.treasury.pay_from_pots([first]))
    for again in (first, PotPayout("ROLLUP_1", "GIG_b", world.charlie.address, 2 * DOLLAR)):
        error = refusal(world, [again])
        assert error.name == "PayoutSpent"
        assert error.values["payoutId"] == "0x" + world.treasury.payout_key("ROLLUP_1").hex()
    assert world.treasury.usdc_units(world.bob.address) == DOLLAR


@pytest.mark.rule("Y-03")
def test_the_same_id_twice_in_one_batch_pays_nothing(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    twice = [PotPayout("ROLLUP_1", "GIG_a", world.bob.address, DOLLAR)] * 2
    error = refusal(world, twice)
    assert (error.name, error.values["index"]) == ("PayoutSpent", 1)
    assert not world.treasury.payout_spent("ROLLUP_1")
    assert world.treasury.pot_units("GIG_a") == 10 * DOLLAR


@pytest.mark.rule("Y-02")
def test_a_pot_pays_only_what_it_holds_fee_included(world: World) -> None:
    world.fund("GIG_a", 1_099_999)
    world.fund("GIG_rich", 50 * DOLLAR)
    error = refusal(
        world,
        [
            PotPayout("ROLLUP_1", "GIG_rich", world.bob.address, DOLLAR),
            PotPayout("ROLLUP_2", "GIG_a", world.bob.address, DOLLAR),
        ],
    )
    assert error.name == "PotShort"
    assert error.values["index"] == 1
    assert error.values["payoutId"] == "0x" + world.treasury.payout_key("ROLLUP_2").hex()
    assert error.values["gigId"] == "0x" + world.treasury.gig_key("GIG_a").hex()
    assert (error.values["needed"], error.values["held"]) == (1_100_000, 1_099_999)
    assert world.treasury.usdc_units(world.bob.address) == 0


def test_an_absurd_amount_is_short_like_any_other(world: World) -> None:
    world.fund("GIG_a", DOLLAR)
    error = refusal(world, [PotPayout("ROLLUP_1", "GIG_a", world.bob.address, 2**256 - 1)])
    assert error.name == "PotShort"


@pytest.mark.rule("Y-04")
def test_a_blacklisted_payee_is_named_with_the_tokens_reason(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    world.token("blacklist", world.bob.address)
    good = PotPayout("ROLLUP_1", "GIG_a", world.charlie.address, DOLLAR)
    bad = PotPayout("ROLLUP_2", "GIG_a", world.bob.address, DOLLAR)
    error = refusal(world, [good, bad])
    assert error.name == "PayoutRefused"
    assert error.values["index"] == 1
    assert error.values["to"] == world.bob.address
    assert error.reason == (
        f"The token refused to pay {world.bob.address}: Blacklistable: account is blacklisted."
    )
    # The others are paid without him, and he is paid once he is let in again.
    world.send(world.settler, world.treasury.pay_from_pots([good]))
    world.token("unBlacklist", world.bob.address)
    world.send(world.settler, world.treasury.pay_from_pots([bad]))
    assert world.treasury.usdc_units(world.bob.address) == DOLLAR


def test_a_paused_token_stops_a_payout_with_its_reason(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    world.token("pause")
    error = refusal(world, [PotPayout("ROLLUP_1", "GIG_a", world.bob.address, DOLLAR)])
    assert (error.name, error.values["reason"]) == ("PayoutRefused", "Pausable: paused.")


def test_nobody_nothing_and_ourselves_cannot_be_paid(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    treasury = world.treasury
    for payee in ("0x" + "0" * 40, treasury.address, treasury.usdc_address):
        error = refusal(world, [PotPayout("ROLLUP_1", "GIG_a", payee, DOLLAR)])
        assert (error.name, error.values["to"]) == ("PayeeUnfit", payee)
    error = refusal(world, [PotPayout("ROLLUP_1", "GIG_a", world.bob.address, 0)])
    assert (error.name, error.values["index"]) == ("PayoutOfNothing", 0)


@pytest.mark.rule("Y-02")
def test_a_full_batch_to_new_people_fits_a_transaction_and_one_more_is_refused(
    world: World,
) -> None:
    world.fund("GIG_a", 1000 * DOLLAR)
    batch = [
        PotPayout(f"ROLLUP_{n}", "GIG_a", f"0x{n:040x}", DOLLAR)
        for n in range(1000, 1000 + MAX_BATCH + 1)
    ]
    error = refusal(world, batch)
    assert (error.name, error.values) == ("BatchTooLong", {"length": 101, "max": 100})
    assert refusal(world, []).name == "BatchEmpty"
    receipt = world.send(world.settler, world.treasury.pay_from_pots(batch[:MAX_BATCH]))
    assert receipt.gas_used * 12 // 10 < GAS_CAP
    assert world.treasury.pot_units("GIG_a") == 1000 * DOLLAR - MAX_BATCH * 1_100_000


@pytest.mark.rule("Y-05")
def test_a_refund_gives_no_more_than_its_funder_put_in(world: World) -> None:
    world.fund("GIG_a", 3 * DOLLAR)
    world.fund("GIG_a", 5 * DOLLAR, by=world.charlie)
    treasury, alice = world.treasury, world.alice.address
    with pytest.raises(CallReverted) as caught:
        world.send(world.refunder, treasury.refund_pot("R_1", "GIG_a", alice, 3 * DOLLAR + 1))
    assert caught.value.name == "RefundAboveFunding"
    assert (caught.value.values["wanted"], caught.value.values["funded"]) == (3_000_001, 3_000_000)
    world.send(world.refunder, treasury.refund_pot("R_1", "GIG_a", alice, 2 * DOLLAR))
    assert treasury.usdc_units(alice) == 2 * DOLLAR
    assert treasury.funded_units("GIG_a", alice) == DOLLAR
    assert treasury.pot_units("GIG_a") == 6 * DOLLAR
    with pytest.raises(CallReverted) as caught:
        world.send(world.refunder, treasury.refund_pot("R_2", "GIG_a", alice, 2 * DOLLAR))
    assert caught.value.name == "RefundAboveFunding"


def test_a_refund_id_is_spent_once_for_ever(world: World) -> None:
    world.fund("GIG_a", 3 * DOLLAR)
    call = world.treasury.refund_pot("R_1", "GIG_a", world.alice.address, DOLLAR)
    world.send(world.refunder, call)
    with pytest.raises(CallReverted) as caught:
        world.send(world.refunder, call)
    assert caught.value.name == "RefundSpent"
    assert world.treasury.refund_spent("R_1")


def test_a_refund_gives_no_more_than_the_pot_still_holds(world: World) -> None:
    world.fund("GIG_a", 3 * DOLLAR)
    payout = PotPayout("ROLLUP_1", "GIG_a", world.bob.address, 2 * DOLLAR)
    world.send(world.settler, world.treasury.pay_from_pots([payout]))
    with pytest.raises(CallReverted) as caught:
        world.send(
            world.refunder,
            world.treasury.refund_pot("R_1", "GIG_a", world.alice.address, DOLLAR),
        )
    assert caught.value.name == "RefundAbovePot"
    assert caught.value.values["held"] == 800_000


def test_a_refund_of_nothing_and_one_that_the_token_refuses_are_named(world: World) -> None:
    world.fund("GIG_a", 3 * DOLLAR)
    alice = world.alice.address
    with pytest.raises(CallReverted) as caught:
        world.send(world.refunder, world.treasury.refund_pot("R_1", "GIG_a", alice, 0))
    assert caught.value.name == "ZeroAmount"
    world.token("blacklist", alice)
    with pytest.raises(CallReverted) as caught:
        world.send(world.refunder, world.treasury.refund_pot("R_1", "GIG_a", alice, DOLLAR))
    assert caught.value.name == "RefundRefused"
    assert "blacklisted" in caught.value.reason
    assert world.treasury.funded_units("GIG_a", alice) == 3 * DOLLAR
