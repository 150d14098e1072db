"""Names that people give to tasks for themselves: nobody else is shown one (T-09)."""

from __future__ import annotations

from collections.abc import Iterable

from engine import gigs, shelf
from engine.db import db
from engine.models.task import Task, TaskAlias
from engine.operations import Caller, permit

MAX_CHARACTERS = 200


def of(caller: Caller, tasks: Iterable[Task]) -> dict[str, str]:
    """The caller's own names, by task id; tasks that he has not named are left out."""
    ids = [task.id for task in tasks]
    if not ids:
        return {}
    marks = ", ".join("?" for _ in ids)
    with db.reading():
        found = db.rows(
            f"SELECT task_id, name FROM task_alias WHERE account_id = ? AND task_id IN ({marks})",
            (caller.account_id, *ids),
        )
    return {str(task_id): str(name) for task_id, name in found}


def give(caller: Caller, gig_id: str, task_id: str, name: str | None) -> Task:
    """Call a task that the caller may read by a name of his own; None takes the name away.

    No event tells of it: the log has other readers.
    """

    def write() -> Task:
        gig = gigs.get(gig_id)
        seen = shelf.find(caller, gig, permit("task.alias", caller, gig), task_id)
        if name is None:
            TaskAlias.delete().where(
                TaskAlias.account_id == caller.account_id, TaskAlias.task_id == seen.task.id
            ).execute()
        else:
            TaskAlias.insert(
                account_id=caller.account_id, task_id=seen.task.id, name=name
            ).on_conflict(
                conflict_target=[TaskAlias.account_id, TaskAlias.task_id],
                update={TaskAlias.name: name},
            ).execute()
        return seen.task

    return db.write(write)
