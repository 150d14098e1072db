"""Times as they are shown: RFC 3339 in UTC (H-10)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import available_timezones

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,6})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)

# Names that stand for whatever a machine is set to, or for none.
NO_PLACES = frozenset({"localtime", "Factory"})


def iso_ms(at: int) -> str:
    """Milliseconds since 1970 as `2026-10-19T09:00:00.000Z`."""
    seconds, ms = divmod(at, 1000)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}.{ms:03d}Z"


def iso_ms_or_none(at: int | None) -> str | None:
    return None if at is None else iso_ms(at)


def is_instant(text: str) -> bool:
    """Has it the form of RFC 3339, whether there is such a time or not?"""
    return _RFC3339.fullmatch(text) is not None


def of_query(text: str) -> str:
    """A time as it was meant in a query, where a plus sign that is not encoded is a blank."""
    return text.replace(" ", "+")


def parse_ms(text: object) -> int:
    """`2026-10-19T09:00:00Z` or with an offset, as milliseconds; ValueError says what is wrong."""
    if not isinstance(text, str) or not is_instant(text):
        raise ValueError("give a time like 2026-10-19T09:00:00Z, with its zone")
    try:
        at = datetime.fromisoformat(text.upper())
        return (at - _EPOCH) // timedelta(milliseconds=1)
    except (ValueError, OverflowError) as error:
        raise ValueError("there is no such time") from error


@cache
def zones() -> frozenset[str]:
    """The names of the IANA database as this machine has it, but for `NO_PLACES`."""
    return frozenset({"UTC", *available_timezones()} - NO_PLACES)
