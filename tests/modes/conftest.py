"""Modes that are there for one test."""

from __future__ import annotations

import pytest

from engine import modes
from plugins import defaults
from tests.modes import trial_mode


@pytest.fixture
def trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mode of `trial_mode.py`, under `trial` and, with a copy for each worker, `trial_solo`."""
    monkeypatch.setattr(modes, "_modes", dict(modes._modes))
    modes.install(trial_mode, defaults)
