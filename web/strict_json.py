"""JSON in and out, strictly (H-09, H-11): no float, no duplicate keys, no broken text."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

import simplejson
from flask.json.provider import JSONProvider

from engine.errors import Refused, invalid
from engine.rules import json_text
from engine.rules.json_text import MAX_DEPTH, MAX_NUMBER_CHARACTERS
from engine.rules.names import shown as shown

# Of a payload, which is only looked at and never read into rows.
MAX_PAYLOAD_DEPTH = 500
MIN_INTEGER, MAX_INTEGER = -(2**63), 2**63 - 1
PAYLOAD = "payload"
BLANKS = b" \t\r\n"
# A byte order mark, and one that was read as Latin-1; simplejson would pass over both.
_MARKS = ("\ufeff", "\xef\xbb\xbf")


def parse_object(raw: bytes) -> dict[str, Any]:
    """A request's body; an empty one is `{}`. Refused with 400 for anything but a clean object."""
    if not raw.strip(BLANKS):
        return {}
    value = parse(raw)
    if not isinstance(value, dict):
        raise invalid("body", "send a JSON object, in braces")
    _check(value, 1)
    return value


def parse(raw: bytes) -> Any:
    """Any JSON value: UTF-8, no duplicate keys, decimals as Decimal."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid("body", f"not UTF-8 at byte {error.start}") from error
    _refuse_mark("body", text)
    if json_text.is_deeper_than(MAX_DEPTH, text):
        raise invalid("body", f"nested deeper than {MAX_DEPTH}")
    try:
        return simplejson.loads(
            text,
            parse_float=_number(Decimal),
            parse_int=_number(int),
            parse_constant=_constant,
            object_pairs_hook=_object,
        )
    except simplejson.JSONDecodeError as error:
        raise invalid("body", f"not JSON: {error}") from error


def parse_row(raw: bytes) -> dict[str, Any]:
    """One object whose member `payload` is any JSON value, told as its own text (H-11).

    A payload is kept to the byte, so it is cut out before the rest is read strictly: it may hold
    what a row's own members may not.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid("body", f"not UTF-8 at byte {error.start}") from error
    _refuse_mark("body", text)
    if json_text.is_deeper_than(MAX_PAYLOAD_DEPTH, text):
        raise invalid("payload", "nested too deep to be read")
    begin, end = _member(text, PAYLOAD) or (0, 0)
    # A payload that is a text is the row's like any other; an odd row is refused as it stands.
    if begin == end or text[begin] == '"':
        return parse_object(raw)
    check_parses(text[begin:end])
    row = parse_object(f"{text[:begin]}null{text[end:]}".encode())
    return {**row, PAYLOAD: RawJson(text[begin:end])}


class RawJson(str):
    """The text of a JSON value, as it was sent."""


_LOOSE = json.JSONDecoder(parse_float=str, parse_int=str)
_SPACE = re.compile(r"[ \t\r\n]*")


def _member(text: str, name: str) -> tuple[int, int] | None:
    """Where the value of an object's first member of this name begins and ends, if that is clear.

    Anything that is not right is left for the strict parser to name.
    """

    def skip(at: int) -> int:
        found = _SPACE.match(text, at)
        return at if found is None else found.end()

    at = skip(0)
    if text[at : at + 1] != "{":
        return None
    try:
        while True:
            key, at = _LOOSE.raw_decode(text, skip(at + 1))
            at = skip(at)
            if not isinstance(key, str) or text[at : at + 1] != ":":
                return None
            begin = skip(at + 1)
            _, end = _LOOSE.raw_decode(text, begin)
            if key == name:
                return begin, end
            at = skip(end)
            if text[at : at + 1] != ",":
                return None
    except json.JSONDecodeError:
        return None


def check_parses(text: str) -> None:
    """Refuse a payload that calls itself JSON and is none. It is kept as it came, not as read."""
    _refuse_mark("payload", text)
    if json_text.is_deeper_than(MAX_PAYLOAD_DEPTH, text):
        raise invalid("payload", "sent as JSON, but nested too deep to be read")
    try:
        simplejson.loads(text, parse_float=str, parse_int=str)
    except simplejson.JSONDecodeError as error:
        raise invalid("payload", f"sent as JSON, but it is not: {error}") from error


def _refuse_mark(name: str, text: str) -> None:
    if text.startswith(_MARKS):
        raise invalid(name, "begins with a byte order mark; send UTF-8 without one")


def _number(kind: type) -> Any:
    def parse_number(text: str) -> Any:
        # Before the conversion: a number of a million digits costs seconds.
        if len(text) > MAX_NUMBER_CHARACTERS:
            raise invalid("body", f"a number of more than {MAX_NUMBER_CHARACTERS} characters")
        try:
            return kind(text)
        except InvalidOperation as error:
            raise invalid("body", "a number whose exponent is beyond every range") from error

    return parse_number


def _constant(name: str) -> Any:
    raise invalid("body", f"{name} is not JSON")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, value in pairs:
        if key in made:
            raise invalid(shown(key), "this key stands twice")
        made[key] = value
    return made


def _check(value: Any, depth: int, path: str = "") -> None:
    name = path or "body"
    if depth > MAX_DEPTH:
        raise invalid("body", f"nested deeper than {MAX_DEPTH}")
    match value:
        case dict():
            for key, member in value.items():
                check_text(shown(key), key)
                _check(member, depth + 1, f"{path}.{shown(key)}" if path else shown(key))
        case list():
            for number, member in enumerate(value):
                _check(member, depth + 1, f"{path}.{number}" if path else str(number))
        case str():
            check_text(name, value)
        case bool():
            pass
        case int() if not MIN_INTEGER <= value <= MAX_INTEGER:
            raise invalid(name, "a whole number beyond 64 bits")


def check_text(name: str, text: str) -> None:
    """Refuse what is no text for both databases alike: NUL and lone surrogates."""
    if "\0" in text:
        raise invalid(name, "a NUL character is not allowed")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise invalid(name, "a lone surrogate is not a character")


class ExactJson(JSONProvider):
    """Flask's JSON: Decimals are written out as numbers, digit for digit."""

    def dumps(self, obj: Any, **kwargs: Any) -> str:
        kwargs.setdefault("ensure_ascii", False)
        return simplejson.dumps(obj, use_decimal=True, **kwargs)

    def loads(self, s: str | bytes, **kwargs: Any) -> Any:
        try:
            return parse(s if isinstance(s, bytes) else s.encode("utf-8", "surrogatepass"))
        except Refused as error:
            raise ValueError(str(error)) from error
