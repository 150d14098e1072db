"""Random order: each task that suits is as likely as any other (Q-01).

Everything is drawn with fixed seeds, so a test says the same each time; its bound is one that a
uniform draw passes but for once in a million.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable

import pytest

from engine import claims_random, polls, rows
from engine.claim_requests import ClaimRequest
from engine.db import db
from engine.entries import DRAW_BITS
from engine.facets import Wanted
from engine.models.gig import Gig as GigRow
from engine.models.mailbox import Mailbox
from engine.models.task import Exclusion, QueueEntry, Task
from engine.operations import Caller
from tests.engine.holding import mailbox_id
from tests.world import Gig, Person, World

MANY = 200
ONE_IN_A_MILLION = 4.7534


def _critical(dof: int) -> float:
    """The chi-square that is exceeded once in a million times (Wilson and Hilferty)."""
    part = 2 / (9 * dof)
    return float(dof * (1 - part + ONE_IN_A_MILLION * part**0.5) ** 3)


def _chi_square(counts: Iterable[int], expected: float, spread: float = 1.0) -> float:
    return sum((count - expected) ** 2 for count in counts) / (expected * spread)


@pytest.fixture
def dice(monkeypatch: pytest.MonkeyPatch) -> random.Random:
    seeded = random.Random(20_261_130)
    monkeypatch.setattr(claims_random, "_dice", seeded)
    return seeded


def _stock(gig: Gig, many: int, dice: random.Random, since: int = 0) -> None:
    """So many tasks on the gig's shelf, numbered from `since` on."""

    def write() -> None:
        tasks = [
            {
                "number": number,
                "id": f"TASK_{gig.id}_{number}",
                "gig_id": gig.id,
                "status": "queued",
                "subject": "",
                "payload": "{}",
                "content_type": "text/plain",
                "tags": [],
                "price_tbd": False,
                "priority": 1000,
                "created_at": 0,
            }
            for number in range(since, since + many)
        ]
        rows.insert(Task, *tasks)
        rows.insert(QueueEntry, *(_entry(gig, one, dice) for one in range(since, since + many)))

    db.write(write)


def _entry(gig: Gig, number: int, dice: random.Random) -> dict[str, object]:
    return {
        "shelf": gig.id,
        "sort_key": number,
        "task_number": number,
        "enqueued": 0,
        "draw": dice.getrandbits(DRAW_BITS),
        "facet_id": 0,
    }


def _request(gig: Gig, worker: Person, count: int) -> ClaimRequest:
    with db.reading():
        return ClaimRequest(
            GigRow.get(GigRow.id == gig.id),
            Mailbox.get(Mailbox.id == mailbox_id(worker)),
            count,
        )


def _exclude(worker: Person, numbers: Iterable[int]) -> None:
    excluded = [
        {"mailbox_id": mailbox_id(worker), "task_number": one, "reason": "declined", "at": 0}
        for one in numbers
    ]
    db.write(lambda: rows.insert(Exclusion, *excluded))


@pytest.mark.rule("Q-01")
def test_every_task_is_drawn_as_often_as_any_other(world: World, dice: random.Random) -> None:
    gig = world.gig(queue_order="random")
    worker = world.worker(gig)
    _stock(gig, 2 * MANY, dice)
    # Every other one has been taken, and one in five of the rest is not for him.
    db.write(lambda: db.rows("DELETE FROM queue_entry WHERE task_number - task_number / 2 * 2 = 1"))
    _exclude(worker, range(0, 2 * MANY, 10))
    suiting = [number for number in range(0, 2 * MANY, 2) if number % 10]
    draws, together = 300, 10

    request = _request(gig, worker, together)
    counts: Counter[int] = Counter()
    with db.reading():
        for _ in range(draws):
            drawn = claims_random.draw(request)
            assert drawn is not None
            assert len(set(drawn)) == together
            counts.update(drawn)

    assert set(counts) <= set(suiting)
    share = together / len(suiting)
    # Of several that are drawn together none is drawn twice, so the counts spread a little less.
    found = _chi_square((counts[one] for one in suiting), draws * share, 1 - share)
    assert found < _critical(len(suiting) - 1)


