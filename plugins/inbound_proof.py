"""Own work: the gig hands out nothing, and workers hand in proofs of work that they name."""

from __future__ import annotations

from collections.abc import Mapping

from engine.hookspecs import impl
from engine.plans import GigFacts, ModeInfo, MoveTask, Plan, Proving, TaskFacts

_NOTHING_SENT = (
    "This gig takes no tasks: its workers hand in proofs of work that they name themselves. "
    "Open a queue gig to hand out tasks."
)
_NOTHING_HANDED_OUT = (
    "This gig hands out no tasks. Hand in a proof of your work under a task_identifier of your own."
)
_NOBODY_ELSES = "Work that a worker has named is his alone, and waits for nobody else."
_PRICE = "Each proof in this gig pays the gig's price. Change that instead."


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("inbound_proof",),
        title="Own work",
        description=(
            "No tasks are sent or handed out; workers hand in proofs of work of their own, each "
            "under a task_identifier that they choose. Each proof that is approved pays the gig's "
            "price."
        ),
    )


@impl
def refuses() -> Mapping[str, str]:
    return {
        **dict.fromkeys(
            (
                "task.send",
                "task.send_by_mail",
                "task.bulk",
                "task.payload",
                "draft.list",
                "draft.edit",
                "draft.delete",
                "draft.publish",
            ),
            _NOTHING_SENT,
        ),
        **dict.fromkeys(
            ("queue.poll", "queue.claim", "queue.decline", "queue.violation"), _NOTHING_HANDED_OUT
        ),
        **dict.fromkeys(
            (
                "queue.clear",
                "inbound.clear",
                "task.priority",
                "task.availability",
                "task.assign",
                "task.extend",
                "task.recycle",
                "task.delete",
            ),
            _NOBODY_ELSES,
        ),
        **dict.fromkeys(("task.price", "task.prices"), _PRICE),
    }


@impl
def proving(gig: GigFacts) -> Proving:
    return Proving(own_names=True, again=True)


@impl
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:
    """It stays with its worker, since nobody else could do it; he may hand in another proof."""
    return (MoveTask("reject"),)
