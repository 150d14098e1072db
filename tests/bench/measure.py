"""Rates in interleaved rounds, and their ratios to a limit of the same round."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

Contender = Callable[[], float]


@dataclass(frozen=True)
class Effort:
    """How long everything takes: rounds, seconds of each measurement, and events of each endpoint
    where it is measured whether a bad one delays the others."""

    rounds: int = 3
    seconds: float = 1.2
    events: int = 60

    def scaled(self, count: int) -> int:
        """A piece of work of fixed size, smaller where less time is to be spent."""
        return count if self.rounds > 1 else max(1, count // 3)


@dataclass(frozen=True)
class Row:
    """A rate beside its limit, one of each for every round."""

    bench: str
    what: str
    unit: str
    rates: list[float]
    limit: str
    limit_rates: list[float]

    @property
    def ratios(self) -> list[float]:
        return [rate / limit for rate, limit in zip(self.rates, self.limit_rates, strict=True)]

    def as_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "rate": statistics.median(self.rates),
            "limit_rate": statistics.median(self.limit_rates),
            "ratio": statistics.median(self.ratios),
            "ratio_least": min(self.ratios),
            "ratio_most": max(self.ratios),
        }


@dataclass
class Findings:
    """What one benchmark found: rows of the table, and sentences beside it."""

    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def in_turns(contenders: Mapping[str, Contender], rounds: int) -> dict[str, list[float]]:
    """Let each measure itself once a round; every other round in reverse, so that drift cancels."""
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(rounds):
        names = list(contenders)
        for name in names if number % 2 == 0 else reversed(names):
            rates[name].append(contenders[name]())
    return rates


def rate_of(threads: int, seconds: float, make: Callable[[int], Callable[[], int]]) -> float:
    """Units a second of `threads` that each repeat `make(number)()` until the time is up.

    A step answers how many units it did; a step that did none ends the measurement, which then
    took as long as it took until there.
    """
    steps = [make(number) for number in range(threads)]
    done = [0] * threads
    errors: list[BaseException] = []
    stop = threading.Event()
    barrier = threading.Barrier(threads + 1)

    def work(number: int) -> None:
        step = steps[number]
        barrier.wait()
        try:
            while not stop.is_set():
                units = step()
                if units == 0:
                    stop.set()
                done[number] += units
        except BaseException as error:
            errors.append(error)
            stop.set()

    running = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for thread in running:
        thread.start()
    barrier.wait()
    began = time.perf_counter()
    stop.wait(seconds)
    stop.set()
    for thread in running:
        thread.join()
    # The steps that were under way count, and so does their time.
    elapsed = time.perf_counter() - began
    if errors:
        raise errors[0]
    return sum(done) / elapsed


def noise(name: str, first: list[float], second: list[float]) -> str:
    """How far the same limit, measured twice in each round, was apart."""
    apart = [abs(a - b) / max(a, b) * 100 for a, b in zip(first, second, strict=True)]
    every = first + second
    spread = (max(every) - min(every)) / statistics.median(every) * 100
    return (
        f"noise: {name} measured twice a round differed by {max(apart):.0f} % at most; "
        f"over the run it spread by {spread:.0f} %"
    )
