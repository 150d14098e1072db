"""The JSON schemas that a mode gives: only words that the engine looks at, and values that fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.conformance import faults
from engine.rules import json_shapes, money
from engine.rules.money import UNITS_PER_DOLLAR

Schema = Mapping[str, Any]

# What `engine/rules/shapes.py` and `engine/gig_settings.py` look at, and what describes.
OF_SETTINGS = frozenset(
    {
        "type",
        "const",
        "enum",
        "minimum",
        "maximum",
        "multipleOf",
        "anyOf",
        "default",
        "description",
        "readOnly",
    }
)


def of_a_setting(what: str, schema: object) -> Iterator[str]:
    """What is wrong with what a mode says of a gig's setting."""
    if not isinstance(schema, Mapping):
        yield f"{what} must be a JSON schema, a dict such as {{'type': 'integer'}}, not {schema!r}."
        return
    for word in schema.keys() - OF_SETTINGS:
        yield f"{what} uses the word {word!r}, which nothing looks at. " + faults.one_of(
            str(word), OF_SETTINGS
        )
    if not {"type", "const", "enum", "anyOf"} & schema.keys():
        yield f"{what} says no type. Add 'type'."


def of_fields(what: str, fields: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with what a mode says of its fields, or of a verb's."""
    for name, schema in fields.items():
        if not isinstance(schema, Mapping):
            yield f"{what}: {name!r} must be a dict such as {{'type': 'string'}}, not {schema!r}."
            continue
        try:
            json_shapes.check({name: schema})
        except ValueError as error:
            yield f"{what}: {error}."


def sample(schema: Schema, *, inside: bool = True) -> Any:
    """A value that fits, as far as the schema says what fits.

    `inside` as a mode sees it; otherwise as somebody says it, which differs for money.
    """
    found = _sample(schema)
    if schema.get("format") == json_shapes.MONEY and not inside and found is not None:
        return str(money.to_dollars(found))
    return found


def _sample(schema: Schema) -> Any:
    for word in ("const", "default"):
        if schema.get(word) is not None:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("format") == json_shapes.MONEY:
        return max(schema.get("minimum", 0), min(UNITS_PER_DOLLAR, schema.get("maximum", 10**9)))
    match next(iter(json_shapes.kinds(schema)), None):
        case "string":
            date = schema.get("format") == json_shapes.DATE_TIME
            text = "2031-03-04T09:00:00Z" if date else "some words"
            return text.ljust(schema.get("minLength", 1), ".")[: schema.get("maxLength", 1000)]
        case "integer" | "number":
            return max(schema.get("minimum", 1), min(1, schema.get("maximum", 1)))
        case "boolean":
            return True
        case "array":
            return [_sample({"type": "string", **schema.get("items", {})})]
    return None


# Fits no member of any body: none is an object.
MISFIT: Any = {"not": "a value"}
