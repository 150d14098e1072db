"""Values of answers whose set is closed."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from engine.states import TABLES
from web.fields import one_of

PRICE_SOURCES = {
    "task": "the task's own price",
    "gig": "the gig's",
    "review": "still to be named, or named with the verdict",
    "worker": "his asking price",
}


def states(table: str) -> list[str]:
    """Every state of a kind of row."""
    return sorted({state for state, _ in TABLES[table]} | set(TABLES[table].values()))


def state(table: str, **options: Any) -> fields.String:
    return one_of(*states(table), **options)


def price_source(*sources: str, **options: Any) -> fields.String:
    """Where a price comes from; all of the sources where none is named."""
    named = sources or tuple(PRICE_SOURCES)
    words = "; ".join(f"`{name}`: {PRICE_SOURCES[name]}" for name in named)
    told = {"description": f"Where the price comes from. {words}."}
    return one_of(*named, metadata=told, **options)
