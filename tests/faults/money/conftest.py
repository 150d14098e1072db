"""Faults that are done to money: to the processes that move it, and to the chain that it is on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.chain import local

# No block comes by itself in a test's time, but for a transaction's.
HOURS_SECONDS = 100_000


@pytest.fixture
def chain(anvil: None, tmp_path: Path) -> Iterator[local.LocalChain]:
    """A chain of this test's own, whose blocks are the test's to make."""
    running = local.ensure(tmp_path / "chain", block_seconds=HOURS_SECONDS)
    yield running
    local.stop(tmp_path / "chain")
