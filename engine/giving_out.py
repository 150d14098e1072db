"""Giving what waits in a gig that pushes to those of its workers who are free, oldest first (U-04).

A task that nobody who is free may have holds up no younger one. Only inside `db.write`, in a gig
that is active, by whoever has its turns (`engine/turns.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import fan_out, giving, push_candidates, task_facts, turns
from engine.db import db
from engine.fan_out import Placed
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask, facts
from engine.plans import PushTo
from engine.push_candidates import Candidate

# Tasks that one transaction gives out.
CHUNK = 50
# With so many who are free, those who have lost a task are looked at task by task.
FEW = 200
# Classes of tags and price that nobody who is free wants, which a pass leaves out in its statements;
# what is of any other is looked at task by task.
MOST_UNWANTED = 200
# Below every key of a queue.
_BEFORE_ALL = (-(2**63) + 1, 0)

_WAITS = "SELECT 1 FROM queue_entry WHERE shelf = ? ORDER BY sort_key, task_number LIMIT 1"
_NEXT = """
SELECT entry.sort_key, entry.task_number, entry.facet_id, entry.price_units
FROM queue_entry AS entry
WHERE entry.shelf = ? AND (entry.sort_key, entry.task_number) > (?, ?) {others}
ORDER BY entry.sort_key, entry.task_number LIMIT 1
"""
# By the index of exclusions by task. Otherwise nobody who is free is to be offered it.
_NOT_LOST_BY_ALL = """AND ? > (
    SELECT count(*) FROM exclusion
    WHERE exclusion.task_number = entry.task_number AND exclusion.mailbox_id IN ({marks}))
"""


def waits(gig_id: str) -> bool:
    """Does anything wait in the gig for a worker?"""
    return bool(db.rows(_WAITS, (gig_id,)))


def give_out(gig: Gig, most: int, placed: Placed) -> int:
    """Give out up to `most` waiting tasks; answers how many were given to somebody.

    One pass in the order of waiting is enough: who is free only becomes less in it.
    """
    free = _free(gig)
    position, unwanted, given = _BEFORE_ALL, list[tuple[int, int | None]](), 0
    while free and given < most:
        found = _next(gig, position, unwanted, free)
        if found is None:
            break
        position, facet = found
        task = Task.get(Task.number == position[1])
        fitting = push_candidates.matching(gig, task, free)
        if not fitting:
            # Nor will any other of the same tags and price find somebody.
            if len(unwanted) < MOST_UNWANTED:
                unwanted.append(facet)
            continue
        taken_by = _give(gig, task, push_candidates.not_lost(task, fitting), placed)
        if taken_by:
            given += 1
            free = _still_free(gig, free, taken_by)
    return given


def _free(gig: Gig) -> list[Candidate]:
    unpaused = [one for one in push_candidates.active(gig.id) if not one.paused]
    return list(push_candidates.able(gig, unpaused))


def _still_free(gig: Gig, free: list[Candidate], served: dict[str, int]) -> list[Candidate]:
    """Those who may take one more after some were served, each now with its turn."""
    again = [one._replace(turn=served[one.id]) for one in free if one.id in served]
    rest = [one for one in free if one.id not in served]
    return rest + list(push_candidates.able(gig, again))


def _next(
    gig: Gig,
    position: tuple[int, int],
    unwanted: Sequence[tuple[int, int | None]],
    free: Sequence[Candidate],
) -> tuple[tuple[int, int], tuple[int, int | None]] | None:
    """The place of the next waiting task that is worth a look, and its class of tags and price."""
    others, params = "", list[Any]()
    for facet_id, price in unwanted:
        # Prices that share a class differ, and are written on the entry itself.
        others += "AND NOT (entry.facet_id = ? AND coalesce(entry.price_units, -1) = ?) "
        params += [facet_id, -1 if price is None else price]
    if len(free) <= FEW:
        others += _NOT_LOST_BY_ALL.format(marks=", ".join("?" for _ in free))
        params += [len(free), *(one.id for one in free)]
    found = db.rows(_NEXT.format(others=others), (gig.id, *position, *params))
    if not found:
        return None
    sort_key, number, facet_id, price = found[0]
    return (sort_key, number), (facet_id, price)


def _give(gig: Gig, task: Task, candidates: Sequence[Candidate], placed: Placed) -> dict[str, int]:
    """Give it to one of these, or a copy to each; answers who was served in which turn."""
    pick, turn = _pick(gig, task), turns.take(gig.id)
    if pick == "everyone":
        given = fan_out.to_all(gig, task, candidates, placed)
        # Who has his copy only later is looked at then.
        return {one.id: turn for one in (given if isinstance(given, list) else candidates)}
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
