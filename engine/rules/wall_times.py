"""Wall times: what a clock on the wall shows in a zone, without an offset (F10).

A moment is milliseconds since 1970 in UTC. Where clocks go forward some wall times never come, and
where they go back some come twice: of those the first is meant.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from engine.rules import times

SECOND, MINUTE = 1000, 60_000
FIRST_YEAR, LAST_YEAR = 1971, 9998
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WALL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?", re.ASCII)


class NoSuchWallTime(ValueError):
    """Clocks go forward over this time, so it never comes."""


def is_local(text: str) -> bool:
    """Does this look like a wall time?"""
    return _WALL.fullmatch(text) is not None


def parse(text: str) -> datetime:
    """`2026-10-19T14:00` or with seconds; ValueError says what is wrong, an offset included."""
    if not is_local(text):
        try:
            times.parse_ms(text)
        except ValueError:
            raise ValueError("give a local time like 2026-10-19T14:00:00") from None
        raise ValueError(
            "give the local time of your zone, like 2026-10-19T14:00:00, without an offset or Z"
        )
    _check_year(text)
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError("there is no such time") from error


def parse_with_offset(text: str) -> int:
    """`2026-10-19T14:00:00+02:00` or with `Z`, of the same years, as a moment; else ValueError."""
    at = times.parse_ms(text)
    _check_year(text)
    return at


def _check_year(text: str) -> None:
    # So that there is a day before and after it in every zone.
    if not FIRST_YEAR <= int(text[:4]) <= LAST_YEAR:
        raise ValueError(f"give a year from {FIRST_YEAR} to {LAST_YEAR}")


def moment(wall: datetime, zone: tzinfo) -> int:
    """When the clocks of the zone show this first; `NoSuchWallTime` where they never do."""
    at = _unchecked(wall, zone)
    if shown(at, zone) != wall:
        raise NoSuchWallTime("clocks go forward over this time, so it never comes")
    return at


def reached(wall: datetime, zone: tzinfo) -> int:
    """When the clocks of the zone show this first, or anything later where they never do."""
    at = _unchecked(wall, zone)
    if shown(at, zone) != wall:
        # Read by the offset of after the change it lies before that, less than the gap's length.
        at = _unchecked(wall.replace(fold=1), zone)
        while shown(at, zone) < wall:
            at += MINUTE
    return at


def shown(at: int, zone: tzinfo) -> datetime:
    """What the clocks of the zone show at a moment."""
    local = datetime.fromtimestamp(at // SECOND, zone)
    return local.replace(tzinfo=None, fold=0)


def is_second(at: int, zone: tzinfo) -> bool:
    """Have the clocks shown this very time before?"""
    return _unchecked(shown(at, zone), zone) != at - at % SECOND


def iso(at: int, zone: tzinfo) -> str:
    """A moment as `2026-10-19T14:00:00` of the zone."""
    return shown(at, zone).isoformat(timespec="seconds")


def iso_utc(at: int) -> str:
    """A moment as `2026-10-19T09:00:00Z`: whole seconds, as under `/api/v1` (H-10)."""
    return f"{iso(at, UTC)}Z"


def _unchecked(wall: datetime, zone: tzinfo) -> int:
    return (wall.replace(tzinfo=zone) - _EPOCH) // timedelta(milliseconds=1)
