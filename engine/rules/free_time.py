"""Where there is room between what is planned, within working hours (I-04)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from itertools import accumulate

from engine.rules import wall_times, working_hours
from engine.rules.wall_times import MINUTE


class FreeTime:
    """The free times of a worker between two moments (ms), `busy` being what is planned.

    They begin on whole minutes, and not at a time that his clocks show for the second time: whoever
    said that time would be understood to mean the first.
    """

    def __init__(
        self,
        hours: working_hours.Hours,
        zone: tzinfo,
        begin: int,
        end: int,
        busy: Iterable[tuple[int, int]],
    ) -> None:
        found = _without(working_hours.spans(hours, zone, begin, end), _merged(busy))
        begun = ((_begin(first, zone), last) for first, last in found)
        self._free = [(first, last) for first, last in begun if first < last]
        # The longest up to each of them, which only grows.
        self._longest = list(accumulate((last - first for first, last in self._free), max))

    def first(self, length: int) -> int | None:
        """When the first one begins that has this length (ms); None: there is none."""
        at = bisect_left(self._longest, length)
        return self._free[at][0] if at < len(self._free) else None


def _merged(busy: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same time as spans in order that do not touch."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(busy):
        if found and found[-1][1] >= first:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def _without(
    spans: list[tuple[int, int]], busy: list[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """What `busy` leaves of the spans; both in order, and none touching another."""
    at = 0
    for first, last in spans:
        while at < len(busy) and busy[at][0] < last:
            begin, end = busy[at]
            if first < begin:
                yield first, begin
            first = max(first, end)
            if end > last:
                # It goes on into a later span.
                break
            at += 1
        if first < last:
            yield first, last


def _begin(at: int, zone: tzinfo) -> int:
    at = -(-at // MINUTE) * MINUTE
    while wall_times.is_second(at, zone):
        at += MINUTE
    return at
