"""The table of waits (W-02)."""

from __future__ import annotations

import random

import pytest

from engine.rules import retry

HOUR = 3600
TABLE = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR]


@pytest.mark.rule("W-02")
def test_ten_tries_and_then_no_more() -> None:
    assert retry.TRIES == 10
    assert [retry.delay_seconds(n) is None for n in range(1, 13)] == [False] * 9 + [True] * 3


@pytest.mark.rule("W-02")
@pytest.mark.parametrize("tries_made", range(1, 10))
def test_jitter_only_adds_and_at_most_a_tenth(
    tries_made: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = TABLE[tries_made - 1]
    for _ in range(100):
        found = retry.delay_seconds(tries_made)
        assert found is not None
        assert wait <= found <= wait * 1.1
    monkeypatch.setattr(random, "uniform", lambda low, high: low)
    assert retry.delay_seconds(tries_made) == wait


@pytest.mark.rule("W-02")
def test_ten_tries_take_about_three_days() -> None:
    assert 3 * 86_400 <= sum(TABLE) <= 3.5 * 86_400


@pytest.mark.rule("W-02")
@pytest.mark.parametrize(
    ("tries_made", "asked", "least"),
    [(1, 60, 60), (1, 0, 5), (1, 999_999, 86_400), (9, 60, 86_400), (4, 7201, 7201)],
)
def test_a_receiver_may_only_lengthen_the_wait_up_to_a_day(
    tries_made: int, asked: int, least: int
) -> None:
    found = retry.delay_seconds(tries_made, asked)
    assert found is not None
    assert least <= found <= least * 1.1


@pytest.mark.rule("W-02")
def test_a_receiver_cannot_ask_for_an_eleventh_try() -> None:
    assert retry.delay_seconds(10, 60) is None
