"""Rows by constant SQL, for the paths that every submission and every poll takes.

Peewee builds a statement's text anew each time, which there costs more than the database. The
models stay the one description of tables and columns; elsewhere their queries are used as they are.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

from engine.db import db
from engine.models.base import Table

TableT = TypeVar("TableT", bound=Table)


@cache
def _fields(table: type[Table]) -> list[tuple[str, Any]]:
    meta: Any = cast(Any, table)._meta
    return [(field.name, field) for field in meta.sorted_fields]


@cache
def columns(table: type[Table], alias: str = "") -> str:
    """Every column of a table, in the order in which `load` takes them."""
    prefix = f"{alias}." if alias else ""
    return ", ".join(f'{prefix}"{field.column_name}"' for _, field in _fields(table))


def load(table: type[TableT], row: tuple[Any, ...]) -> TableT:
    """A model's instance from the columns of `columns`."""
    values = {
        name: field.python_value(value)
        for (name, field), value in zip(_fields(table), row, strict=True)
    }
    return table(**values)


def values(row: Table) -> dict[str, Any]:
    """A row's columns by name; None for those that were not set when it was made just now."""
    return {name: None for name, _ in _fields(type(row))} | dict(cast(Any, row).__data__)


def find(table: type[TableT], where: str, *params: Any) -> list[TableT]:
    """The rows that a condition names; `where` is constant SQL with `?` for each parameter."""
    return [load(table, row) for row in db.rows(_select(table, where), params)]


def one(table: type[TableT], where: str, *params: Any) -> TableT | None:
    """The one row of a condition on a unique key, or None."""
    found = find(table, where, *params)
    return found[0] if found else None


@cache
def _select(table: type[Table], where: str) -> str:
    return f'SELECT {columns(table)} FROM "{cast(Any, table)._meta.table_name}" WHERE {where}'


def insert(table: type[Table], *rows: dict[str, Any], tail: str = "") -> list[tuple[Any, ...]]:
    """Insert rows that name the same columns; `tail` may be ON CONFLICT … or RETURNING …."""
    if not rows:
        return []
    names = tuple(rows[0])
    known = dict(_fields(table))
    params = [known[name].db_value(row[name]) for row in rows for name in names]
    return db.rows(_insert(table, names, len(rows), tail), params)


@cache
def _insert(table: type[Table], names: tuple[str, ...], count: int, tail: str) -> str:
    known = dict(_fields(table))
    written = ", ".join(f'"{known[name].column_name}"' for name in names)
    marks = ", ".join("?" for _ in names)
    values = ", ".join(f"({marks})" for _ in range(count))
    name = cast(Any, table)._meta.table_name
    return f'INSERT INTO "{name}" ({written}) VALUES {values} {tail}'
