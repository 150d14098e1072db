"""The token of a local chain behaves like USDC where the engine can tell."""

from __future__ import annotations

import pytest
from eth_account import Account

from engine.chain.abi import artifact
from engine.chain.client import Call
from engine.chain.errors import CallReverted
from tests.chain.world import DOLLAR, Person, World

AUTHORIZATION = [
    {"name": "from", "type": "address"},
    {"name": "to", "type": "address"},
    {"name": "value", "type": "uint256"},
    {"name": "validAfter", "type": "uint256"},
    {"name": "validBefore", "type": "uint256"},
    {"name": "nonce", "type": "bytes32"},
]
PERMIT = [
    {"name": "owner", "type": "address"},
    {"name": "spender", "type": "address"},
    {"name": "value", "type": "uint256"},
    {"name": "nonce", "type": "uint256"},
    {"name": "deadline", "type": "uint256"},
]
CANCEL = [{"name": "authorizer", "type": "address"}, {"name": "nonce", "type": "bytes32"}]
FAR = 2**40


def signed(
    world: World, who: Person, kind: str, fields: list[dict[str, str]], values: list[object]
) -> list[object]:
    """The values with v, r, s behind them, signed under USDC's own domain."""
    domain = {
        "name": "USD Coin",
        "version": "2",
        "chainId": world.chain.chain_id(),
        "verifyingContract": world.treasury.usdc_address,
    }
    names = [field["name"] for field in fields]
    message = dict(zip(names, values, strict=True))
    signature = Account.sign_typed_data(who.key, domain, {kind: fields}, message)
    return [*values, signature.v, *(n.to_bytes(32, "big") for n in (signature.r, signature.s))]


def read(world: World, function: str, *values: object) -> object:
    token = artifact("MockUSDC")
    call = Call(world.treasury.usdc_address, token.encode(function, values))
    return token.decode(function, world.chain.call(call))[0]


def test_it_looks_like_usdc(world: World) -> None:
    assert read(world, "decimals") == 6
    assert read(world, "name") == "USD Coin"
    assert read(world, "symbol") == "USDC"
    assert read(world, "version") == "2"


def test_only_its_owner_mints_blacklists_and_pauses(world: World) -> None:
    someone = world.someone()
    for function, values in (
        ("mint", [someone, 1]),
        ("blacklist", [someone]),
        ("unBlacklist", [someone]),
        ("pause", []),
        ("unpause", []),
    ):
        with pytest.raises(CallReverted) as caught:
            world.token(function, *values, by=world.charlie)
        assert caught.value.name == "OwnableUnauthorizedAccount"


def test_a_blacklisted_account_neither_sends_nor_receives(world: World) -> None:
    alice, bob = world.alice, world.bob
    for person in (alice, bob):
        world.token("mint", person.address, DOLLAR)
    world.token("blacklist", bob.address)
    for sender, to in ((alice, bob), (bob, alice)):
        with pytest.raises(CallReverted, match="Blacklistable: account is blacklisted"):
            world.send(sender, world.treasury.transfer_usdc(to.address, 1))
    world.token("unBlacklist", bob.address)
    world.send(alice, world.treasury.transfer_usdc(bob.address, 1))
    world.token("pause")
    with pytest.raises(CallReverted, match="Pausable: paused"):
        world.send(alice, world.treasury.transfer_usdc(bob.address, 1))
    world.token("unpause")
    world.send(alice, world.treasury.transfer_usdc(bob.address, 1))
    assert world.treasury.usdc_units(bob.address) == DOLLAR + 2


@pytest.mark.rule("O-10")
def test_a_signed_authorization_moves_money_once_and_only_as_signed(world: World) -> None:
    alice, bob = world.alice.address, world.bob.address
    world.token("mint", alice, 5 * DOLLAR)
    terms: list[object] = [alice, bob, DOLLAR, 0, FAR, b"\1" * 32]
    given = signed(world, world.alice, "TransferWithAuthorization", AUTHORIZATION, terms)
    altered = [*given[:2], 2 * DOLLAR, *given[3:]]
    with pytest.raises(CallReverted) as caught:
        world.token("transferWithAuthorization", *altered, by=world.charlie)
    assert caught.value.name == "ERC3009InvalidSignature"
    world.token("transferWithAuthorization", *given, by=world.charlie)
    assert world.treasury.usdc_units(bob) == DOLLAR
    with pytest.raises(CallReverted) as caught:
        world.token("transferWithAuthorization", *given, by=world.charlie)
    assert caught.value.name == "ERC3009UsedAuthorization"


def test_a_receive_authorization_is_its_payees_alone(world: World) -> None:
    alice, bob = world.alice.address, world.bob.address
    world.token("mint", alice, DOLLAR)
    terms: list[object] = [alice, bob, DOLLAR, 0, FAR, b"\2" * 32]
    given = signed(world, world.alice, "ReceiveWithAuthorization", AUTHORIZATION, terms)
    with pytest.raises(CallReverted) as caught:
        world.token("receiveWithAuthorization", *given, by=world.charlie)
    assert caught.value.name == "ERC20InvalidReceiver"
    world.token("receiveWithAuthorization", *given, by=world.bob)
    assert world.treasury.usdc_units(bob) == DOLLAR


def test_a_late_or_cancelled_authorization_is_void(world: World) -> None:
    alice, bob = world.alice.address, world.bob.address
    world.token("mint", alice, DOLLAR)
    late: list[object] = [alice, bob, DOLLAR, 0, 1, b"\3" * 32]
    given = signed(world, world.alice, "TransferWithAuthorization", AUTHORIZATION, late)
    with pytest.raises(CallReverted) as caught:
        world.token("transferWithAuthorization", *given, by=world.charlie)
    assert caught.value.name == "ERC3009InvalidAuthorizationTime"
    cancel: list[object] = [alice, b"\4" * 32]
    cancelled = signed(world, world.alice, "CancelAuthorization", CANCEL, cancel)
    world.token("cancelAuthorization", *cancelled, by=world.charlie)
    assert read(world, "authorizationState", alice, b"\4" * 32) is True
    terms: list[object] = [alice, bob, DOLLAR, 0, FAR, b"\4" * 32]
    given = signed(world, world.alice, "TransferWithAuthorization", AUTHORIZATION, terms)
    with pytest.raises(CallReverted) as caught:
        world.token("transferWithAuthorization", *given, by=world.charlie)
    assert caught.value.name == "ERC3009UsedAuthorization"


def test_a_permit_is_an_allowance_by_signature(world: World) -> None:
    alice, treasury = world.alice.address, world.treasury
    terms: list[object] = [alice, treasury.address, 7, 0, FAR]
    given = signed(world, world.alice, "Permit", PERMIT, terms)
    given.pop(3)  # the nonce is signed, not sent
    world.token("permit", *given, by=world.charlie)
    assert treasury.allowance_units(alice) == 7
    with pytest.raises(CallReverted, match="EIP2612: invalid signature"):
        world.token("permit", *given, by=world.charlie)
    expired = [*given[:3], 1, *given[4:]]
    with pytest.raises(CallReverted, match="permit is expired"):
        world.token("permit", *expired, by=world.charlie)
