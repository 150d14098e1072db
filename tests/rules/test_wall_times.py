"""Wall times, working hours and free times, across clock changes (F10, I-04)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.rules import wall_times, working_hours
from engine.rules.free_time import FreeTime
from engine.rules.wall_times import MINUTE

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
# A zone whose clocks leap over midnight, and one whose change is of half an hour.
BEIRUT, LORD_HOWE = ZoneInfo("Asia/Beirut"), ZoneInfo("Australia/Lord_Howe")
ZONES = (BERLIN, NEW_YORK, BEIRUT, LORD_HOWE, ZoneInfo("UTC"))
DAY = 24 * 60 * MINUTE


def at(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
        milliseconds=1
    )


# (zone, local time, the moment or None where it never comes)
MOMENTS = [
    (BERLIN, "2026-03-29T01:59:59", "2026-03-29T00:59:59Z"),
    (BERLIN, "2026-03-29T02:00", None),
    (BERLIN, "2026-03-29T02:30", None),
    (BERLIN, "2026-03-29T03:00", "2026-03-29T01:00:00Z"),
    (BERLIN, "2026-10-25T01:59", "2026-10-24T23:59:00Z"),
    (BERLIN, "2026-10-25T02:00", "2026-10-25T00:00:00Z"),
    (BERLIN, "2026-10-25T02:30:00", "2026-10-25T00:30:00Z"),
    (BERLIN, "2026-10-25T03:00", "2026-10-25T02:00:00Z"),
    (NEW_YORK, "2026-03-08T02:30", None),
    (NEW_YORK, "2026-03-08T03:00", "2026-03-08T07:00:00Z"),
    (NEW_YORK, "2026-11-01T01:30", "2026-11-01T05:30:00Z"),
    (NEW_YORK, "2026-11-01T02:00", "2026-11-01T07:00:00Z"),
    (BEIRUT, "2026-03-29T00:30", None),
    (LORD_HOWE, "2026-10-04T02:15", None),
    (LORD_HOWE, "2026-04-05T01:45", "2026-04-04T14:45:00Z"),
    (NEW_YORK, "9998-12-31T23:59:59", "9999-01-01T04:59:59Z"),
]


@pytest.mark.case("F10")
@pytest.mark.rule("I-04")
@pytest.mark.parametrize(("zone", "text", "moment"), MOMENTS)
def test_a_wall_time_is_one_moment_or_none(zone: ZoneInfo, text: str, moment: str | None) -> None:
    wall = wall_times.parse(text)
    if moment is None:
        with pytest.raises(wall_times.NoSuchWallTime):
            wall_times.moment(wall, zone)
    else:
        found = wall_times.moment(wall, zone)
        assert wall_times.iso_utc(found) == moment
        assert wall_times.iso(found, zone) == wall.isoformat()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-10-19", "give a local time"),
        ("2026-10-19 14:00", "give a local time"),
        ("2026-10-19T14:00:00.5", "give a local time"),
        ("2026-10-19T24:00", "no such time"),
        ("2026-02-30T10:00", "no such time"),
        ("0000-01-01T10:00", "a year from"),
        ("1970-12-31T10:00", "a year from"),
        ("9999-12-31T10:00", "a year from"),
        ("2026-10-19T14:00:00Z", "without an offset"),
        ("2026-10-19T14:00:00+02:00", "without an offset"),
        ("\u0662026-10-19T14:00", "give a local time"),
        ("", "give a local time"),
    ],
)
def test_what_is_no_local_time_is_told_why(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        wall_times.parse(text)


def test_a_moment_is_given_with_its_offset_in_years_that_every_zone_has() -> None:
    assert wall_times.parse_with_offset("2026-10-19T14:00:00+02:00") == at("2026-10-19T12:00+00:00")
    for text in ("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+12:00", "2026-10-19T14:00"):
        with pytest.raises(ValueError, match="give a"):
            wall_times.parse_with_offset(text)


@given(st.integers(0, 400_000), st.sampled_from(ZONES))
def test_a_time_that_clocks_show_again_is_told_from_its_first(minutes: int, zone: ZoneInfo) -> None:
    moment = at("2026-01-15T00:00+00:00") + minutes * MINUTE
    wall = wall_times.shown(moment, zone)
    first = wall_times.moment(wall, zone)
    assert wall_times.is_second(moment, zone) == (first < moment)
    assert wall_times.reached(wall, zone) == first


@pytest.mark.case("F10")
def test_hours_on_days_of_a_clock_change_are_as_long_as_they_are() -> None:
    def on(day: str, begin: str, end: str, zone: ZoneInfo) -> list[tuple[str, str]]:
        hours = {key: [[begin, end]] for key in working_hours.DAYS}
        noon = wall_times.moment(wall_times.parse(f"{day}T12:00"), zone)
        found = working_hours.spans(hours, zone, noon - 12 * 60 * MINUTE, noon + 12 * 60 * MINUTE)
        return [(wall_times.iso_utc(low), wall_times.iso_utc(high)) for low, high in found]

    # Clocks leap from 02:00 to 03:00, and back from 03:00 to 02:00.
    assert on("2026-03-29", "02:30", "10:00", BERLIN)[0][0] == "2026-03-29T01:00:00Z"
    assert on("2026-03-29", "01:00", "02:30", BERLIN)[0] == (
        "2026-03-29T00:00:00Z",
        "2026-03-29T01:00:00Z",
    )
    assert on("2026-10-25", "01:00", "04:00", BERLIN)[0] == (
        "2026-10-24T23:00:00Z",
        "2026-10-25T03:00:00Z",
    )
    # A day without a midnight is joined to the one before it.
    assert len(on("2026-03-29", "00:00", "24:00", BEIRUT)) == 1


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([["09:00", "12:30"], ["12:30", "24:00"]], None),
        ([], None),
        ("09:00", "a list"),
        ([["09:00", "10:00"]] * 13, "at most 12"),
        ([["09:00"]], "two times"),
        ([["09:00", 17]], "two times"),
        ([["9:00", "17:00"]], "two times"),
        ([["09:00", "24:01"]], "two times"),
        ([{"from": "09:00"}], "two times"),
        ([["17:00", "09:00"]], "in their order"),
        ([["09:00", "09:00"]], "in their order"),
        ([["09:00", "12:00"], ["11:00", "13:00"]], "in their order"),
        ([["13:00", "17:00"], ["09:00", "12:00"]], "in their order"),
    ],
)
def test_the_hours_of_a_day_are_pairs_in_order(pairs: Any, told: str | None) -> None:
    found = working_hours.problem(pairs)
    assert found is None if told is None else found is not None and told in found


def _pairs(edges: set[int]) -> list[list[str]]:
    texts = [f"{edge // 4:02}:{edge % 4 * 15:02}" for edge in sorted(edges)]
    return [list(pair) for pair in zip(texts[::2], texts[1::2], strict=False)]


HOURS = st.dictionaries(
    st.sampled_from(working_hours.DAYS), st.sets(st.integers(0, 96), max_size=6).map(_pairs)
)
# From two days before a clock change, the busy times around it; in minutes.
BEGINS = st.sampled_from(["2026-03-27", "2026-10-23", "2026-03-06", "2026-10-30", "2026-06-01"])
BUSY = st.lists(st.tuples(st.integers(-600, 6000), st.integers(1, 900)), max_size=12)


@pytest.mark.rule("I-04")
@pytest.mark.case("F10")
@settings(max_examples=60)
@given(HOURS, st.sampled_from(ZONES), BEGINS, st.integers(0, 1440), BUSY, st.integers(1, 600))
def test_a_free_time_is_within_hours_overlaps_nothing_and_is_the_first(
    hours: Any, zone: ZoneInfo, day: str, skip: int, planned: list[tuple[int, int]], minutes: int
) -> None:
    begin = at(f"{day}T00:00+00:00") + skip * MINUTE + 17
    end = begin + 4 * DAY
    busy = [(begin + low * MINUTE, begin + (low + long) * MINUTE) for low, long in planned]
    found = FreeTime(hours, zone, begin, end, busy).first(minutes * MINUTE)
    spans = working_hours.spans(hours, zone, begin, end)

    def fits(start: int) -> bool:
        stop = start + minutes * MINUTE
        worked = any(low <= start and stop <= high for low, high in spans)
        return worked and not any(low < stop and start < high for low, high in busy)

    tries = range(-(-begin // MINUTE) * MINUTE, end, MINUTE)
    # What he says of a time that comes twice is understood as the first.
    free = (one for one in tries if not wall_times.is_second(one, zone) and fits(one))
    assert found == next(free, None)
