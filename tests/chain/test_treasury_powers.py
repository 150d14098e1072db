"""Who may do what to the Treasury, and for how long."""

from __future__ import annotations

import pytest

from engine.chain.abi import artifact
from engine.chain.client import Call
from engine.chain.errors import CallReverted
from engine.chain.treasury import FeeChanged, PotPayout
from tests.chain.world import DOLLAR, World

DAY = 86_400
SETTLER, REFUNDER, GUARDIAN = 0, 1, 2


def pay(world: World, rollup_id: str, units: int = DOLLAR) -> None:
    payout = PotPayout(rollup_id, "GIG_a", world.bob.address, units)
    world.send(world.settler, world.treasury.pay_from_pots([payout]))


def test_each_role_opens_one_door_only(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    treasury = world.treasury
    payout = treasury.pay_from_pots([PotPayout("ROLLUP_1", "GIG_a", world.bob.address, DOLLAR)])
    refund = treasury.refund_pot("R_1", "GIG_a", world.alice.address, DOLLAR)
    pause = Call(treasury.address, artifact("Treasury").encode("pause", []))
    doors = [(payout, world.settler, SETTLER), (refund, world.refunder, REFUNDER)]
    doors.append((pause, world.guardian, GUARDIAN))
    for call, holder, role in doors:
        for person in (world.owner, world.settler, world.refunder, world.guardian, world.charlie):
            if person == holder:
                continue
            with pytest.raises(CallReverted) as caught:
                world.send(person, call)
            assert caught.value.name == "MissingRole"
            assert caught.value.values == {"role": role, "account": person.address}
    with pytest.raises(CallReverted, match=r"is not a settler of the Treasury"):
        world.send(world.charlie, payout)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        ("setFeeBps", [1]),
        ("setDailyCap", [1]),
        ("setRole", [SETTLER, "0x" + "11" * 20, True]),
        ("withdrawFees", ["0x" + "11" * 20, 1]),
        ("transferOwnership", ["0x" + "11" * 20]),
        ("renounceOwnership", []),
    ],
)
def test_the_settings_are_the_owners_alone(
    world: World, function: str, values: list[object]
) -> None:
    for person in (world.settler, world.refunder, world.guardian, world.charlie):
        with pytest.raises(CallReverted) as caught:
            world.tell(person, function, *values)
        assert caught.value.name == "OwnableUnauthorizedAccount"


