"""Classes of tags and price, so that a poll's filter is evaluated once a class (Q-04).

All tasks of a gig with the same set of tags and the same price are of one class, a row of `facet`;
a gig has few classes, however many tasks. A filter is evaluated on the classes, and the entries of
a class are found in the queue's order by their index, so a filter that few tasks match costs no
more than one that all match.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from engine import rows
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import Facet, Task
from engine.rules import tag_matching

# Without tags, at the gig's price: most tasks, so they need no row.
PLAIN = 0
# A price has a class of its own until a gig has so many; then prices share one in bands.
EXACT_PRICES = 1000
# A band's borders differ by a sixteenth of its price at most.
BAND_BITS = 5
# Ids that this process remembers.
REMEMBERED = 20_000

# By the unique index (gig_id, key).
_FIND = "SELECT key, id FROM facet WHERE gig_id = ? AND key IN (?, ?)"
_HOW_MANY = """
SELECT count(*) FROM (
    SELECT 1 FROM facet WHERE gig_id = ? AND price_kind = 'fixed' LIMIT ?) AS priced
"""

# Only of rows that are committed: an id that a transaction took back would name nothing.
_known: dict[tuple[str, str], int] = {}


def id_of(gig: Gig, task: Task) -> int:
    """The class of a task, made when it is the first of it; only inside `db.write`."""
    tags_text = tag_matching.text_of(task.tags)
    kind = "tbd" if task.price_tbd else "gig" if task.price_units is None else "fixed"
    if kind != "fixed":
        if kind == "gig" and not tags_text:
            return PLAIN
        key = _key(kind, None, None, tags_text)
        return _find(gig, key, key) or _make(gig, key, tags_text, kind, None, None)
    price = int(task.price_units or 0)
    low, high = band(price)
    exact, wide = (_key(kind, *borders, tags_text) for borders in ((price, price), (low, high)))
    found = _find(gig, exact, wide)
    if found is not None:
        return found
    if int(db.scalar(_HOW_MANY, (gig.id, EXACT_PRICES))) < EXACT_PRICES:
        return _make(gig, exact, tags_text, kind, price, price)
    return _make(gig, wide, tags_text, kind, low, high)


def band(price_units: int) -> tuple[int, int]:
    """The lowest and the highest price that share a class with this one."""
    bits = max(0, price_units.bit_length() - BAND_BITS)
    low = price_units >> bits << bits
    return low, low + (1 << bits) - 1


def _key(kind: str, low: int | None, high: int | None, tags_text: str) -> str:
    # A digest, since an index takes no key as long as 25 tags may be.
    told = f"{kind} {low} {high} {tags_text}"
    return hashlib.sha256(told.encode(errors="surrogatepass")).hexdigest()


def _find(gig: Gig, first: str, second: str) -> int | None:
    """The class under the first key, or else under the second."""
    for key in (first, second):
        if (gig.id, key) in _known:
            return _known[gig.id, key]
    found = dict(db.rows(_FIND, (gig.id, first, second)))
    for key in (first, second):
        if key in found:
            return _remember(gig, key, found[key])
    return None


def _make(gig: Gig, key: str, tags_text: str, kind: str, low: int | None, high: int | None) -> int:
    values = {
        "gig_id": gig.id,
        "key": key,
        "tags_text": tags_text,
        "price_kind": kind,
        "low_units": low,
        "high_units": high,
    }
    made = rows.insert(Facet, values, tail="ON CONFLICT DO NOTHING RETURNING id")
    if made:
        return _remember(gig, key, made[0][0])
    # Another transaction has made it, and has committed while this one waited at its key.
    found = _find(gig, key, key)
    if found is None:
        raise RuntimeError("a class of tasks is neither there nor can it be made")
    return found


def _remember(gig: Gig, key: str, facet_id: int) -> int:
    def keep() -> None:
        if len(_known) >= REMEMBERED:
            _known.clear()
        _known[gig.id, key] = facet_id

    db.after_commit(keep)
    return facet_id


@dataclass(frozen=True)
class Wanted:
    """A filter: tags as in `engine/rules/tag_matching.py`, prices in base units, both included.

    A task whose price is to be decided passes unless `accept_tbd` is false; one at the gig's price
    is compared by that.
    """

    tags: tuple[str, ...] = ()
    tag_match: str = "substring"
    tag_mode: str = "any"
    price_min_units: int | None = None
    price_max_units: int | None = None
    accept_tbd: bool = True

    @property
    def filters(self) -> bool:
        """Does it keep anything out?"""
        prices = (self.price_min_units, self.price_max_units)
        return bool(self.tags) or not self.accept_tbd or any(one is not None for one in prices)

    def classes(self, gig: Gig) -> tuple[str, tuple[Any, ...]]:
        """SQL of the ids of the gig's classes that pass, and its parameters."""
        searched = "strpos" if db.is_postgres else "instr"
        params: list[Any] = [gig.id]
        where = ["facet.gig_id = ?"]
        if self.tags:
            needles = [tag_matching.needle(tag, self.tag_match) for tag in self.tags]
            joined = " AND " if self.tag_mode == "all" else " OR "
            found = [f"{searched}(facet.tags_text, ?) > 0" for _ in needles]
            where.append(f"({joined.join(found)})")
            params += needles
        kinds = ["facet.price_kind = 'fixed'"]
        if self.price_min_units is not None:
            kinds[0] += " AND facet.high_units >= ?"
            params.append(self.price_min_units)
        if self.price_max_units is not None:
            kinds[0] += " AND facet.low_units <= ?"
            params.append(self.price_max_units)
        if self.accept_tbd:
            kinds.append("facet.price_kind = 'tbd'")
        if self._fits(gig.price_units):
            kinds.append("facet.price_kind = 'gig'")
        where.append(f"({' OR '.join(kinds)})")
        sql = f"SELECT facet.id FROM facet WHERE {' AND '.join(where)}"
        if not self.tags and self._fits(gig.price_units):
            sql += f" UNION ALL SELECT {PLAIN}"
        return sql, tuple(params)

    def prices(self) -> tuple[str, tuple[Any, ...]]:
        """SQL on `entry` for what its class leaves open, and its parameters: its own price."""
        bounds = (">=", self.price_min_units), ("<=", self.price_max_units)
        set_ = [(sign, units) for sign, units in bounds if units is not None]
        if not set_:
            return "", ()
        told = " AND ".join(f"entry.price_units {sign} ?" for sign, _ in set_)
        return f"(entry.price_units IS NULL OR ({told}))", tuple(units for _, units in set_)

    def condition(self, gig: Gig) -> tuple[str, tuple[Any, ...]]:
        """SQL on `entry` (a row of `queue_entry`) and its parameters; empty without a filter."""
        if not self.filters:
            return "", ()
        classes, params = self.classes(gig)
        prices, more = self.prices()
        told = f"entry.facet_id IN ({classes})" + (f" AND {prices}" if prices else "")
        return told, (*params, *more)

    def _fits(self, units: int) -> bool:
        least, most = self.price_min_units, self.price_max_units
        return (least is None or units >= least) and (most is None or units <= most)
