"""How a named deposit is paid out: once, to whom its terms say, nearly whole."""

from __future__ import annotations

import pytest

from engine.chain.client import Call
from engine.chain.deploy import send_and_wait
from engine.chain.deposit_terms import NOBODY
from engine.chain.errors import CallReverted
from engine.chain.treasury import MAX_BATCH, DepositSettled, PotPayout, Settlement
from tests.chain.world import DOLLAR, World

GAS_CAP = 16_777_216  # EIP-7825
UNITS = 1_100_000


def refusal(world: World, items: list[Settlement]) -> CallReverted:
    return world.refused(world.settler, world.treasury.settle(items))


@pytest.mark.rule("Y-07")
def test_a_settlement_pays_the_payee_and_keeps_fee_and_residue_apart(world: World) -> None:
    treasury = world.treasury
    deposit = world.opened(UNITS + 7)
    receipt = world.settle("ROLLUP_1", deposit)
    assert treasury.usdc_units(world.bob.address) == DOLLAR
    assert treasury.fees_due_units() == 100_000
    assert treasury.residue_due_units() == 7
    assert treasury.deposits_total_units() == 0
    assert treasury.accounted_units() == treasury.held_units() == 100_007
    assert treasury.payout_spent("ROLLUP_1")
    assert treasury.deposit_on_chain(deposit).state == "settled"
    (event,) = treasury.events(receipt.block_number, receipt.block_number)
    assert event == DepositSettled(
        block_number=receipt.block_number,
        block_hash=receipt.block_hash,
        tx_hash=receipt.tx_hash,
        log_index=event.log_index,
        payout_key="0x" + treasury.payout_key("ROLLUP_1").hex(),
        deposit_key=deposit,
        gig_key="0x" + treasury.gig_key("GIG_a").hex(),
        to=world.bob.address,
        amount_units=DOLLAR,
        fee_units=100_000,
        residue_units=7,
    )


@pytest.mark.rule("Y-01")
def test_a_deposit_keeps_the_fee_rate_it_was_made_at(world: World) -> None:
    deposit = world.opened(UNITS)
    world.tell(world.owner, "setFeeBps", 5000)
    world.settle("ROLLUP_1", deposit)
    assert world.treasury.fees_due_units() == 100_000
    assert world.treasury.deposit_on_chain(deposit).fee_bps == 1000


