"""The shared queue: whoever polls first gets the task, and it leaves everybody else's queue."""

from __future__ import annotations

from engine.hookspecs import impl
from engine.plans import (
    Enqueue,
    Exclude,
    GigFacts,
    ModeInfo,
    MoveTask,
    Plan,
    Reply,
    Selection,
    TaskFacts,
)


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("queue",),
        title="Shared queue",
        description="Workers poll; a task goes to the first who takes it, and to nobody else.",
        settings={"queue_order": {"type": "string", "enum": ["fifo"], "default": "fifo"}},
        query=("priority",),
    )


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (Enqueue(), Reply({"status": "queued", "priority": task.priority}))


@impl
def select(gig: GigFacts) -> Selection:
    return Selection(shelf="queue", order=gig.queue_order, how="take")


@impl
def declined(gig: GigFacts, task: TaskFacts, mailbox_id: str) -> Plan:
    """For this worker only: the task keeps its place for the others (D-01)."""
    skip = Exclude(mailbox_id, "declined")
    if task.mailbox_id == mailbox_id:
        return (skip, MoveTask("release"), Enqueue())
    return (skip,)


@impl
def released(gig: GigFacts, task: TaskFacts) -> Plan:
    """Back into its old place, for everybody (F04)."""
    return (MoveTask("release"), Enqueue())


@impl
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:
    """Back into its old place, for anybody but the one whose proof was rejected (R-04)."""
    if not requeue or task.mailbox_id is None:
        return (MoveTask("reject"),)
    return (Exclude(task.mailbox_id, "proven"), MoveTask("return"), Enqueue())
