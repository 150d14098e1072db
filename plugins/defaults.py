"""What a mode answers when it leaves a question out: an ordinary gig that its owner runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.hookspecs import impl
from engine.plans import (
    Act,
    Exclude,
    GigFacts,
    MoveTask,
    Plan,
    Planner,
    Proving,
    PutBack,
    Reply,
    Routed,
    Selection,
    Sent,
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


@impl
def read_fields(gig: GigFacts, sent: Sent) -> Mapping[str, Any]:
    return sent.fields


@impl
def placed(gig: GigFacts, task: TaskFacts) -> Plan:
    return ()


@impl
def act(gig: GigFacts, task: TaskFacts, act: Act) -> Plan:
    return ()


@impl
def rang(gig: GigFacts, task: TaskFacts, bell: str, now: int) -> Plan:
    return ()


@impl
def show(gig: GigFacts, task: TaskFacts, reader: str) -> Mapping[str, Any]:
    return {}


@impl
def desk_items(routed: Sequence[Routed], planner: Planner) -> Sequence[Mapping[str, Any]]:
    return [{} for _ in routed]
