"""Working hours: what a worker says of his week, and when that is (I-04).

`{"mon": [["09:00", "17:00"]], …}`: pairs of wall times of his zone, in order; `24:00` ends a day. A
day that is left out has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any

from engine.rules import wall_times

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MAX_PAIRS = 12
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d|24:00", re.ASCII)

Hours = Mapping[str, Sequence[Sequence[str]]]


def problem(pairs: Any) -> str | None:
    """What is wrong with the pairs of one day, or None."""
    if not isinstance(pairs, list) or len(pairs) > MAX_PAIRS:
        return f'give a list of at most {MAX_PAIRS} pairs like ["09:00", "17:00"]'
    last = ""
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or not all(map(_is_time, pair)):
            return 'give each pair as two times of the day, like ["09:00", "17:00"]'
        begin, end = pair
        if not last <= begin < end:
            return "give pairs in their order, each ending after it begins, that do not overlap"
        last = end
    return None


def _is_time(text: Any) -> bool:
    return isinstance(text, str) and _TIME.fullmatch(text) is not None


def spans(hours: Hours, zone: tzinfo, begin: int, end: int) -> list[tuple[int, int]]:
    """The moments (ms) between two others at which he works, as spans that do not touch.

    A span begins and ends when the clocks first show its times, or would have.
    """
    found: list[tuple[int, int]] = []
    if not any(hours.values()):
        return found
    for first, last in _all(hours, zone, begin, end):
        low, high = max(first, begin), min(last, end)
        if low >= high:
            continue
        if found and found[-1][1] >= low:
            found[-1] = (found[-1][0], max(high, found[-1][1]))
        else:
            found.append((low, high))
    return found


def _all(hours: Hours, zone: tzinfo, begin: int, end: int) -> Iterator[tuple[int, int]]:
    day = wall_times.shown(begin, zone).date() - timedelta(days=1)
    until = wall_times.shown(end, zone).date()
    while day <= until:
        for first, last in hours.get(DAYS[day.weekday()], ()):
            yield _at(day, first, zone), _at(day, last, zone)
        day += timedelta(days=1)


def _at(day: date, text: str, zone: tzinfo) -> int:
    if text == "24:00":
        day, text = day + timedelta(days=1), "00:00"
    return wall_times.reached(datetime.combine(day, time.fromisoformat(text)), zone)
