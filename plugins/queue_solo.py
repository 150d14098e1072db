"""The solo queue: every worker gets a copy of his own, and the task stays for the others."""

from __future__ import annotations

from engine.hookspecs import impl
from engine.plans import ORDERS, Enqueue, GigFacts, ModeInfo, Plan, Reply, Selection, TaskFacts


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("queue_solo",),
        title="Solo queue",
        description=(
            "Workers poll; each gets his own copy of a task, up to max_claims_per_task of them. "
            "Each copy that is approved is paid."
        ),
        settings={
            "queue_order": {"type": "string", "enum": list(ORDERS), "default": "fifo"},
            "queue_aging_seconds": {"type": ["integer", "null"], "default": None},
            "max_claims_per_task": {"type": ["integer", "null"], "default": None},
        },
        query=("priority", "availability", "reserved_for"),
    )


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (Enqueue(), Reply({"status": "queued", "priority": task.priority}))


@impl
def select(gig: GigFacts) -> Selection:
    """A copy: what one worker takes, no other worker sees."""
    return Selection(shelf="queue", order=gig.queue_order, how="copy")
