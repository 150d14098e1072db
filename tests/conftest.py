"""Fixtures: real servers for the run, a fresh install for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.chain import local
from engine.chain.anvil import AnvilMissing, find_anvil, install_anvil
from tests.services import Postgres, Redis, Sqlite
from tests.world import World

BACKENDS = ("sqlite", "postgres")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    server = Postgres()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def sqlite() -> Iterator[Sqlite]:
    files = Sqlite()
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
def paying_world(backend: tuple[str, str], chain: local.LocalChain) -> Iterator[World]:
    """An install with a chain of its own, its workers running."""
    made = World(*backend, chain=chain)
    made.start()
    yield made
    made.stop()