@pytest.mark.rule("Q-01")
def test_what_has_waited_long_is_as_likely_as_what_came_last(
    world: World, dice: random.Random
) -> None:
    """Under churn: what was drawn goes, and as many new ones come."""
    gig = world.gig(queue_order="random")
    worker = world.worker(gig)
    _stock(gig, MANY, dice)
    waiting, next_number = list(range(MANY)), MANY
    rounds, together, groups = 300, 10, 10
    request = _request(gig, worker, together)
    by_age: Counter[int] = Counter()

    def churn() -> tuple[int, ...]:
        drawn = claims_random.draw(request)
        assert drawn is not None
        marks = ", ".join("?" for _ in drawn)
        db.rows(f"DELETE FROM queue_entry WHERE task_number IN ({marks})", drawn)
        return drawn

    for _ in range(rounds):
        drawn = db.write(churn)
        by_age.update(waiting.index(one) * groups // MANY for one in drawn)
        waiting = [one for one in waiting if one not in drawn]
        _stock(gig, together, dice, next_number)
        waiting += range(next_number, next_number + together)
        next_number += together

    expected = rounds * together / groups
    assert _chi_square((by_age[one] for one in range(groups)), expected) < _critical(groups - 1)


@pytest.mark.rule("Q-01")
def test_the_bound_would_notice_the_nearest_behind_a_random_point(dice: random.Random) -> None:
    """The simpler draw that this is not: who has a wide gap before him is drawn more often."""
    places = sorted(dice.random() for _ in range(MANY))
    points = (dice.random() for _ in range(3000))
    counts = Counter(next((n for n, one in enumerate(places) if one >= p), 0) for p in points)
    found = _chi_square((counts[one] for one in range(MANY)), 3000 / MANY)
    assert found > _critical(MANY - 1)


@pytest.mark.rule("Q-01")
def test_a_small_shelf_is_shuffled_evenly(world: World) -> None:
    """SQL's own random numbers, so the bound is what keeps this from failing by chance."""
    gig = world.gig(queue_order="random")
    worker = world.worker(gig)
    _stock(gig, 8, random.Random(1))
    rounds = 240
    first: Counter[int] = Counter()

    class Undone(Exception):
        pass

    def take_one() -> None:
        polled = polls.poll(Caller(worker.id), gig.id, 1)
        first.update(task.number for task in polled.tasks)
        raise Undone

    for _ in range(rounds):
        with pytest.raises(Undone):
            db.write(take_one)
    assert _chi_square((first[one] for one in range(8)), rounds / 8) < _critical(7)


@pytest.mark.rule("Q-01")
@pytest.mark.rule("Q-02")
def test_the_few_that_suit_among_many_are_found(world: World, dice: random.Random) -> None:
    gig = world.gig(queue_order="random")
    worker = world.worker(gig)
    _stock(gig, 2 * MANY, dice)
    _exclude(worker, range(3, 2 * MANY))
    polled = polls.poll(Caller(worker.id), gig.id, 20)
    assert {task.number for task in polled.tasks} == {0, 1, 2}
    assert polls.poll(Caller(worker.id), gig.id, 20).tasks == []


@pytest.mark.rule("Q-01")
@pytest.mark.rule("Q-04")
def test_a_filter_is_drawn_from_what_it_lets_pass(world: World, dice: random.Random) -> None:
    gig = world.gig(queue_order="random")
    worker = world.worker(gig)
    _stock(gig, 2 * MANY, dice)
    db.write(
        lambda: db.rows(
            "UPDATE queue_entry SET facet_id = 99 WHERE task_number = task_number / 3 * 3"
        )
    )
    wanted = Wanted(price_max_units=10**9)
    request = ClaimRequest(*_parts(_request(gig, worker, 20)), wanted=wanted)
    with db.reading():
        for _ in range(5):
            drawn = claims_random.draw(request)
            assert drawn is not None
            assert all(number % 3 for number in drawn)


def _parts(request: ClaimRequest) -> tuple[GigRow, Mailbox, int]:
    return request.gig, request.mailbox, request.count


@pytest.mark.rule("Q-01")
def test_the_shelf_is_measured_across_the_end_of_the_circle(
    world: World, monkeypatch: pytest.MonkeyPatch, dice: random.Random
) -> None:
    gig = world.gig(queue_order="random")
    worker = world.worker(gig)
    request = _request(gig, worker, 1)
    _stock(gig, claims_random.PROBE - 1, dice)
    with db.reading():
        assert claims_random.draw(request) is None
    _stock(gig, MANY, dice, claims_random.PROBE)

    class Last(random.Random):
        """A point behind which hardly anything lies."""

        def randrange(self, start: int, *more: int) -> int:  # type: ignore[override]
            return start - 1 if start == claims_random.SPACE else super().randrange(start, *more)

    monkeypatch.setattr(claims_random, "_dice", Last(5))
    with db.reading():
        buckets = claims_random._how_many_buckets(gig.id)
    assert buckets is not None
    assert 0.5 < buckets * claims_random.LOAD / (MANY + claims_random.PROBE) < 2
