"""What a mode keeps of a task: its stage, its memo, its place on a desk, and its bell.

A task has a row of it from the first `Stage` that a plan says. Every change gives the row a new
revision, which is what `If-Match` names. The task is locked before its row is written, so one
change is made at a time.
"""

from __future__ import annotations

import uuid
from typing import Any

from engine import rows
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.mode_item import ModeItem
from engine.models.task import Task
from engine.modes import ask


def of(task_id: str) -> ModeItem | None:
    return rows.one(ModeItem, "task_id = ?", task_id)


def of_all(task_ids: list[str]) -> dict[str, ModeItem]:
    """The items of these tasks that have one, by the tasks' ids."""
    if not task_ids:
        return {}
    found = ModeItem.select().where(ModeItem.task_id.in_(task_ids))
    return {item.task_id: item for item in found}


def set_stage(gig: Gig, task: Task, stage: str) -> None:
    """Begin the task's item, or move it on; only inside `db.write`, the task is locked."""
    if stage not in ask(gig.distribution).info.stages:
        raise ValueError(f"the mode {gig.distribution!r} has no stage {stage!r}")
    if not _write(task, stage=stage):
        rows.insert(
            ModeItem,
            {"task_id": task.id, "stage": stage, "rank": 0, "memo": {}, "revision": _revision()},
        )


def remember(task: Task, members: dict[str, Any]) -> None:
    item = _required(task)
    _write(task, memo={**item.memo, **members})


def set_rank(task: Task, rank: int) -> None:
    _required(task)
    _write(task, rank=rank)


def set_bell(task: Task, bell: str | None, at: int) -> None:
    _required(task)
    _write(task, bell=bell, bell_at=None if bell is None else at, bell_failures=0)


def take_bell(task: Task) -> None:
    """The locked task's bell rings now, and does not again; its reader sees no change."""
    ModeItem.update(bell=None, bell_at=None, bell_failures=0).where(
        ModeItem.task_id == task.id
    ).execute()


def require_revision(item: ModeItem, allowed: frozenset[str] | None) -> None:
    """412 unless the item, whose task is locked, is as its reader has seen it (None: anyhow)."""
    if allowed is not None and item.revision not in allowed:
        raise Refused(
            "precondition_failed",
            "If-Match does not name this item as it is now. Read it again.",
            revision=item.revision,
        )


def _required(task: Task) -> ModeItem:
    item = of(task.id)
    if item is None:
        raise ValueError("a plan says Stage first: this task has none yet")
    return item


def _write(task: Task, **values: Any) -> bool:
    update = ModeItem.update(**values, revision=_revision())
    return bool(update.where(ModeItem.task_id == task.id).execute())


def _revision() -> str:
    return str(uuid.uuid4())
