"""Faults are done to real processes."""

from __future__ import annotations

from tests.processes import layout, paying_stack, stack, start_stack

__all__ = ["layout", "paying_stack", "stack", "start_stack"]
