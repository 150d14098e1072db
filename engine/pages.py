"""Where a list goes on: the rows behind a position (H-06).

A position is the values of the columns that order the list, an id last. As one row value it tells
rows of the same instant apart, so none is skipped or shown twice at the border of a page.
"""

from __future__ import annotations

from typing import Any

import peewee

from engine.db import db

Position = tuple[Any, ...] | None


def page(
    query: Any, columns: tuple[Any, ...], limit: int, after: Position, *, newest_first: bool = False
) -> list[Any]:
    """Up to `limit` rows of a query behind a position, in the order of the columns."""
    if after is not None:
        here, there = peewee.Tuple(*columns), peewee.Tuple(*after)
        query = query.where(here < there if newest_first else here > there)
    order = [column.desc() if newest_first else column for column in columns]
    return list(query.order_by(*order).limit(limit))


def has_member(field: Any, text: str) -> Any:
    """The condition that a JSON list of strings holds this one; filters come before pages."""
    if db.is_postgres:
        return peewee.fn.jsonb_exists(field.cast("jsonb"), text)
    begin = peewee.SQL("EXISTS (SELECT 1 FROM json_each(")
    wanted = peewee.Value(text, converter=False)
    return peewee.NodeList((begin, field, peewee.SQL(") WHERE value ="), wanted, peewee.SQL(")")))
