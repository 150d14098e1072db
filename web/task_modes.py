"""What a task has of its mode's own, as one reader is shown it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine import mode_items, own_fields, task_facts
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask, facts
from engine.shelf import IN_HANDS


def of(
    gig: Gig, tasks: Iterable[Task], *, owner: bool = False, mailbox_ids: Iterable[str] = ()
) -> dict[str, dict[str, Any]]:
    """The `mode` member of each of a gig's tasks by its id; of none where the mode has nothing."""
    mode, own = ask(gig.distribution), frozenset(mailbox_ids)
    info = mode.info
    found = list(tasks)
    if not found or not (info.stages or info.fields or info.verbs):
        return {}
    with db.reading():
        items = mode_items.of_all([task.id for task in found])
    views: dict[str, dict[str, Any]] = {}
    for task in found:
        item = items.get(task.id)
        reader = "owner" if owner else "holder" if _holds(task, own) else "member"
        shown = mode.show(facts(gig), task_facts.with_item(task, item), reader, own)
        views[task.id] = {"stage": None if item is None else item.stage, **shown}
        if owner:
            views[task.id]["fields"] = own_fields.shown(gig, task.mode_fields)
    return views


def _holds(task: Task, own: frozenset[str]) -> bool:
    return task.mailbox_id in own and task.status in IN_HANDS
