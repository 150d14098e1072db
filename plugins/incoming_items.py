"""Incoming work as its worker's desk lists it, with a proposal of when to do it (I-01, I-04)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from engine.plans import Planner, Routed, TaskFacts
from engine.rules import times, wall_times
from engine.rules.free_time import FreeTime

FLOATING, PLANNED, IN_PROGRESS, COMPLETED = "floating", "planned", "inprogress", "completed"
# The words of a priority, the most pressing first.
PRIORITIES = ("urgent", "high", "normal", "low")
USUAL_PRIORITY = "normal"
# How long a planned task is taken to last that came without an estimate.
USUAL_MINUTES = 60
# How far ahead a free time is looked for.
DAYS_AHEAD = 366

_TEXT_OR_NULL = {"type": ["string", "null"]}
_WHOLE_OR_NULL = {"type": ["integer", "null"]}
LOCAL = "Wall time of your zone, without an offset, like `2026-10-19T14:00:00`."
_UTC = {"type": "string", "format": "date-time"}
MEMBERS: Mapping[str, Mapping[str, Any]] = {
    "id": {"type": "integer"},
    "title": {"type": "string"},
    "details": _TEXT_OR_NULL,
    "estimatedMinutes": _WHOLE_OR_NULL,
    "priority": {"type": "string", "enum": list(PRIORITIES)},
    "requester": {"type": "string", "description": "The display name of the gig's owner."},
    "requestedAtUtc": {**_UTC, "description": "When it was sent."},
    "status": {"type": "string", "enum": [FLOATING, PLANNED, IN_PROGRESS, COMPLETED]},
    "suggestedStart": {
        **_TEXT_OR_NULL,
        "description": f"{LOCAL} What the requester proposes, or else your first free time that "
        "is long enough, among your working hours and what you have planned. It keeps nothing "
        "free for you.",
    },
    "suggestionReason": {"type": "string"},
    "plannedStart": {**_TEXT_OR_NULL, "description": LOCAL},
    "response": _TEXT_OR_NULL,
    "responseState": {"type": "string", "enum": ["open", "answered"]},
    "actualStartUtc": {**_UTC, **_TEXT_OR_NULL},
    "actualEffortMinutes": {
        **_WHOLE_OR_NULL,
        "description": "Whole minutes from its start to its completion; 0 where it was "
        "completed without having been started.",
    },
}

# What is known of a task that nobody has planned. Times are milliseconds.
UNPLANNED: Mapping[str, Any] = {
    "planned_at": None,
    "started_at": None,
    "response": None,
    "effort_minutes": None,
    # Its worker was chosen by a colleague, and not by the owner.
    "passed": False,
}


SHAPE = {
    "type": "object",
    "required": list(MEMBERS),
    "properties": {name: dict(shape) for name, shape in MEMBERS.items()},
}


def items(routed: Sequence[Routed], planner: Planner) -> list[dict[str, Any]]:
    """The members, and their order, are those that the list's clients know."""
    zone = ZoneInfo(planner.zone)
    until = planner.now + DAYS_AHEAD * 24 * 60 * wall_times.MINUTE
    busy = [span for task in planner.taken if (span := _span(task)) is not None]
    free = FreeTime(planner.hours, zone, planner.now, until, busy)
    return [_item(one, zone, free) for one in routed]


def _span(task: TaskFacts) -> tuple[int, int] | None:
    """When a task under way or planned keeps its worker busy."""
    begun = task.memo.get("started_at" if task.stage == IN_PROGRESS else "planned_at")
    if task.stage not in (PLANNED, IN_PROGRESS) or begun is None:
        return None
    minutes = task.fields.get("estimated_minutes") or USUAL_MINUTES
    return begun, begun + minutes * wall_times.MINUTE


def _item(one: Routed, zone: ZoneInfo, free: FreeTime) -> dict[str, Any]:
    task, fields, memo = one.task, one.task.fields, one.task.memo
    start, reason = _suggestion(one, zone, free)
    planned_at, started_at = memo.get("planned_at"), memo.get("started_at")
    return {
        "id": task.number,
        "title": fields.get("title", task.subject),
        "details": fields.get("details"),
        "estimatedMinutes": fields.get("estimated_minutes"),
        "priority": fields.get("priority", USUAL_PRIORITY),
        "requester": one.requester,
        "requestedAtUtc": wall_times.iso_utc(task.created_at),
        "status": task.stage,
        "suggestedStart": start,
        "suggestionReason": reason,
        "plannedStart": None if planned_at is None else wall_times.iso(planned_at, zone),
        "response": memo.get("response"),
        "responseState": "answered" if task.stage == COMPLETED else "open",
        "actualStartUtc": None if started_at is None else wall_times.iso_utc(started_at),
        "actualEffortMinutes": memo.get("effort_minutes"),
    }


def _suggestion(one: Routed, zone: ZoneInfo, free: FreeTime) -> tuple[str | None, str]:
    wish = one.task.fields.get("suggested_start")
    if wish is not None:
        return proposed(wish, zone), f"Proposed by {one.requester}"
    minutes = one.task.fields.get("estimated_minutes")
    if one.task.stage == FLOATING and minutes is not None:
        at = free.first(minutes * wall_times.MINUTE)
        if at is not None:
            return wall_times.iso(at, zone), "Your first free time in your working hours"
    return None, "No suggestion available"


def proposed(text: str, zone: ZoneInfo) -> str:
    """A start that a requester proposes, local or with an offset, as the clocks of a zone will show
    it; ValueError says what is wrong with it."""
    if wall_times.is_local(text):
        at = wall_times.reached(wall_times.parse(text), zone)
    elif not times.is_instant(text):
        raise ValueError(
            "give a local time like 2026-10-19T14:00:00, or one with its offset like "
            "2026-10-19T14:00:00+02:00"
        )
    else:
        at = wall_times.parse_with_offset(text)
    return wall_times.iso(at, zone)
