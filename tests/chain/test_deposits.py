"""How a named deposit comes to be: on which terms, under which id, by whom."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.chain.abi import artifact
from engine.chain.client import Call
from engine.chain.deposit_terms import NOBODY, deposit_id, signature_parts
from engine.chain.keys import sign_typed_data
from engine.chain.treasury import DepositOnChain, DepositOpened, Terms
from tests.chain.world import DOLLAR, World

FAR = 2**40
UNITS = 1_100_000


def changes(world: World) -> list[tuple[str, object]]:
    """Every term with another value that is as good."""
    return [
        ("depositor", world.charlie.address),
        ("payee", world.charlie.address),
        ("gig_id", "GIG_b"),
        ("units", UNITS - 1),
        ("fee_bps", 999),
        ("reclaimer", world.charlie.address),
        ("salt", "0x" + "22" * 32),
    ]


@pytest.mark.rule("Y-07")
def test_a_deposit_holds_what_its_terms_say(world: World) -> None:
    terms = world.terms(UNITS, reclaimer=world.charlie.address)
    block = world.chain.block_number() + 1
    found = world.open(terms)
    treasury = world.treasury
    on_chain = treasury.deposit_on_chain(found)
    assert on_chain == DepositOnChain(
        state="open",
        depositor=world.alice.address,
        payee=world.bob.address,
        gig_key="0x" + treasury.gig_key("GIG_a").hex(),
        units=UNITS,
        fee_bps=1000,
        opened_at=world.chain.block().timestamp * 1000,
        reclaim_at=0,
    )
    assert treasury.deposits_total_units() == UNITS
    assert treasury.accounted_units() == treasury.held_units() == UNITS
    # It is in no pot.
    assert treasury.pot_units("GIG_a") == 0
    (event,) = treasury.events(block, world.chain.block_number())
    assert isinstance(event, DepositOpened)
    assert (event.deposit_key, event.gig_key) == (found, on_chain.gig_key)
    assert (event.depositor, event.payee) == (on_chain.depositor, on_chain.payee)
    assert (event.amount_units, event.fee_bps) == (UNITS, 1000)


def test_an_unknown_id_is_none(world: World) -> None:
    nothing = world.treasury.deposit_on_chain("0x" + "00" * 32)
    assert nothing == DepositOnChain("none", NOBODY, NOBODY, "0x" + "00" * 32, 0, 0, 0, 0)


@pytest.mark.rule("Y-07")
def test_the_id_is_the_contracts_own_and_every_term_changes_it(world: World) -> None:
    treasury, terms = world.treasury, world.terms()
    seen = {treasury.deposit_id(terms)}
    for name, value in changes(world):
        other = replace(terms, **{name: value})
        data = artifact("Treasury").encode("depositIdOf", [other.row()])
        (asked,) = artifact("Treasury").decode(
            "depositIdOf", world.chain.call(Call(treasury.address, data))
        )
        assert treasury.deposit_id(other) == "0x" + asked.hex()
        seen.add(treasury.deposit_id(other))
    chain_id = world.chain.chain_id()
    seen.add(deposit_id(chain_id + 1, treasury.address, terms))
    seen.add(deposit_id(chain_id, world.alice.address, terms))
    assert len(seen) == 10


@pytest.mark.rule("Y-07")
def test_nobody_else_can_take_the_id_of_somebodys_terms(world: World) -> None:
    terms = world.terms(1)
    world.token("mint", world.charlie.address, DOLLAR)
    world.send(world.charlie, world.treasury.approve(DOLLAR))
    error = world.refused(world.charlie, world.treasury.deposit_for(terms))
    assert error.name == "DepositorOnly"
    assert error.values == {
        "depositId": world.treasury.deposit_id(terms),
        "account": world.charlie.address,
    }
    assert world.treasury.deposit_on_chain(world.treasury.deposit_id(terms)).state == "none"


@pytest.mark.rule("Y-03")
def test_an_id_is_opened_once_whatever_became_of_it(world: World) -> None:
    treasury = world.treasury
    kept, settled, refunded = (world.terms(UNITS) for _ in range(3))
    ids = [world.open(terms) for terms in (kept, settled, refunded)]
    world.settle("ROLLUP_1", ids[1])
    world.send(world.refunder, treasury.refund(ids[2]))
    world.token("mint", world.alice.address, 10 * DOLLAR)
    world.send(world.alice, treasury.approve(10 * DOLLAR))
    for number, state in ((0, "open"), (1, "settled"), (2, "refunded")):
        terms = (kept, settled, refunded)[number]
        error = world.refused(world.alice, treasury.deposit_for(terms))
        assert (error.name, error.values["depositId"]) == ("DepositExists", ids[number])
        assert error.reason.endswith(f"it is {state}.")
        signed = sign_typed_data(world.alice.key, treasury.deposit_typed_data(terms, 0, FAR))
        call = treasury.deposit_with_authorization(terms, 0, FAR, signed)
        assert world.refused(world.charlie, call).name == "DepositExists"


@pytest.mark.rule("Y-01")
def test_a_fee_that_moved_meanwhile_refuses_the_deposit(world: World) -> None:
    terms = world.terms()
    for bps in (999, 1001):
        world.tell(world.owner, "setFeeBps", bps)
        error = world.refused(world.alice, world.treasury.deposit_for(terms))
        assert error.name == "FeeMoved"
        assert (error.values["termsBps"], error.values["presentBps"]) == (1000, bps)
        signed = sign_typed_data(world.alice.key, world.treasury.deposit_typed_data(terms, 0, FAR))
        call = world.treasury.deposit_with_authorization(terms, 0, FAR, signed)
        assert world.refused(world.charlie, call).name == "FeeMoved"
    world.tell(world.owner, "setFeeBps", 1000)
    assert world.treasury.deposit_on_chain(world.open(terms)).state == "open"


def test_terms_that_could_never_be_settled_are_refused(world: World) -> None:
    treasury = world.treasury
    for changed, name in (
        ({"units": 0}, "ZeroAmount"),
        ({"units": 2**96}, "DepositTooLarge"),
        ({"payee": treasury.address}, "DepositPayeeUnfit"),
        ({"payee": treasury.usdc_address}, "DepositPayeeUnfit"),
    ):
        terms = replace(world.terms(), **changed)
        assert world.refused(world.alice, treasury.deposit_for(terms)).name == name


def test_a_deposit_without_allowance_or_money_opens_nothing(world: World) -> None:
    terms = world.terms()
    error = world.refused(world.alice, world.treasury.deposit_for(terms))
    assert error.name == "ERC20InsufficientAllowance"
    world.send(world.alice, world.treasury.approve(terms.units))
    error = world.refused(world.alice, world.treasury.deposit_for(terms))
    assert error.name == "ERC20InsufficientBalance"
    assert world.treasury.deposit_on_chain(world.treasury.deposit_id(terms)).state == "none"


@pytest.mark.rule("O-10")
def test_a_signature_makes_a_deposit_whoever_hands_it_in(world: World) -> None:
    terms, treasury = world.terms(UNITS), world.treasury
    world.token("mint", world.alice.address, UNITS)
    signed = sign_typed_data(world.alice.key, treasury.deposit_typed_data(terms, 0, FAR))
    world.send(world.charlie, treasury.deposit_with_authorization(terms, 0, FAR, signed))
    found = treasury.deposit_on_chain(treasury.deposit_id(terms))
    assert (found.state, found.depositor, found.units) == ("open", world.alice.address, UNITS)
    assert treasury.usdc_units(world.alice.address) == 0
    world.settle("ROLLUP_1", treasury.deposit_id(terms))
    assert treasury.usdc_units(world.bob.address) == DOLLAR


@pytest.mark.rule("O-10")
def test_a_relayer_who_alters_any_term_fails(world: World) -> None:
    terms, treasury = world.terms(UNITS), world.treasury
    for person in (world.alice, world.charlie):
        world.token("mint", person.address, 10 * DOLLAR)
    signed = sign_typed_data(world.alice.key, treasury.deposit_typed_data(terms, 5, FAR))
    for name, value in changes(world):
        altered = replace(terms, **{name: value})
        call = treasury.deposit_with_authorization(altered, 5, FAR, signed)
        # Another rate is not even asked about.
        expected = "FeeMoved" if name == "fee_bps" else "ERC3009InvalidSignature"
        assert world.refused(world.charlie, call).name == expected, name
    for after, before in ((4, FAR), (5, FAR + 1)):
        call = treasury.deposit_with_authorization(terms, after, before, signed)
        assert world.refused(world.charlie, call).name == "ERC3009InvalidSignature"
    world.send(world.charlie, treasury.deposit_with_authorization(terms, 5, FAR, signed))
    assert treasury.deposits_total_units() == UNITS


@pytest.mark.rule("O-10")
def test_a_signed_deposit_is_taken_between_its_times_only(world: World) -> None:
    terms, treasury = world.terms(UNITS), world.treasury
    now = world.chain.block().timestamp
    for after, before in ((0, now), (now + 3600, FAR)):
        signed = sign_typed_data(world.alice.key, treasury.deposit_typed_data(terms, after, before))
        call = treasury.deposit_with_authorization(terms, after, before, signed)
        assert world.refused(world.charlie, call).name == "ERC3009InvalidAuthorizationTime"


@pytest.mark.rule("O-10")
def test_a_signature_cannot_be_used_to_send_money_in_without_a_deposit(world: World) -> None:
    terms, treasury = world.terms(UNITS), world.treasury
    world.token("mint", world.alice.address, UNITS)
    signed = sign_typed_data(world.alice.key, treasury.deposit_typed_data(terms, 0, FAR))
    values = [world.alice.address, treasury.address, UNITS, 0, FAR]
    values.append(bytes.fromhex(treasury.deposit_id(terms)[2:]))
    data = artifact("MockUSDC").encode(
        "receiveWithAuthorization", [*values, *signature_parts(signed)]
    )
    error = world.refused(world.charlie, Call(treasury.usdc_address, data))
    assert error.name == "ERC20InvalidReceiver"


def test_what_is_no_signature_or_key_never_becomes_a_call(world: World) -> None:
    terms = world.terms()
    for signature in ("0x", "0x" + "11" * 64, "0x" + "11" * 66):
        with pytest.raises(ValueError, match="A signature is 0x and 130"):
            world.treasury.deposit_with_authorization(terms, 0, FAR, signature)
    with pytest.raises(ValueError, match="A key on chain is 0x and 64"):
        world.treasury.refund("0x1234")


@given(v=st.sampled_from([0, 1, 27, 28]), r=st.binary(min_size=32, max_size=32))
def test_both_spellings_of_v_are_taken(v: int, r: bytes) -> None:
    signature = "0x" + r.hex() + "33" * 32 + f"{v:02x}"
    assert signature_parts(signature) == (27 + v % 27, r, b"\x33" * 32)


def test_deposits_come_in_while_payouts_are_paused(world: World) -> None:
    world.tell(world.guardian, "pause")
    assert world.treasury.paused_until() > time.time()
    assert world.treasury.deposit_on_chain(world.opened()).state == "open"


def test_the_same_terms_with_another_salt_are_another_deposit(world: World) -> None:
    terms = world.terms(UNITS)
    again: Terms = replace(terms, salt="0x" + "09" * 32)
    assert world.open(terms) != world.open(again)
    assert world.treasury.deposits_total_units() == 2 * UNITS
