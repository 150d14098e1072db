"""What a mode answers when it leaves a question out: an ordinary gig that its owner runs."""

from __future__ import annotations

from collections.abc import Mapping

from engine.hookspecs import impl
from engine.plans import Exclude, GigFacts, MoveTask, Plan, Reply, Selection, TaskFacts


@impl
def refuses() -> Mapping[str, str]:
    return {}


@impl
def authorities() -> Mapping[str, frozenset[str]]:
    return {}


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    """A task that nobody is told of waits, unseen by any poll."""
    return (Reply({"status": "waiting"}),)


@impl
def select(gig: GigFacts) -> Selection:
    return Selection(shelf="none")


@impl
def declined(gig: GigFacts, task: TaskFacts, mailbox_id: str) -> Plan:
    return (Exclude(mailbox_id, "declined"),)


@impl
def released(gig: GigFacts, task: TaskFacts) -> Plan:
    return (MoveTask("release"),)


@impl
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:
    return (MoveTask("reject"),)
