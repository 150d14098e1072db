"""An install in processes of its own, and a real browser that opens its pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.pages import chromium
from tests.pages.chromium import Tab
from tests.processes import SQLITE, Stack, Starter, start_stack

__all__ = ["start_stack"]


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with chromium.tab(tmp_path) as opened:
        yield opened


@pytest.fixture
def site(start_stack: Starter) -> Iterator[Stack]:
    """An install without a chain; whatever its visitors do, it has nothing to complain about."""
    stack = start_stack(SQLITE)
    yield stack
    assert stack.complaints() == []
