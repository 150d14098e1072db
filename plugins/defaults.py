"""What a mode answers when it leaves a question out: an ordinary gig that its owner runs."""

from __future__ import annotations

from collections.abc import Mapping

from engine.hookspecs import impl
from engine.plans import (
    Exclude,
    GigFacts,
    MoveTask,
    Plan,
    Proving,
    PutBack,
    Reply,
    Selection,
    TaskFacts,
)


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
    """For this worker only: the task keeps its place for the others (D-01)."""
    skip = Exclude(mailbox_id, "declined")
    return (skip, PutBack()) if task.mailbox_id == mailbox_id else (skip,)


@impl
def released(gig: GigFacts, task: TaskFacts) -> Plan:
    """Back into its old place, for everybody (F04)."""
    return (PutBack(),)


@impl
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:
    """Back into its old place, for anybody but the one whose proof was rejected (R-04)."""
    if not requeue or task.mailbox_id is None:
        return (MoveTask("reject"),)
    return (Exclude(task.mailbox_id, "proven"), PutBack())


@impl
def proving(gig: GigFacts) -> Proving:
    return Proving()
