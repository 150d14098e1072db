"""Bells: times at which a mode is asked about a task, since a plan of its own has said so (`Ring`).

A bell is two columns of the task's item. Of those who find it due, one has the task's lock first,
and takes the bell away in the transaction that carries out what the mode answers: so that happens
once, or, if the process ends before the commit, not yet.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from engine import cancellation, clock, events, mode_items, planning, rows, states
from engine.acting import locked
from engine.db import db
from engine.due import waits_until
from engine.errors import Refused
from engine.models.mode_item import ModeItem
from engine.models.task import Task
from engine.modes import ask, facts
from engine.task_facts import of as facts_of

ACTOR = "clock"
BATCH = 200
# A mode that could not answer is asked again after a minute, then two, and so on.
BACK_OFF_SECONDS, LONGEST_BACK_OFF_SECONDS = 60, 3600

_DUE = """
SELECT mode_item.bell_at, mode_item.number, task.id, task.gig_id FROM mode_item
JOIN task ON task.id = mode_item.task_id JOIN gig ON gig.id = task.gig_id
WHERE mode_item.bell_at IS NOT NULL AND mode_item.bell_at <= ?
    AND (mode_item.bell_at, mode_item.number) > (?, ?)
    AND (task.status <> 'queued' OR gig.status <> 'closed' AND coalesce(task.not_before, 0) <= ?)
ORDER BY mode_item.bell_at, mode_item.number LIMIT ?
"""

log = structlog.get_logger()


@dataclass(frozen=True)
class Due:
    """A bell as it was found, before its task is locked and looked at again."""

    bell_at: int
    number: int
    task_id: str
    gig_id: str


def ring() -> int:
    """Ask about every task whose bell is due; answers how many this call asked about.

    Rung by the sweep, in any number of processes at once.
    """
    rung, after = 0, (0, 0)
    while found := _due(after):
        for due in found:
            rung += _try(due)
        after = (found[-1].bell_at, found[-1].number)
    return rung


def _due(after: tuple[int, int]) -> list[Due]:
    with db.reading():
        now = clock.now()
        return [Due(*row) for row in db.rows(_DUE, (now, *after, now, BATCH))]


def _try(due: Due) -> bool:
    try:
        return db.write(lambda: _ring(due))
    except Refused as refusal:
        log.warning("bell.refused", task_id=due.task_id, reason=refusal.code, error=str(refusal))
        db.write(lambda: _back_off(due))
    except Exception:
        # One that cannot be rung must not keep the others. The next sweep finds it again.
        log.exception("bell.failed", task_id=due.task_id)
    return False


def _ring(due: Due) -> bool:
    gig = cancellation.hold(due.gig_id)
    mode, shown, now = ask(gig.distribution), facts(gig), clock.now()
    found = mode_items.of(due.task_id)
    bell = "" if found is None or found.bell is None else found.bell
    task = locked(gig, due.task_id, lambda seen: mode.rang(shown, seen, bell, now))
    item = _still(due, now)
    if item is None or item.bell is None or waits_until(task) is not None:
        return False
    mode_items.take_bell(task)
    if task.status in states.ENDED:
        # Its bell is forgotten.
        return False
    before = facts_of(task)
    bell = item.bell
    planning.carry_out(gig, task, "rang", lambda gone: mode.rang(shown, before, bell, now, gone))
    cancellation.catch(gig, task, ACTOR)
    _tell(task, bell, before.stage)
    return True


def _still(due: Due, now: int) -> ModeItem | None:
    """The item, whose task is locked, while its bell is due: it may have rung or been set anew."""
    item = rows.one(ModeItem, "task_id = ?", due.task_id)
    if item is None or item.bell_at is None or item.bell_at > now:
        return None
    return item


def _tell(task: Task, bell: str, stage: str | None) -> None:
    after = facts_of(task).stage
    events.append(
        "task.rang",
        events.Subject("task", task.id),
        actor=ACTOR,
        gig_id=task.gig_id,
        data={"bell": bell, "from": stage, "to": after},
    )


def _back_off(due: Due) -> None:
    """Ask later, ever more rarely; nothing where the bell has been set anew."""
    item = _still(due, clock.now())
    if item is None:
        return
    seconds = min(BACK_OFF_SECONDS * 2 ** min(item.bell_failures, 10), LONGEST_BACK_OFF_SECONDS)
    ModeItem.update(
        bell_at=clock.now() + seconds * clock.SECOND, bell_failures=ModeItem.bell_failures + 1
    ).where(ModeItem.number == item.number, ModeItem.bell_at == item.bell_at).execute()
