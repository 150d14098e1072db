"""Giving what waits in a gig that pushes to those of its workers who are free, oldest first (U-04).

A task that nobody who is free may have holds up no younger one. The shelf is read in its order, a
page of narrow rows at a time, and whom a class of tags and price suits is decided once, so a pass
costs as much for each task that waits, however many there are and however little alike.

Only inside `db.write`, in a gig that is active, by whoever has its turns (`engine/turns.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine import fan_out, giving, push_candidates, task_facts, turns
from engine.db import db
from engine.fan_out import Placed
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask, facts
from engine.plans import PushTo
from engine.push_candidates import Candidate
from engine.push_filters import Class, Classes, Filter

# Tasks that one transaction tries to give out, rows of a page, and pages that it looks through.
CHUNK = 50
PAGE = 500
PAGES = 4

Position = tuple[int, int]
# Below every key of a queue.
_BEFORE_ALL: Position = (-(2**63) + 1, 0)

_WAITS = "SELECT 1 FROM queue_entry WHERE shelf = ? ORDER BY sort_key, task_number LIMIT 1"
_PAGE = """
SELECT sort_key, task_number, facet_id, price_units FROM queue_entry
WHERE shelf = ? AND (sort_key, task_number) > (?, ?)
ORDER BY sort_key, task_number LIMIT ?
"""


@dataclass(frozen=True)
class Reached:
    """How far a pass has come, and what it has given out.

    Nothing up to `position` is for any of those who were `free`, whatever their last turn. None:
    nothing is left to look at.
    """

    given: int = 0
    position: Position | None = None
    free: frozenset[Candidate] = frozenset()


@dataclass(frozen=True)
class _Row:
    position: Position
    of_class: Class
    lost: frozenset[str] = frozenset()


def waits(gig_id: str) -> bool:
    """Does anything wait in the gig for a worker?"""
    return bool(db.rows(_WAITS, (gig_id,)))


def give_out(
    gig: Gig,
    placed: Placed,
    before: Reached | None = None,
    *,
    most: int = CHUNK,
    pages: int = PAGES,
) -> Reached:
    """Try to give out up to `most` waiting tasks, of those on so many pages.

    A pass goes on from where it was `before`, in a transaction of its own. It begins anew if
    somebody has become free meanwhile. Who is free only becomes less within one, so that one look
    at each task is enough.
    """
    free = _free(gig)
    if not free or turns.are_kept(gig.id):
        return Reached()
    classes = Classes(gig, free)
    position = _start(free, before)
    given = tried = 0
    for _ in range(pages):
        page = db.rows(_PAGE, (gig.id, *position, PAGE))
        for row in _suiting(page, classes):
            fitting = _fitting(row, classes, free)
            if not fitting:
                continue
            taken_by = _give(gig, row, fitting, placed)
            given, tried = given + bool(taken_by), tried + 1
            if taken_by:
                free = _still_free(gig, free, taken_by)
            if not free or turns.are_kept(gig.id):
                return Reached(given)
            if tried >= most:
                return Reached(given, row.position, _whoever(free))
        if len(page) < PAGE:
            return Reached(given)
        position = (page[-1][0], page[-1][1])
    return Reached(given, position, _whoever(free))


Free = dict[Filter, list[Candidate]]


def _free(gig: Gig) -> Free:
    unpaused = [one for one in push_candidates.active(gig.id) if not one.paused]
    return push_candidates.by_filter(list(push_candidates.able(gig, unpaused)))


def _still_free(gig: Gig, free: Free, served: dict[str, int]) -> Free:
    """Those who may take one more after some were served, each now with its turn."""
    everybody = [one for some in free.values() for one in some]
    again = [one._replace(turn=served[one.id]) for one in everybody if one.id in served]
    rest = [one for one in everybody if one.id not in served]
    return push_candidates.by_filter(rest + list(push_candidates.able(gig, again)))


def _whoever(free: Free) -> frozenset[Candidate]:
    return frozenset(one._replace(turn=0) for some in free.values() for one in some)


def _start(free: Free, before: Reached | None) -> Position:
    if before is None or before.position is None or not _whoever(free) <= before.free:
        return _BEFORE_ALL
    return before.position


def _suiting(page: Sequence[tuple[int, int, int, int | None]], classes: Classes) -> Iterator[_Row]:
    """The rows of a page that suited somebody who was free at first, with who has lost each."""
    rows = [_Row((key, number), (facet, price)) for key, number, facet, price in page]
    classes.learn(row.of_class for row in rows)
    suiting = [row for row in rows if classes.passed(row.of_class)]
    lost = push_candidates.lost([row.position[1] for row in suiting])
    for row in suiting:
        yield _Row(row.position, row.of_class, frozenset(lost.get(row.position[1], ())))


def _fitting(row: _Row, classes: Classes, free: Free) -> list[Candidate]:
    return [
        one
        for passed in classes.passed(row.of_class)
        for one in free.get(passed, ())
        if one.id not in row.lost
    ]


def _give(gig: Gig, row: _Row, candidates: Sequence[Candidate], placed: Placed) -> dict[str, int]:
    """Give it to one of these, or a copy to each; answers who was served in which turn."""
    task = Task.get(Task.number == row.position[1])
    pick, turn = _pick(gig, task), turns.take(gig.id)
    if pick == "everyone":
        given = fan_out.to_all(gig, task, candidates, placed)
        if isinstance(given, Command):
            # Who has his copy only later is looked at then.
            return {one.id: turn for one in candidates}
        return {one.id: turn for one in given}
    mailbox = giving.to_one(gig, task, candidates, pick, turn)
    if mailbox is None:
        return {}
    placed(gig, task)
    return {mailbox.id: turn}


def _pick(gig: Gig, task: Task) -> str:
    """How the gig's mode would choose if the task came in now."""
    plan = ask(gig.distribution).distribute(facts(gig), task_facts.of(task))
    picks = [effect.pick for effect in plan if isinstance(effect, PushTo)]
    return picks[0] if picks else "in_turn"
