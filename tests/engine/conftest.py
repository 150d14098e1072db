"""The books on a chain that a test can reorganise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.chain import local, repair
from engine.chain.client import Chain
from tests.engine.books import Books
from tests.world import World


@pytest.fixture(scope="session")
def kept_chain(anvil: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[local.LocalChain]:
    """One chain for all; it starts once, which takes longer than what is done on it."""
    folder = tmp_path_factory.mktemp("kept-chain")
    running = local.ensure(folder)
    still(running)
    yield running
    local.stop(folder)


@pytest.fixture
def quiet_chain(kept_chain: local.LocalChain) -> Iterator[local.LocalChain]:
    """It makes no block by itself, and forgets afterwards what a test has done."""
    chain = Chain(kept_chain.rpc_url)
    before = chain.request("evm_snapshot")
    yield kept_chain
    assert chain.request("evm_revert", before) is True


@pytest.fixture
def books(
    backend: tuple[str, str], quiet_chain: local.LocalChain, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Books]:
    # What an orphaned block had is sent again at the next look.
    monkeypatch.setattr(repair, "RESEND_MS", 0)
    made = Books(World(*backend, chain=quiet_chain))
    made.read()
    yield made
    made.world.stop()


def still(running: local.LocalChain) -> None:
    chain = Chain(running.rpc_url)
    chain.request("evm_setIntervalMining", 0)
    chain.request("evm_setAutomine", True)
