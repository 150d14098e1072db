"""What all tables share: the database, JSON columns, references."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import peewee
import simplejson

from engine.db import proxy


class Table(peewee.Model):
    class Meta:
        database = proxy
        legacy_table_names = False


if TYPE_CHECKING:
    _AnyText = peewee.TextField[Any]
else:
    _AnyText = peewee.TextField


class JsonField(_AnyText):
    """Any JSON value, kept as text so that both databases treat it alike; decimals stay exact."""

    def db_value(self, value: Any) -> str | None:
        return None if value is None else simplejson.dumps(value, use_decimal=True)

    def python_value(self, value: str | None) -> Any:
        return None if value is None else simplejson.loads(value, use_decimal=True)


def in_states(field: peewee.TextField[str], *names: str) -> peewee.Expression:
    """`field IN (…)` with the names as literals: SQLite uses a partial index for nothing else.

    The condition of the index and of the query must be this same expression.
    """
    return field.in_([peewee.SQL(f"'{name}'") for name in names])


def references(table: str, column: str = "id") -> peewee.SQL:
    """A foreign key without Peewee's lazy look-ups: rows are joined where they are needed."""
    return peewee.SQL(f'REFERENCES "{table}" ("{column}")')
