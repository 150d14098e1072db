"""Fixtures: real servers for the run, a fresh install for each test."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from engine.chain import local
from engine.chain.anvil import AnvilMissing, find_anvil, install_anvil
from engine.chain.client import Chain
from tests.services import Postgres, Redis, Sqlite
from tests.world import World

BACKENDS = ("sqlite", "postgres")
# Where a test may take ten times as long as elsewhere, most of it waiting for processes or blocks.
LONG = ("faults", "machines", "newcomer", "contracts")

# As in production. What people are shown on a terminal takes longer than the request it tells of.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(),
    ]
)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the long ones over what each worker gets, all but its end.

    So somebody always computes while another waits, and the last minute is not one test's alone.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    tests = Path(__file__).parent
    folders = [tests / name for name in LONG]
    long = [item for item in items if any(one in item.path.parents for one in folders)]
    slow = set(long)
    short = [item for item in items if item not in slow]
    items[:] = [
        item
        for number in range(workers)
        for item in _spread(long[number::workers], short[number::workers])
    ]


def _spread(long: list[pytest.Item], short: list[pytest.Item]) -> Iterator[pytest.Item]:
    """A long one first, then some short ones, and so on; the last fifth is short ones only."""
    each = len(short) * 4 // 5 // max(1, len(long))
    for number, item in enumerate(long):
        yield item
        yield from short[number * each : (number + 1) * each]
    yield from short[len(long) * each :]


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = Postgres(durable=False)
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sqlite() -> Iterator[Sqlite]:
    files = Sqlite(durable=False)
    yield files
    files.stop()


@pytest.fixture(scope="session")
def redis() -> Iterator[Redis]:
    server = Redis()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def anvil() -> None:
    """The chain's binary; fetched once where it is missing."""
    try:
        find_anvil()
    except AnvilMissing:
        install_anvil()


@pytest.fixture
def chain(anvil: None, tmp_path: Path) -> Iterator[local.LocalChain]:
    """A chain of this test's own."""
    running = local.ensure(tmp_path / "chain")
    yield running
    local.stop(tmp_path / "chain")


@pytest.fixture(scope="session")
def shared_chain(
    anvil: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[local.LocalChain]:
    """One chain for all; it starts once, which takes longer than what is done on it."""
    folder = tmp_path_factory.mktemp("shared-chain")
    yield local.ensure(folder)
    local.stop(folder)


@pytest.fixture
def reset_chain(shared_chain: local.LocalChain) -> Iterator[local.LocalChain]:
    """The shared chain, which forgets afterwards what a test has done."""
    node = Chain(shared_chain.rpc_url)
    before = node.request("evm_snapshot")
    yield shared_chain
    assert node.request("evm_revert", before) is True


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """(database URL, broker URL): SQLite and the stub broker, or PostgreSQL and Redis."""
    kind = request.param
    databases = request.getfixturevalue(kind)
    url = databases.fresh()
    broker = "memory://" if kind == "sqlite" else request.getfixturevalue("redis").fresh()
    yield url, broker
    databases.drop(url)


@pytest.fixture
def world(backend: tuple[str, str]) -> Iterator[World]:
    """An install without a chain; nothing runs in the background."""
    made = World(*backend)
    yield made
    made.stop()


@pytest.fixture
def paying_world(backend: tuple[str, str], reset_chain: local.LocalChain) -> Iterator[World]:
    """An install with a chain, its workers running."""
    made = World(*backend, chain=reset_chain)
    made.start()
    yield made
    made.stop()
