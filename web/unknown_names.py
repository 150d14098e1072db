"""What is said of a field that nobody reads: the name that was probably meant (H-05)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marshmallow import Schema, fields

from engine.rules import names
from engine.rules.names import UNKNOWN as UNKNOWN


def sentence(schema: Schema | None, path: str) -> str:
    """What is wrong with the name at the end of a path like `updates.0.priice`.

    A schema may say more of names that it does not take, in a mapping called `untaken`.
    """
    *above, name = path.split(".")
    for part in above:
        schema = _below(schema, part)
    if schema is None:
        return UNKNOWN
    untaken: Mapping[str, str] = getattr(schema, "untaken", {})
    if name in untaken:
        return untaken[name]
    # What is only taken to be refused with a better reason is no hint.
    hints = {own: field for own, field in schema.fields.items() if not field.load_only}
    known = [field.data_key or own for own, field in hints.items()]
    told = names.unknown(name, known)
    taken: str | None = getattr(schema, "taken", None)
    return f"{told}; {taken}" if told == UNKNOWN and taken else told


def _below(schema: Schema | None, part: str) -> Schema | None:
    """The schema of a member, or of each in a list, whose number is a part of the path too."""
    if schema is None or part.isdigit():
        return schema
    field: Any = schema.fields.get(part)
    if isinstance(field, fields.List):
        field = field.inner
    return field.schema if isinstance(field, fields.Nested) else None
