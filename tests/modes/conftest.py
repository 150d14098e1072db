"""Modes that are there for one test."""

from __future__ import annotations

import pytest

from engine import modes
from plugins import defaults
from tests.modes import trial_mode


@pytest.fixture(autouse=True)
def modes_of_one_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test installs is gone with it: other tests in its process list all modes."""
    monkeypatch.setattr(modes, "_modes", dict(modes._modes))


@pytest.fixture
def trial(modes_of_one_test: None) -> None:
    """The mode of `trial_mode.py`, under `trial` and, with a copy for each worker, `trial_solo`."""
    modes.install(trial_mode, defaults)
