"""Values that fit a JSON schema: what senders say in a mode's own fields, and bodies of its verbs.

These words of JSON Schema are known: `type` (`string`, `integer`, `number`, `boolean`, `array` of
strings by `items`, and `null` beside one of them), `enum`, `const`, `minLength`, `maxLength`,
`minimum`, `maximum`, `pattern`, `maxItems`, `format` and `default`, beside `title`, `description`
and `examples`, which say nothing. Formats are `date-time` (RFC 3339 with its zone) and `money`:
dollars outside, base units (10⁻⁶ USDC) inside, in which its bounds and its default are given too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from engine.errors import Refused
from engine.rules import money, names, times

Shape = Mapping[str, Any]
KINDS = ("string", "integer", "number", "boolean", "array", "null")
MONEY, DATE_TIME = "money", "date-time"
MISSING = "Missing data for required field"
# As many as a reader would follow.
MOST_ERRORS = 50
MOST_INTEGER = 2**63 - 1
MOST_ITEMS = 100

_WORDS = {"type", "enum", "const", "minLength", "maxLength", "minimum", "maximum", "pattern"}
_WORDS |= {"items", "maxItems", "format", "default", "title", "description", "examples"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}", re.ASCII)
_WHOLE = re.compile(r"-?[0-9]{1,19}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", re.ASCII)
_SAYS = {
    "string": "give a text",
    "integer": "give a whole number",
    "number": "give a number",
    "boolean": "give true or false",
    "array": "give a list of texts",
}


def read(
    given: Mapping[str, Any],
    shapes: Mapping[str, Shape],
    required: Iterable[str] = (),
    *,
    from_text: bool = False,
) -> dict[str, Any]:
    """The given members as their shapes say, in that order, what is left out by its default.

    `from_text`: they come from a query or a file of texts. A 400 names every member that is
    unknown, missing or does not fit.
    """
    wrong = {names.shown(name): names.unknown(name, shapes) for name in given if name not in shapes}
    wrong |= {name: MISSING for name in required if name not in given}
    found: dict[str, Any] = {}
    for name, shape in shapes.items():
        if name not in given:
            continue
        try:
            found[name] = value(given[name], shape, from_text=from_text)
        except ValueError as error:
            wrong[name] = str(error)
    if wrong:
        raise refusal(wrong)
    return with_defaults(found, shapes)


def refusal(wrong: Mapping[str, str]) -> Refused:
    """A 400 that names every bad field, as far as a reader would follow."""
    listed = dict(list(wrong.items())[:MOST_ERRORS])
    told = "; ".join(f"{name}: {sentence}" for name, sentence in listed.items())
    more = len(wrong) - len(listed)
    return Refused("invalid", f"{told}; and {more} more" if more else told, errors=listed)


def with_defaults(found: Mapping[str, Any], shapes: Mapping[str, Shape]) -> dict[str, Any]:
    """What was read, in the order of the shapes, with the defaults of what was left out."""
    return {
        name: found[name] if name in found else shape["default"]
        for name, shape in shapes.items()
        if name in found or "default" in shape
    }


def value(given: Any, shape: Shape, *, from_text: bool = False) -> Any:
    """One value as its shape says; ValueError tells what would fit."""
    if given is None:
        if takes_null(shape):
            return None
        raise ValueError(f"{_expected(shape)}, not null" if kinds(shape) else "not null")
    if shape.get("format") == MONEY:
        return _fits(money.parse_units(given), shape)
    return _fits(_of_text(given, shape) if from_text else _of_json(given, shape), shape)


def shown(kept: Any, shape: Shape) -> Any:
    """A value that was read, as whoever gave it would: amounts in dollars."""
    is_amount = shape.get("format") == MONEY and isinstance(kept, int)
    return money.to_dollars(kept) if is_amount else kept


def takes_null(shape: Shape) -> bool:
    allowed = [shape["const"]] if "const" in shape else shape.get("enum", [None])
    return "null" in _types(shape) and None in allowed


def kinds(shape: Shape) -> list[str]:
    """The types that a value may have, null aside."""
    return [kind for kind in _types(shape) if kind != "null"]


def _types(shape: Shape) -> list[str]:
    named = shape.get("type", [])
    return [named] if isinstance(named, str) else list(named)


def _expected(shape: Shape) -> str:
    return ", or ".join(_SAYS[kind] for kind in kinds(shape))


def _of_json(given: Any, shape: Shape) -> Any:
    if any(_is(given, kind) for kind in kinds(shape)):
        return given
    raise ValueError(_expected(shape))


def _is(given: Any, kind: str) -> bool:
    match kind:
        case "string":
            return isinstance(given, str)
        case "integer":
            return isinstance(given, int) and not isinstance(given, bool)
        case "number":
            return isinstance(given, int | Decimal) and not isinstance(given, bool)
        case "boolean":
            return isinstance(given, bool)
    return isinstance(given, list) and all(isinstance(one, str) for one in given)


def _of_text(given: Any, shape: Shape) -> Any:
    """By the first type that the text can be read as; a text last, since it is always one."""
    text = times.of_query(str(given)) if shape.get("format") == DATE_TIME else str(given)
    for kind in sorted(kinds(shape), key=lambda one: one == "string"):
        read_as = _read_text(text, kind)
        if read_as is not None:
            return read_as
    raise ValueError(_expected(shape))


def _read_text(text: str, kind: str) -> Any:
    match kind:
        case "integer":
            return int(text) if _WHOLE.fullmatch(text) else None
        case "number":
            if _WHOLE.fullmatch(text):
                return int(text)
            return Decimal(text) if _NUMBER.fullmatch(text) else None
        case "boolean":
            return {"true": True, "false": False}.get(text)
        case "array":
            # A text without any says that there are none.
            return [one.strip() for one in text.split(",") if one.strip()]
    return text


def _fits(found: Any, shape: Shape) -> Any:
    if "const" in shape and not _same(found, shape["const"]):
        raise ValueError(f"this is {_shown(shape['const'], shape)}")
    if "enum" in shape and not any(_same(found, one) for one in shape["enum"]):
        raise ValueError(f"one of {', '.join(_shown(one, shape) for one in shape['enum'])}")
    if isinstance(found, str):
        return _fits_text(found, shape)
    if isinstance(found, list):
        most = shape.get("maxItems", MOST_ITEMS)
        if len(found) > most:
            raise ValueError(f"give at most {most}")
        return [_fits_text(one, shape.get("items", {})) for one in found]
    if isinstance(found, int | Decimal) and not isinstance(found, bool):
        _fits_bounds(found, shape)
    return found


def _fits_text(found: str, shape: Shape) -> str:
    if "\0" in found or any("\ud800" <= one <= "\udfff" for one in found):
        raise ValueError("a NUL character or a lone surrogate is not allowed")
    least, most = shape.get("minLength", 0), shape.get("maxLength")
    if len(found) < least or (most is not None and len(found) > most):
        told = f"at most {most}" if not least else f"{least} to {most}"
        raise ValueError(f"give {f'at least {least}' if most is None else told} characters")
    if "enum" in shape and found not in shape["enum"]:
        raise ValueError(f"one of {', '.join(shape['enum'])}")
    if "pattern" in shape and not re.search(shape["pattern"], found):
        raise ValueError(f"give a text of the form {shape['pattern']}")
    if shape.get("format") == DATE_TIME:
        times.parse_ms(found)
    return found


def _fits_bounds(found: Any, shape: Shape) -> None:
    if isinstance(found, int) and abs(found) > MOST_INTEGER:
        raise ValueError("a whole number beyond 64 bits")
    least, most = shape.get("minimum"), shape.get("maximum")
    if (least is None or found >= least) and (most is None or found <= most):
        return
    if least is not None and most is not None:
        raise ValueError(f"from {_shown(least, shape)} to {_shown(most, shape)}")
    bound = (
        f"at most {_shown(most, shape)}" if least is None else f"at least {_shown(least, shape)}"
    )
    raise ValueError(bound)


def _same(found: Any, allowed: Any) -> bool:
    """Equal, where true is not 1."""
    return isinstance(found, bool) == isinstance(allowed, bool) and bool(found == allowed)


def _shown(one: Any, shape: Shape) -> str:
    if one is None or isinstance(one, bool):
        return str({None: "null", True: "true", False: "false"}[one])
    return str(shown(one, shape))


def check(shapes: Mapping[str, Shape]) -> None:
    """Is everything here that a mode says of its fields known? ValueError names what is not."""
    for name, shape in shapes.items():
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a field: letters, digits and _")
        unknown = sorted(set(shape) - _WORDS)
        if unknown:
            meant = names.one_of(unknown[0], _WORDS).rstrip(".")
            told = f"{name}: {', '.join(unknown)} of JSON Schema is not known here. {meant}"
            raise ValueError(told)
        wrong = sorted(set(_types(shape)) - set(KINDS))
        if wrong:
            raise ValueError(f"{name}: no type is called {', '.join(wrong)}")
        if shape.get("format") not in (None, MONEY, DATE_TIME):
            raise ValueError(f"{name}: no format is called {shape['format']}")
        if not kinds(shape) and shape.get("format") != MONEY:
            raise ValueError(f"{name}: say its type")
        if "default" in shape and shape["default"] is not None:
            _fits(shape["default"], shape)