def test_the_owner_gives_and_takes_roles(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    world.tell(world.owner, "setRole", SETTLER, world.charlie.address, True)
    payout = PotPayout("ROLLUP_1", "GIG_a", world.bob.address, DOLLAR)
    world.send(world.charlie, world.treasury.pay_from_pots([payout]))
    world.tell(world.owner, "setRole", SETTLER, world.charlie.address, False)
    with pytest.raises(CallReverted) as caught:
        world.send(world.charlie, world.treasury.pay_from_pots([payout]))
    assert caught.value.name == "MissingRole"
    with pytest.raises(CallReverted) as caught:
        world.tell(world.owner, "setRole", SETTLER, "0x" + "0" * 40, True)
    assert caught.value.name == "ZeroAddress"


def test_ownership_moves_only_when_the_new_owner_accepts(world: World) -> None:
    world.tell(world.owner, "transferOwnership", world.charlie.address)
    world.tell(world.owner, "setFeeBps", 1)
    with pytest.raises(CallReverted) as caught:
        world.tell(world.bob, "acceptOwnership")
    assert caught.value.name == "OwnableUnauthorizedAccount"
    world.tell(world.charlie, "acceptOwnership")
    world.tell(world.charlie, "setFeeBps", 2)
    with pytest.raises(CallReverted) as caught:
        world.tell(world.charlie, "renounceOwnership")
    assert caught.value.name == "OwnerIsNeeded"


@pytest.mark.rule("Y-01")
def test_the_fee_never_exceeds_half(world: World) -> None:
    world.tell(world.owner, "setFeeBps", 5000)
    assert world.treasury.fee_bps() == 5000
    with pytest.raises(CallReverted) as caught:
        world.tell(world.owner, "setFeeBps", 5001)
    assert caught.value.name == "FeeTooHigh"
    head = world.chain.block_number()
    changes = [e for e in world.treasury.events(0, head) if isinstance(e, FeeChanged)]
    assert [(e.old_bps, e.new_bps) for e in changes] == [(0, 1000), (1000, 5000)]


def test_a_treasury_cannot_be_made_for_a_token_that_is_not_there(world: World) -> None:
    owner = world.owner.address
    creation = artifact("Treasury").creation([world.bob.address, owner, 0, owner, owner, owner])
    with pytest.raises(CallReverted) as caught:
        world.send(world.owner, Call(None, creation))
    assert caught.value.name == "NotAContract"


@pytest.mark.rule("Y-05")
def test_the_owner_takes_fees_and_never_more_than_are_due(world: World) -> None:
    world.fund("GIG_a", 20 * DOLLAR)
    pay(world, "ROLLUP_1", 10 * DOLLAR)
    treasury, till = world.treasury, world.someone()
    for to, units, name in (
        (till, DOLLAR + 1, "FeesShort"),
        (till, 0, "ZeroAmount"),
        ("0x" + "0" * 40, 1, "ZeroAddress"),
        (treasury.address, 1, "ZeroAddress"),
    ):
        with pytest.raises(CallReverted) as caught:
            world.send(world.owner, treasury.withdraw_fees(to, units))
        assert caught.value.name == name
    world.send(world.owner, treasury.withdraw_fees(till, DOLLAR))
    assert treasury.usdc_units(till) == DOLLAR
    assert treasury.fees_due_units() == 0
    assert treasury.accounted_units() == treasury.held_units() == 9 * DOLLAR


def test_the_daily_cap_bounds_what_a_stolen_key_can_pay_out(world: World) -> None:
    world.fund("GIG_a", 100 * DOLLAR)
    assert world.treasury.left_today_units() is None
    world.start_of_next_day()
    pay(world, "ROLLUP_0")
    world.tell(world.owner, "setDailyCap", 3_300_000)
    # What was paid before the cap was set counts too.
    assert world.treasury.left_today_units() == 2_200_000
    pay(world, "ROLLUP_1")
    with pytest.raises(CallReverted) as caught:
        pay(world, "ROLLUP_2", DOLLAR + 1)
    assert caught.value.name == "OverDailyCap"
    assert caught.value.values["left"] == 1_100_000
    assert caught.value.values["payoutId"] == "0x" + world.treasury.payout_key("ROLLUP_2").hex()
    # Refunds only go back to who paid, and are not held up.
    refund = world.treasury.refund_pot("R_1", "GIG_a", world.alice.address, 50 * DOLLAR)
    world.send(world.refunder, refund)
    pay(world, "ROLLUP_2")
    with pytest.raises(CallReverted) as caught:
        pay(world, "ROLLUP_3", 1)
    assert caught.value.name == "OverDailyCap"
    world.start_of_next_day()
    pay(world, "ROLLUP_3", 3 * DOLLAR)
    assert world.treasury.left_today_units() == 0


def test_a_cap_lowered_below_what_was_paid_stops_the_day(world: World) -> None:
    world.fund("GIG_a", 100 * DOLLAR)
    world.start_of_next_day()
    pay(world, "ROLLUP_1", 10 * DOLLAR)
    world.tell(world.owner, "setDailyCap", 0)
    with pytest.raises(CallReverted) as caught:
        pay(world, "ROLLUP_2")
    assert caught.value.name == "OverDailyCap"


def test_a_pause_stops_payouts_lapses_and_cannot_recur_at_once(world: World) -> None:
    world.fund("GIG_a", 100 * DOLLAR)
    world.tell(world.guardian, "pause")
    began = world.chain.block().timestamp
    assert world.treasury.paused_until() == began + 14 * DAY
    with pytest.raises(CallReverted) as caught:
        pay(world, "ROLLUP_1")
    assert caught.value.name == "PayoutsPaused"
    # Money can still come in, and go back.
    world.fund("GIG_a", DOLLAR)
    refund = world.treasury.refund_pot("R_1", "GIG_a", world.alice.address, DOLLAR)
    world.send(world.refunder, refund)

    world.wait_seconds(14 * DAY)
    pay(world, "ROLLUP_1")
    with pytest.raises(CallReverted) as caught:
        world.tell(world.guardian, "pause")
    assert caught.value.name == "PauseNotYet"
    world.wait_seconds(30 * DAY)
    world.tell(world.guardian, "pause")
    with pytest.raises(CallReverted) as caught:
        pay(world, "ROLLUP_2")
    assert caught.value.name == "PayoutsPaused"


def test_a_pause_can_be_ended_early_by_guardian_or_owner(world: World) -> None:
    world.fund("GIG_a", 10 * DOLLAR)
    for who in (world.guardian, world.owner):
        with pytest.raises(CallReverted) as caught:
            world.tell(who, "resume")
        assert caught.value.name == "NotPaused"
        world.tell(world.guardian, "pause")
        with pytest.raises(CallReverted) as caught:
            world.tell(world.settler, "resume")
        assert caught.value.name == "MissingRole"
        world.tell(who, "resume")
        pay(world, f"ROLLUP_{who.address}")
        world.wait_seconds(30 * DAY)
