"""Bells: "this row wants doing now". Losing one costs time, never work; the sweep finds the row."""

from __future__ import annotations

from collections.abc import Callable

Bell = Callable[[str], None]

_bells: dict[str, Bell] = {}


def on(kind: str, bell: Bell) -> None:
    """Who is rung for `command`, `delivery` or `waiting`; the composition root says so once."""
    _bells[kind] = bell


def ring(kind: str, row_id: str) -> None:
    """Call after the commit. A bell that is broken must not undo what was committed."""
    bell = _bells.get(kind)
    if bell is not None:
        bell(row_id)


def silence() -> None:
    """Forget all bells (tests, and a process that is shutting down)."""
    _bells.clear()
