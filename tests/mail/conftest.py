"""Tests of mail may start processes of their own."""

from __future__ import annotations

from tests.processes import start_stack

__all__ = ["start_stack"]
