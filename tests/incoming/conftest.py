"""Where several processes matter, they are real ones."""

from __future__ import annotations

from tests.processes import start_stack

__all__ = ["start_stack"]