@pytest.mark.rule("Y-03")
def test_one_payout_id_is_spent_once_whichever_function_pays_it(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    one, two = world.opened(UNITS), world.opened(UNITS)
    from_pot = PotPayout("ROLLUP_pot", "GIG_a", world.bob.address, DOLLAR)
    world.send(world.settler, world.treasury.pay_from_pots([from_pot]))
    error = refusal(world, [Settlement("ROLLUP_pot", one, world.bob.address, DOLLAR)])
    assert (error.name, error.values["index"]) == ("PayoutSpent", 0)
    world.settle("ROLLUP_deposit", one)
    for again in (one, two):
        error = refusal(world, [Settlement("ROLLUP_deposit", again, world.bob.address, DOLLAR)])
        assert error.name == "PayoutSpent"
    payout = PotPayout("ROLLUP_deposit", "GIG_a", world.bob.address, DOLLAR)
    error = world.refused(world.settler, world.treasury.pay_from_pots([payout]))
    assert error.name == "PayoutSpent"
    assert world.treasury.usdc_units(world.bob.address) == 2 * DOLLAR


@pytest.mark.rule("Y-03")
def test_one_deposit_is_settled_once(world: World) -> None:
    treasury, bob = world.treasury, world.bob.address
    deposit, refunded = world.opened(UNITS), world.opened(UNITS)
    twice = [Settlement(f"ROLLUP_{n}", deposit, bob, DOLLAR) for n in range(2)]
    error = refusal(world, twice)
    assert (error.name, error.values["index"]) == ("SettleNotOpen", 1)
    assert treasury.usdc_units(bob) == 0
    world.settle("ROLLUP_0", deposit)
    world.send(world.refunder, treasury.refund(refunded))
    for found, state, number in ((deposit, "settled", 2), (refunded, "refunded", 3)):
        error = refusal(world, [Settlement("ROLLUP_1", found, bob, DOLLAR)])
        assert (error.name, error.values["state"]) == ("SettleNotOpen", number)
        assert error.values["payoutId"] == "0x" + treasury.payout_key("ROLLUP_1").hex()
        assert error.values["depositId"] == found
        assert error.reason.endswith(f"which is {state}.")
    error = refusal(world, [Settlement("ROLLUP_1", "0x" + "01" * 32, bob, DOLLAR)])
    assert (error.name, error.values["state"]) == ("SettleNotOpen", 0)
    assert treasury.usdc_units(bob) == DOLLAR


@pytest.mark.rule("Y-07")
def test_a_payee_of_the_terms_cannot_be_replaced(world: World) -> None:
    deposit = world.opened(UNITS)
    for other in (world.charlie.address, NOBODY, world.alice.address):
        error = refusal(world, [Settlement("ROLLUP_1", deposit, other, DOLLAR)])
        assert error.name == "SettlePayeeFixed"
        assert (error.values["to"], error.values["payee"]) == (other, world.bob.address)


@pytest.mark.rule("Y-07")
def test_an_open_payee_is_named_when_it_is_settled(world: World) -> None:
    treasury = world.treasury
    deposit = world.opened(UNITS, payee=NOBODY)
    for unfit in (NOBODY, treasury.address, treasury.usdc_address):
        error = refusal(world, [Settlement("ROLLUP_1", deposit, unfit, DOLLAR)])
        assert (error.name, error.values["to"]) == ("PayeeUnfit", unfit)
    world.settle("ROLLUP_1", deposit, to=world.charlie.address)
    assert treasury.usdc_units(world.charlie.address) == DOLLAR
    assert treasury.deposit_on_chain(deposit).payee == NOBODY


@pytest.mark.rule("Y-07")
def test_payees_whom_the_settler_names_count_towards_the_daily_cap(world: World) -> None:
    treasury = world.treasury
    world.fund("GIG_a", 10 * DOLLAR)
    fixed = [world.opened(UNITS) for _ in range(3)]
    named = [world.opened(UNITS + 7, payee=NOBODY) for _ in range(3)]
    world.start_of_next_day()
    world.tell(world.owner, "setDailyCap", 3 * UNITS)
    bob = world.bob.address
    batch = [Settlement(f"ROLLUP_f{n}", fixed[n], bob, DOLLAR) for n in range(2)]
    batch += [Settlement(f"ROLLUP_n{n}", named[n], bob, DOLLAR) for n in range(2)]
    world.send(world.settler, treasury.settle(batch))
    # Gross and fee of two; neither their residue nor the two whose payee was fixed.
    assert treasury.left_today_units() == UNITS
    payout = PotPayout("ROLLUP_p", "GIG_a", bob, DOLLAR)
    world.send(world.settler, treasury.pay_from_pots([payout]))
    last = [
        Settlement("ROLLUP_f2", fixed[2], bob, DOLLAR),
        Settlement("ROLLUP_n2", named[2], bob, DOLLAR),
    ]
    error = refusal(world, last)
    assert (error.name, error.values["index"]) == ("OverDailyCap", 1)
    assert (error.values["needed"], error.values["left"]) == (UNITS, 0)
    world.send(world.settler, treasury.settle(last[:1]))
    world.start_of_next_day()
    world.send(world.settler, treasury.settle(last[1:]))
    assert treasury.left_today_units() == 2 * UNITS


@pytest.mark.rule("Y-07")
def test_amount_and_fee_never_exceed_the_deposit(world: World) -> None:
    deposit = world.opened(UNITS - 1)
    bob = world.bob.address
    for units, needed in ((DOLLAR, UNITS), (UNITS, UNITS), (2**256 - 1, 2**256 - 1)):
        error = refusal(world, [Settlement("ROLLUP_1", deposit, bob, units)])
        assert error.name == "SettleShort"
        assert (error.values["needed"], error.values["held"]) == (needed, UNITS - 1)
    error = refusal(world, [Settlement("ROLLUP_1", deposit, bob, 0)])
    assert error.name == "PayoutOfNothing"
    world.settle("ROLLUP_1", deposit, DOLLAR - 1)


@pytest.mark.rule("Y-07")
def test_a_settlement_leaves_less_than_a_cent_and_its_fee(world: World) -> None:
    for bps in (0, 1000, 5000):
        world.tell(world.owner, "setFeeBps", bps)
        needed = DOLLAR + DOLLAR * bps // 10_000
        bound = 10_000 + bps
        over, under = world.opened(needed + bound), world.opened(needed + bound - 1)
        error = refusal(world, [Settlement(f"ROLLUP_{bps}", over, world.bob.address, DOLLAR)])
        assert error.name == "SettleResidue"
        assert (error.values["residue"], error.values["below"]) == (bound, bound)
        before = world.treasury.residue_due_units()
        world.settle(f"ROLLUP_{bps}", under)
        assert world.treasury.residue_due_units() - before == bound - 1


@pytest.mark.rule("Y-04")
def test_a_batch_is_settled_whole_or_not_at_all(world: World) -> None:
    treasury = world.treasury
    good, bad = world.opened(UNITS), world.opened(UNITS, payee=world.charlie.address)
    world.token("blacklist", world.charlie.address)
    batch = [
        Settlement("ROLLUP_1", good, world.bob.address, DOLLAR),
        Settlement("ROLLUP_2", bad, world.charlie.address, DOLLAR),
    ]
    error = refusal(world, batch)
    assert (error.name, error.values["index"]) == ("PayoutRefused", 1)
    assert error.values["payoutId"] == "0x" + treasury.payout_key("ROLLUP_2").hex()
    assert error.reason == (
        f"The token refused to pay {world.charlie.address}: Blacklistable: account is blacklisted."
    )
    assert treasury.usdc_units(world.bob.address) == 0
    assert treasury.deposits_total_units() == 2 * UNITS
    assert not treasury.payout_spent("ROLLUP_1")
    world.send(world.settler, treasury.settle(batch[:1]))


@pytest.mark.rule("Y-02")
def test_a_pot_never_spends_what_open_deposits_hold(world: World) -> None:
    world.opened(50 * DOLLAR)
    world.fund("GIG_a", UNITS - 1)
    payout = PotPayout("ROLLUP_1", "GIG_a", world.bob.address, DOLLAR)
    error = world.refused(world.settler, world.treasury.pay_from_pots([payout]))
    assert (error.name, error.values["held"]) == ("PotShort", UNITS - 1)
    refund = world.treasury.refund_pot("R_1", "GIG_a", world.alice.address, UNITS)
    assert world.refused(world.refunder, refund).name == "RefundAboveFunding"
    fees = world.treasury.withdraw_fees(world.someone(), 1)
    assert world.refused(world.owner, fees).name == "FeesShort"


@pytest.mark.rule("Y-02")
def test_a_full_batch_to_new_people_fits_a_transaction_and_one_more_is_refused(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    treasury, count = world.treasury, MAX_BATCH + 1
    world.token("mint", world.alice.address, count * UNITS)
    world.send(world.alice, treasury.approve(count * UNITS))
    people = [f"0x{n:040x}" for n in range(5000, 5000 + count)]
    terms = [world.terms(UNITS, payee=person) for person in people]
    opening = [treasury.deposit_for(one) for one in terms]
    send_and_wait(world.chain, world.alice.key, opening, gas=300_000)
    batch = [
        Settlement(f"ROLLUP_{n}", treasury.deposit_id(terms[n]), people[n], DOLLAR)
        for n in range(count)
    ]
    error = refusal(world, batch)
    assert (error.name, error.values) == ("BatchTooLong", {"length": 101, "max": 100})
    assert refusal(world, []).name == "BatchEmpty"
    receipt = world.send(world.settler, treasury.settle(batch[:MAX_BATCH]))
    assert receipt.gas_used * 12 // 10 < GAS_CAP
    assert treasury.fees_due_units() == MAX_BATCH * 100_000
    assert treasury.deposits_total_units() == UNITS
    with capsys.disabled():
        print(f"\ngas: settle of 100 to new people {receipt.gas_used:,}")


def test_what_each_function_costs(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed for whoever wonders; the exact figures are kept with the contracts' own tests."""
    treasury, alice = world.treasury, world.alice
    send_and_wait(world.chain, world.settler.key, [Call(world.someone(), b"", 1)], gas=21_000)
    world.token("mint", alice.address, 10 * DOLLAR)
    world.send(alice, treasury.approve(10 * DOLLAR))
    terms = [world.terms(UNITS) for _ in range(2)]
    one, two = (treasury.deposit_id(each) for each in terms)
    spent = {
        "deposit": world.send(alice, treasury.deposit("GIG_a", DOLLAR)),
        "depositFor, the first": world.send(alice, treasury.deposit_for(terms[0])),
        "depositFor": world.send(alice, treasury.deposit_for(terms[1])),
        "settle": world.settle("ROLLUP_1", one),
        "refund": world.send(world.refunder, treasury.refund(two)),
    }
    with capsys.disabled():
        print("\ngas: " + ", ".join(f"{name} {got.gas_used:,}" for name, got in spent.items()))
