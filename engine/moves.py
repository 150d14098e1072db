"""`take` and `move`: the only writers of a state column.

Both are one UPDATE whose WHERE names the states that the move may start from: write before you
read, so that of two who try at once exactly one goes on, on either database.
"""

from __future__ import annotations

from typing import Any

from engine import states
from engine.errors import Refused
from engine.models.base import Table


def take(table: type[Table], row_id: str, verb: str, *conditions: Any, **sets: Any) -> bool:
    """Make the move if the row's state (and `conditions`) allow it; say whether it was made."""
    model: Any = table
    name = model._meta.table_name
    changed = (
        model.update(status=states.target(name, verb), **sets)
        .where(model.id == row_id, model.status.in_(states.sources(name, verb)), *conditions)
        .execute()
    )
    return bool(changed == 1)


def take_all(table: type[Table], verb: str, *conditions: Any, **sets: Any) -> int:
    """Make the move for all rows that `conditions` name and whose state allows it; how many?"""
    model: Any = table
    name = model._meta.table_name
    moved = model.update(status=states.target(name, verb), **sets)
    return int(moved.where(model.status.in_(states.sources(name, verb)), *conditions).execute())


def move(row: Any, verb: str, *conditions: Any, **sets: Any) -> None:
    """Make the move, which `row` then shows, or refuse with the state that stood in the way."""
    table = type(row)
    if not take(table, row.id, verb, *conditions, **sets):
        now = table.get(table.id == row.id)
        name = table._meta.table_name.replace("_", " ")
        raise Refused(
            "wrong_state",
            f"This {name} is {now.status}, so it cannot {verb.replace('_', ' ')}. Read it again.",
            status_now=now.status,
        )
    row.status = states.target(table._meta.table_name, verb)
    for field, value in sets.items():
        setattr(row, field, value)
