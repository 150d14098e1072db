"""Incoming: planned work. Each task is routed to one worker, who says when he will do it (I-01)."""

from __future__ import annotations

from engine.hookspecs import impl
from engine.plans import (
    Desk,
    GigFacts,
    ModeInfo,
    Plan,
    PushTo,
    Rank,
    Selection,
    Stage,
    TaskFacts,
    Verb,
)

FLOATING, PLANNED, IN_PROGRESS, COMPLETED = "floating", "planned", "inprogress", "completed"
# The words of a priority, the most pressing first.
PRIORITIES = ("urgent", "high", "normal", "low")


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("incoming",),
        title="Incoming work",
        description=(
            "Each task is routed to one worker, who plans it for a time of his own, does it and "
            "says what came of it."
        ),
        fields={
            "title": {"type": "string", "minLength": 1, "maxLength": 200},
            "details": {"type": ["string", "null"], "maxLength": 4000},
            "estimated_minutes": {"type": "integer", "minimum": 1, "maximum": 10_080},
            "priority": {"type": "string", "enum": list(PRIORITIES), "default": "normal"},
            "suggested_start": {"type": "string", "maxLength": 40},
        },
        fields_in_body=True,
        stages=(FLOATING, PLANNED, IN_PROGRESS, COMPLETED),
        verbs=(
            Verb(
                "plan",
                "Say when you will do it.",
                {"plannedStart": {"type": "string", "maxLength": 40}},
                required=("plannedStart",),
                stages=(FLOATING,),
                holder=True,
            ),
            Verb("start", "Begin now.", stages=(FLOATING, PLANNED), holder=True),
            Verb(
                "complete",
                "Say what came of it.",
                {"response": {"type": "string", "minLength": 1, "maxLength": 8000}},
                required=("response",),
                stages=(PLANNED, IN_PROGRESS),
                holder=True,
            ),
            Verb(
                "reassign",
                "Pass it to another worker.",
                {"assigneeId": {"type": "integer", "minimum": 1}},
                required=("assigneeId",),
                stages=(FLOATING,),
                holder=True,
            ),
        ),
        desk=Desk(
            path="/v1/incoming",
            title="Work routed to you",
            shown=(FLOATING,),
            flags={"includeAccepted": (PLANNED, IN_PROGRESS, COMPLETED)},
        ),
    )


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (PushTo("in_turn"),)


@impl
def select(gig: GigFacts) -> Selection:
    return Selection(shelf="none")


@impl
def placed(gig: GigFacts, task: TaskFacts) -> Plan:
    """Whoever gets it finds it floating, whatever another had planned."""
    priority = str(task.fields.get("priority", "normal"))
    return (Stage(FLOATING), Rank(PRIORITIES.index(priority)))
