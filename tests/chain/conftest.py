"""One anvil for the whole folder; a fresh token and Treasury, with separate keys, for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.chain import local
from engine.chain.abi import artifact
from engine.chain.anvil import install_anvil
from engine.chain.client import Call, Chain, new_key
from engine.chain.deploy import send_and_wait
from engine.chain.keys import contract_address
from engine.chain.local import LocalChain
from engine.chain.treasury import Treasury
from tests.chain.sending import sending
from tests.chain.world import Person, World

__all__ = ["sending"]

RICH_WEI = 10**24


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalChain]:
    install_anvil()
    folder = tmp_path_factory.mktemp("chain")
    yield local.ensure(folder)
    local.stop(folder)


@pytest.fixture(scope="session")
def chain(running: LocalChain) -> Chain:
    return Chain(running.rpc_url)


@pytest.fixture
def world(chain: Chain) -> Iterator[World]:
    people = [Person(new_key()[0]) for _ in range(7)]
    for person in people:
        chain.request("anvil_setBalance", person.address, hex(RICH_WEI))
    owner, settler, refunder, guardian, alice, bob, charlie = people
    usdc = contract_address(owner.address, 0)
    creations = [
        artifact("MockUSDC").creation([owner.address]),
        artifact("Treasury").creation(
            [usdc, owner.address, 1000, settler.address, refunder.address, guardian.address]
        ),
    ]
    send_and_wait(chain, owner.key, [Call(None, data) for data in creations], gas=6_000_000)
    treasury = Treasury(chain, contract_address(owner.address, 1), usdc)
    made = World(chain, treasury, owner, settler, refunder, guardian, alice, bob, charlie)
    yield made
    # Whatever the test did, the contract holds what it owes.
    assert treasury.accounted_units() <= treasury.held_units()
