"""The shared queue: whoever polls first gets the task, and it leaves everybody else's queue."""

from __future__ import annotations

from engine.hookspecs import impl
from engine.plans import ORDERS, Enqueue, GigFacts, ModeInfo, Plan, Reply, Selection, TaskFacts


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("queue",),
        title="Shared queue",
        description="Workers poll; a task goes to the first who takes it, and to nobody else.",
        settings={
            "queue_order": {"type": "string", "enum": list(ORDERS), "default": "fifo"},
            "queue_aging_seconds": {"type": ["integer", "null"], "default": None},
            "task_escrow": {"type": "boolean", "default": False},
        },
        query=("priority", "availability", "reserved_for"),
    )


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (Enqueue(), Reply({"status": "queued", "priority": task.priority}))


@impl
def select(gig: GigFacts) -> Selection:
    """The task itself: nobody else is offered it any more."""
    return Selection(shelf="queue", order=gig.queue_order, how="take")
