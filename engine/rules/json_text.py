"""Text that may be JSON: how deep it goes, asked before it is parsed, and its members."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import simplejson

MAX_DEPTH = 64
MAX_NUMBER_CHARACTERS = 100

# Possessive, so that a body of escapes costs no memory to go back with.
_STRINGS_AND_BRACKETS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


def is_deeper_than(limit: int, text: str) -> bool:
    """Asked before the parser, which recurses on the C stack: a deep body would end the process.

    Python's own limit does not help, since the chain's libraries raise it to 100,000.
    """
    if text.count("[") + text.count("{") <= limit:
        return False
    depth = 0
    for found in _STRINGS_AND_BRACKETS.finditer(text):
        first = text[found.start()]
        if first in "[{":
            depth += 1
            if depth > limit:
                return True
        elif first != '"':
            depth -= 1
    return False


def members(text: str) -> dict[str, Any]:
    """The members of a text that is a JSON object; none of any other, which is taken as it is."""
    if not text.lstrip().startswith("{") or is_deeper_than(MAX_DEPTH, text):
        return {}
    try:
        found = simplejson.loads(text, parse_float=_number(Decimal), parse_int=_number(int))
    except (ValueError, ArithmeticError):
        return {}
    return found if isinstance(found, dict) else {}


def _number(kind: type) -> Any:
    def parse(text: str) -> Any:
        # A number of a million digits costs seconds, and fits no field.
        return kind(text) if len(text) <= MAX_NUMBER_CHARACTERS else text

    return parse
