"""What the description says of a field beside its type: bounds, defaults, and words for readers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import marshmallow
from apispec import APISpec

from web.fields import Whole

# The ids of rules in docstrings, which lead whoever reads the description nowhere.
_RULES = re.compile(r"\s*\([A-Z]-\d\d(?:,\s+[A-Z]-\d\d)*\)")


def field_bounds(_: Any, field: Any, **__: Any) -> dict[str, int]:
    return {"minimum": field.least, "maximum": field.most} if isinstance(field, Whole) else {}


def field_default(_: Any, field: Any, **__: Any) -> dict[str, Any]:
    """What is taken where nothing is said, if the schema leaves that to the engine (`defaults`)."""
    name = field.attribute or field.name
    defaults = getattr(field.parent, "defaults", {})
    if name in defaults and not field.required:
        return {"default": field._serialize(defaults[name], name, None)}
    if callable(field.load_default) and field.load_default is not marshmallow.missing:
        return {"default": field.load_default()}
    return {}


def tell_schemas(spec: APISpec, converter: Any) -> None:
    """A schema's docstring is its description."""
    for (schema, *_), name in converter.refs.items():
        words = schema.__dict__.get("__doc__")
        if words and name in spec.components.schemas:
            spec.components.schemas[name].setdefault("description", " ".join(words.split()))


def make_readable(value: Any) -> None:
    """Leave out what tells a reader nothing: ids of rules, and null where null cannot be given."""
    if isinstance(value, list):
        for one in value:
            make_readable(one)
    elif isinstance(value, dict):
        for name in ("description", "summary"):
            if isinstance(value.get(name), str):
                value[name] = plain(value[name])
        kind = value.get("type")
        if isinstance(kind, (str, list)) and "null" not in kind and value.get("default", 0) is None:
            del value["default"]
        for one in value.values():
            make_readable(one)


def plain(words: str) -> str:
    """A sentence without the ids of the rules behind it."""
    return _RULES.sub("", words)


def reached(value: Any, schemas: dict[str, Any]) -> set[str]:
    """The names of the schemas that a part of the description refers to, near or far."""
    found: set[str] = set()
    waiting = list(_refs(value))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _refs(schemas[name])
    return found


def _refs(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, member in value.items():
            if name == "$ref":
                yield member.rpartition("/")[2]
            else:
                yield from _refs(member)
    elif isinstance(value, list):
        for member in value:
            yield from _refs(member)
