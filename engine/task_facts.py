"""A task as its mode is shown it."""

from __future__ import annotations

from engine import mode_items
from engine.models.mode_item import ModeItem
from engine.models.task import Task
from engine.plans import TaskFacts


def of(task: Task) -> TaskFacts:
    return with_item(task, mode_items.of(task.id))


def with_item(task: Task, item: ModeItem | None) -> TaskFacts:
    """The same, where what the mode keeps of it has been read already."""
    return TaskFacts(
        task.id,
        task.status,
        task.priority,
        tuple(task.tags),
        task.price_units,
        task.price_tbd,
        task.mailbox_id,
        assigned=task.assignee_id is not None,
        copy=task.template_number is not None,
        offered=task.accept_by is not None,
        subject=task.subject,
        created_at=task.created_at,
        fields=task.mode_fields or {},
        number=None if item is None else item.number,
        stage=None if item is None else item.stage,
        memo={} if item is None else item.memo,
        held_price_units=task.held_price_units,
    )
