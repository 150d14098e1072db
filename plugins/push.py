"""Push: each task goes to a worker by itself, or to all of them; nobody polls (U-01, U-04)."""

from __future__ import annotations

from collections.abc import Mapping

from engine.hookspecs import impl
from engine.plans import (
    Exclude,
    GigFacts,
    ModeInfo,
    MoveTask,
    Plan,
    PushTo,
    PutBack,
    Selection,
    TaskFacts,
)

# Each strategy, and how it chooses.
STRATEGIES = {
    "round_robin": "in_turn",
    "random": "by_lot",
    "priority_weighted": "by_priority",
    "free_for_all": "everyone",
}
_NO_QUEUE = (
    "This gig pushes its tasks to its workers, so there is no queue to take from. What was given "
    "to you is in GET /api/mailboxes/:id/inbound."
)
_NO_PLACE = "Tasks in this gig have no place in a queue: they are pushed as they come."
_DECLINE = (
    "This gig pushes its tasks, and what was pushed to you stays with you. Ask its owner to "
    "recycle it, or report a bad task."
)


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=tuple(STRATEGIES),
        title="Push",
        description=(
            "Each task is given to a worker as it comes: in turn (round_robin), by lot (random), "
            "by lot weighted with the mailbox's priority (priority_weighted), or a copy to every "
            "worker (free_for_all)."
        ),
        settings={
            "accept_timeout_seconds": {"type": ["integer", "null"], "default": None},
        },
    )


@impl
def refuses() -> Mapping[str, str]:
    return {
        **dict.fromkeys(("queue.poll", "queue.claim"), _NO_QUEUE),
        **dict.fromkeys(("task.priority", "task.availability"), _NO_PLACE),
        "queue.decline": _DECLINE,
    }


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (PushTo(STRATEGIES[gig.distribution]),)


@impl
def select(gig: GigFacts) -> Selection:
    """Nothing is taken by polls; in a free-for-all each worker has a copy of his own."""
    return Selection(shelf="none", how="copy" if gig.distribution == "free_for_all" else "take")


@impl
def declined(gig: GigFacts, task: TaskFacts, mailbox_id: str) -> Plan:
    """Its worker rejects what he was offered, or reports it: on to the next one (U-04)."""
    skip = Exclude(mailbox_id, "declined")
    return (skip, *_onwards(gig, task)) if task.mailbox_id == mailbox_id else (skip,)


@impl
def released(gig: GigFacts, task: TaskFacts) -> Plan:
    return _onwards(gig, task)


@impl
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:
    """Rejected work is for somebody else to do (R-04)."""
    if not requeue or task.mailbox_id is None:
        return (MoveTask("reject"),)
    return (Exclude(task.mailbox_id, "proven"), *_onwards(gig, task))


def _onwards(gig: GigFacts, task: TaskFacts) -> Plan:
    """To another worker. A copy is its worker's alone, and ends with him; and what its owner gave
    to one worker, with its private details, goes back to the owner (D-01)."""
    if task.copy or task.assigned:
        return (PutBack(),)
    return (PushTo(STRATEGIES[gig.distribution]),)
