"""Standing filters (M-02), each read once, and held against a task or against classes of tasks.

A filter means what a poll's filter does (Q-04): a task without tags passes no filter by tags; one
at the gig's price is compared by that; one whose price is to be decided passes unless the filter
says no.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from engine.db import db
from engine.facets import PLAIN
from engine.models.gig import Gig
from engine.rules import tag_matching

# A class of tags and price, and the price that is written on the entry itself.
Class = tuple[int, int | None]

_CLASSES = "SELECT id, tags_text, price_kind FROM facet WHERE id IN ({marks})"


class Filtered(Protocol):
    """A mailbox, as far as it says what suits it. `filter_tags` is a list, or its JSON text."""

    @property
    def filter_tags(self) -> list[str] | str: ...

    @property
    def filter_tag_match(self) -> str: ...

    @property
    def filter_price_min_units(self) -> int | None: ...

    @property
    def filter_price_max_units(self) -> int | None: ...

    @property
    def filter_accept_tbd(self) -> bool: ...


class Filter(NamedTuple):
    """What of a task's tags as one text (`tag_matching.text_of`), and of its price, passes."""

    needles: tuple[str, ...]
    least_units: int | None
    most_units: int | None
    accepts_tbd: bool

    def passes(self, tags_text: str, price_units: int | None) -> bool:
        """`price_units` is None for a price that is to be decided."""
        if self.needles and not any(needle in tags_text for needle in self.needles):
            return False
        if price_units is None:
            return self.accepts_tbd
        least, most = self.least_units, self.most_units
        return (least is None or price_units >= least) and (most is None or price_units <= most)


def of(one: Filtered) -> Filter:
    """The standing filter of a mailbox."""
    tags = json.loads(one.filter_tags) if isinstance(one.filter_tags, str) else one.filter_tags
    return Filter(
        tuple(tag_matching.needle(tag, one.filter_tag_match) for tag in tags),
        one.filter_price_min_units,
        one.filter_price_max_units,
        bool(one.filter_accept_tbd),
    )


class Classes:
    """Which of some filters each class of tags and price passes, decided once for each class."""

    def __init__(self, gig: Gig, filters: Iterable[Filter]) -> None:
        self._gig = gig
        self._filters = frozenset(filters)
        self._passed: dict[Class, Sequence[Filter]] = {}

    def learn(self, classes: Iterable[Class]) -> None:
        """Decide those that are new, however many they are, by one statement."""
        new = {one for one in classes if one not in self._passed}
        ids = sorted({facet_id for facet_id, _ in new})
        if not ids:
            return
        marks = ", ".join("?" for _ in ids)
        told = {PLAIN: ("", "gig")}
        told |= {row[0]: (row[1], row[2]) for row in db.rows(_CLASSES.format(marks=marks), ids)}
        for facet_id, price_units in new:
            text, kind = told[facet_id]
            units = self._gig.price_units if kind == "gig" else price_units
            self._passed[facet_id, price_units] = [
                one for one in self._filters if one.passes(text, units)
            ]

    def passed(self, one: Class) -> Sequence[Filter]:
        """The filters that a learnt class passes."""
        return self._passed[one]
