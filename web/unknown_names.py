"""What is said of a field that nobody reads: the name that was probably meant (H-05)."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from marshmallow import Schema, fields

UNKNOWN = "Unknown field"
# Beyond this two names have little in common; 1 is equality.
_ALIKE = 0.7


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
    near = get_close_matches(name.lower(), known, 1, _ALIKE)
    return f"{UNKNOWN}; did you mean `{near[0]}`?" if near else UNKNOWN


def _below(schema: Schema | None, part: str) -> Schema | None:
    """The schema of a member, or of each in a list, whose number is a part of the path too."""
    if schema is None or part.isdigit():
        return schema
    field: Any = schema.fields.get(part)
    if isinstance(field, fields.List):
        field = field.inner
    return field.schema if isinstance(field, fields.Nested) else None
