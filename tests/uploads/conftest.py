"""An install in processes of its own."""

from __future__ import annotations

from tests.processes import start_stack

__all__ = ["start_stack"]
