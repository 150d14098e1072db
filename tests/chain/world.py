"""Who takes part in a chain test, and how they speak to the contracts."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Any

import pytest

from engine.chain.abi import artifact
from engine.chain.client import Call, Chain, Receipt, address_of, new_key
from engine.chain.deploy import send_and_wait
from engine.chain.deposit_terms import NOBODY
from engine.chain.errors import CallReverted
from engine.chain.treasury import Settlement, Terms, Treasury

DOLLAR = 1_000_000


@dataclass(frozen=True)
class Person:
    key: str

    @property
    def address(self) -> str:
        return address_of(self.key)


@dataclass(frozen=True)
class World:
    """A Treasury whose roles are held by different people, and a funder with money."""

    chain: Chain
    treasury: Treasury
    owner: Person
    settler: Person
    refunder: Person
    guardian: Person
    alice: Person  # a funder
    bob: Person  # a worker
    charlie: Person  # a stranger

    def send(self, who: Person, call: Call) -> Receipt:
        """Estimated first, so a refusal raises CallReverted; then sent and mined."""
        gas = self.chain.estimate_gas(who.address, call) * 12 // 10
        return send_and_wait(self.chain, who.key, [call], gas)[0]

    def tell(self, who: Person, function: str, *values: object) -> Receipt:
        """A function of the Treasury that the engine has no builder for."""
        data = artifact("Treasury").encode(function, values)
        return self.send(who, Call(self.treasury.address, data))

    def token(self, function: str, *values: object, by: Person | None = None) -> Receipt:
        data = artifact("MockUSDC").encode(function, values)
        return self.send(by or self.owner, Call(self.treasury.usdc_address, data))

    def fund(self, gig_id: str, units: int, by: Person | None = None) -> Receipt:
        funder = by or self.alice
        self.send(self.owner, self.treasury.mint(funder.address, units))
        self.send(funder, self.treasury.approve(units))
        return self.send(funder, self.treasury.deposit(gig_id, units))

    def terms(self, units: int = 11 * DOLLAR // 10, **changed: Any) -> Terms:
        """Of a deposit by alice for bob, at the present fee, with a salt of its own."""
        terms = Terms(
            depositor=self.alice.address,
            payee=self.bob.address,
            gig_id="GIG_a",
            units=units,
            fee_bps=self.treasury.fee_bps(),
            reclaimer=NOBODY,
            salt="0x" + secrets.token_hex(32),
        )
        return replace(terms, **changed)

    def open(self, terms: Terms) -> str:
        """Alice makes the deposit; answers its id."""
        self.send(self.owner, self.treasury.mint(self.alice.address, terms.units))
        self.send(self.alice, self.treasury.approve(terms.units))
        self.send(self.alice, self.treasury.deposit_for(terms))
        return self.treasury.deposit_id(terms)

    def opened(self, units: int = 11 * DOLLAR // 10, **changed: Any) -> str:
        return self.open(self.terms(units, **changed))

    def settle(self, rollup_id: str, deposit_id: str, units: int = DOLLAR, to: str = "") -> Receipt:
        one = Settlement(rollup_id, deposit_id, to or self.bob.address, units)
        return self.send(self.settler, self.treasury.settle([one]))

    def refused(self, who: Person, call: Call) -> CallReverted:
        """Why the contract says no to this."""
        with pytest.raises(CallReverted) as caught:
            self.send(who, call)
        return caught.value

    def someone(self) -> str:
        """An address that nobody has used."""
        return new_key()[1]

    def wait_seconds(self, seconds: int) -> None:
        self.chain.request("evm_increaseTime", hex(seconds))
        self.chain.request("evm_mine")

    def start_of_next_day(self) -> None:
        now = self.chain.block().timestamp
        self.wait_seconds(86_400 - now % 86_400 + 60)
