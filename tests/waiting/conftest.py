"""Waiting callers are proven over sockets, to real processes."""

from __future__ import annotations

from tests.processes import start_stack

__all__ = ["start_stack"]
