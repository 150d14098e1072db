"""Turns are fair however many processes give them (U-01)."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.push.people import change
from tests.world import Gig, World

WORKERS = 7


def _push(
    world: World, gig: Gig, folder: Path, processes: int, each: int
) -> list[tuple[int, str, str]]:
    """Send so many tasks from so many processes while workers pause and resume at random.

    Answers each turn in the order in which they were given: number, whose, and who was there.
    """
    workers = [world.worker(gig) for _ in range(WORKERS)]
    command = [sys.executable, "-m", "tests.push.push_many", world.settings.DATABASE_URL]
    command += [gig.id, gig.token, str(each)]
    said = [folder / f"pushed-{number}" for number in range(processes)]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for path in said:
            with path.open("w") as file:
                running.append(subprocess.Popen(command, stdout=file))
        _pause_and_resume(gig, workers, running)
        assert [process.wait() for process in running] == [0] * processes
    finally:
        for process in running:
            process.kill()
            process.wait()
    lines = [line for path in said for line in path.read_text().splitlines()]
    found = [line.split() for line in lines]
    return sorted((int(turn), chosen, able) for turn, chosen, able in found)


def _pause_and_resume(gig: Gig, workers: list[Any], running: list[subprocess.Popen[bytes]]) -> None:
    paused: set[int] = set()
    chance = random.Random(8)
    while any(process.poll() is None for process in running):
        number = chance.randrange(WORKERS)
        if number in paused or len(paused) < WORKERS - 1:
            paused ^= {number}
            change(workers[number], gig, paused=number in paused)
        time.sleep(chance.uniform(0, 0.1))


def _check(given: list[tuple[int, str, str]], count: int) -> int:
    """Within each stretch without a change the counts differ by one at most; how many stretches?"""
    assert len({turn for turn, _, _ in given}) == len(given) == count
    stretches = 0
    for able, turns in itertools.groupby(given, key=lambda one: one[2]):
        stretches += 1
        counts = Counter(dict.fromkeys(able.split(","), 0))
        counts.update(chosen for _, chosen, _ in turns)
        assert max(counts.values()) - min(counts.values()) <= 1, (able, counts)
    return stretches


@pytest.mark.rule("U-01")
def test_turns_are_fair_while_two_processes_push_and_workers_pause(
    world: World, tmp_path: Path
) -> None:
    gig = world.gig(distribution="round_robin")
    given = _push(world, gig, tmp_path, processes=2, each=100)
    assert _check(given, 200) > 1


@pytest.mark.soak
@pytest.mark.rule("U-01")
def test_turns_are_fair_over_ten_thousand_tasks_and_four_processes(
    world: World, tmp_path: Path
) -> None:
    gig = world.gig(distribution="round_robin")
    given = _push(world, gig, tmp_path, processes=4, each=2_500)
    stretches = _check(given, 10_000)
    print(f"{stretches} stretches")
    assert stretches > 20
