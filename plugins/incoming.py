"""Incoming: planned work. Each task is routed to one worker, who says when he will do it (I-01)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo

from engine.errors import Refused, invalid
from engine.hookspecs import impl
from engine.plans import (
    Act,
    AssignAccount,
    Desk,
    Exclude,
    GigFacts,
    HandIn,
    ModeInfo,
    MoveTask,
    Plan,
    Planner,
    PushTo,
    PutBack,
    Rank,
    Remember,
    Routed,
    Selection,
    Sent,
    Stage,
    TaskFacts,
    Verb,
)
from engine.rules import times, wall_times
from plugins import incoming_items
from plugins.incoming_items import (
    COMPLETED,
    FLOATING,
    IN_PROGRESS,
    LOCAL,
    PLANNED,
    PRIORITIES,
    UNPLANNED,
    USUAL_PRIORITY,
)

_NO_QUEUE = (
    "Work in this gig is routed to its workers, so there is no queue. What is routed to you is in "
    "GET /api/v1/incoming."
)
_NO_PLACE = (
    "Work in this gig waits in no queue. Its priority is a word (urgent, high, normal, low) that "
    "it is sent with."
)
_COMPLETE = (
    "Planned work is handed in by completing it: POST /api/v1/incoming/:id/complete with your "
    "response."
)
_NO_CLOCK = "Planned work has no clock that runs out: its worker says when he does it."
_HAND_ON = (
    "What is routed to you is yours to plan. Pass it to a colleague with "
    "POST /api/v1/incoming/:id/reassign, or report a bad task."
)
# Operation → what to do instead (409 with the mode's name).
REFUSES: Mapping[str, str] = {
    **dict.fromkeys(("queue.poll", "queue.claim"), _NO_QUEUE),
    **dict.fromkeys(("task.priority", "task.availability"), _NO_PLACE),
    **dict.fromkeys(("task.extend", "task.heartbeat"), _NO_CLOCK),
    **dict.fromkeys(("queue.decline", "task.accept", "task.reject"), _HAND_ON),
    **dict.fromkeys(("proof.submit", "proof.draft"), _COMPLETE),
    "proof.withdraw": "A response that was given stays given; its review says what is missing.",
}
# Fields of a gig that make no sense here, by the names of their columns.
SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "task_timeout_seconds": {"type": "null", "const": None, "description": _NO_CLOCK.rstrip(".")},
    "max_hold_seconds": {"type": "null", "const": None, "description": _NO_CLOCK.rstrip(".")},
    "allow_price_offers": {
        "type": "boolean",
        "const": False,
        "description": "a response asks for no price; leave it out",
    },
}

VERBS = (
    Verb(
        "plan",
        "Say when you will do it.",
        {
            "plannedStart": {
                "type": "string",
                "maxLength": 40,
                "description": f"{LOCAL} It may be past. Of a time that clocks show twice the "
                "first is meant; one that they leap over is refused with 422.",
            }
        },
        required=("plannedStart",),
        stages=(FLOATING,),
        holder=True,
    ),
    Verb("start", "Begin now.", stages=(FLOATING, PLANNED), holder=True),
    Verb(
        "complete",
        "Say what came of it. Where the gig pays, the response is reviewed as any proof is.",
        {
            "response": {
                "type": "string",
                "minLength": 1,
                "maxLength": 8000,
                "pattern": r"\S",
                "description": "Not only blanks.",
            }
        },
        required=("response",),
        stages=(PLANNED, IN_PROGRESS),
        holder=True,
    ),
    Verb(
        "reassign",
        "Pass it to another worker of its gig, for whom it is floating then.",
        {
            "assigneeId": {
                "type": "integer",
                "minimum": 1,
                "description": "The number of his account: one of `GET /api/v1/assignees`.",
            }
        },
        required=("assigneeId",),
        stages=(FLOATING,),
        holder=True,
    ),
)


@impl
def describe() -> ModeInfo:
    return ModeInfo(
        names=("incoming",),
        title="Incoming work",
        description=(
            "Each task is routed to one worker, who plans it for a time of his own, does it and "
            "says what came of it."
        ),
        settings=SETTINGS,
        fields={
            "title": {"type": "string", "maxLength": 200},
            "details": {"type": ["string", "null"], "maxLength": 4000},
            "estimated_minutes": {"type": ["integer", "null"], "minimum": 1, "maximum": 10_080},
            "priority": {"type": "string", "enum": list(PRIORITIES), "default": USUAL_PRIORITY},
            "suggested_start": {"type": ["string", "null"], "maxLength": 40},
        },
        fields_in_body=True,
        stages=(FLOATING, PLANNED, IN_PROGRESS, COMPLETED),
        verbs=VERBS,
        desk=Desk(
            path="/v1/incoming",
            title="Work routed to you",
            shown=(FLOATING,),
            flags={"includeAccepted": (PLANNED, IN_PROGRESS, COMPLETED)},
            item=incoming_items.SHAPE,
        ),
    )


@impl
def refuses() -> Mapping[str, str]:
    return REFUSES


@impl
def read_fields(gig: GigFacts, sent: Sent) -> Mapping[str, Any]:
    """The title is the subject where there is none; a start may be local or have an offset."""
    title = str(sent.fields.get("title") or "").strip() or sent.subject.strip()
    if not title:
        raise invalid("title", "say in a few words what is to be done, here or as the subject")
    start = sent.fields.get("suggested_start")
    if start is not None:
        start = times.of_query(start)
        try:
            incoming_items.proposed(start, ZoneInfo("UTC"))
        except ValueError as error:
            raise invalid("suggested_start", str(error)) from error
    return {
        "title": title,
        "details": sent.fields.get("details"),
        "estimated_minutes": sent.fields.get("estimated_minutes"),
        "priority": sent.fields.get("priority", USUAL_PRIORITY),
        "suggested_start": start,
    }


@impl
def distribute(gig: GigFacts, task: TaskFacts) -> Plan:
    return (PushTo("in_turn"),)


@impl
def select(gig: GigFacts) -> Selection:
    return Selection(shelf="none")


@impl
def placed(gig: GigFacts, task: TaskFacts) -> Plan:
    """Whoever gets it finds it floating, whatever another had planned."""
    rank = PRIORITIES.index(task.fields.get("priority", USUAL_PRIORITY))
    return (Stage(FLOATING), Rank(rank), Remember(UNPLANNED))


@impl
def declined(gig: GigFacts, task: TaskFacts, mailbox_id: str) -> Plan:
    """Its worker reports it as bad."""
    skip = Exclude(mailbox_id, "declined")
    return (skip, *_onwards(task)) if task.mailbox_id == mailbox_id else (skip,)


@impl
def released(gig: GigFacts, task: TaskFacts) -> Plan:
    return _onwards(task)


@impl
def rejected(gig: GigFacts, task: TaskFacts, requeue: bool) -> Plan:
    if not requeue or task.mailbox_id is None:
        return (MoveTask("reject"),)
    return (Exclude(task.mailbox_id, "proven"), *_onwards(task))


def _onwards(task: TaskFacts) -> Plan:
    """Back to the owner if he had named the worker himself, and else to the next one.

    Nothing of what its worker had planned or done stays with it, also while nobody has it.
    """
    by_owner = task.assigned and not task.memo.get("passed")
    where = PutBack() if by_owner else PushTo("in_turn")
    return (Stage(FLOATING), Remember(UNPLANNED), where)


@impl
def act(gig: GigFacts, task: TaskFacts, act: Act) -> Plan:
    match act.verb:
        case "plan":
            planned_at = _planned(act.given["plannedStart"], act.zone)
            return (Stage(PLANNED), Remember({"planned_at": planned_at}))
        case "start":
            return (Stage(IN_PROGRESS), Remember({"started_at": act.now}))
        case "complete":
            return _complete(gig, task, str(act.given["response"]), act.now)
        case "reassign":
            return _pass_on(act.given["assigneeId"], act.number)
    raise ValueError(f"there is no verb {act.verb!r}")


def _pass_on(number: int, own: int | None) -> Plan:
    if number == own:
        raise Refused("already_yours", "It is routed to you already. Pass it to somebody else.")
    return (AssignAccount(number, "assigneeId"), Remember({"passed": True}))


def _complete(gig: GigFacts, task: TaskFacts, response: str, now: int) -> Plan:
    """What was never started counts as begun when it was done: nobody knows of an effort."""
    started_at = task.memo.get("started_at") or now
    minutes = (now - started_at) // wall_times.MINUTE
    price = gig.price_units if task.price_units is None else task.price_units
    pays = task.price_tbd or max(price, task.held_price_units or 0) > 0
    return (
        Stage(COMPLETED),
        Remember({"response": response, "started_at": started_at, "effort_minutes": minutes}),
        HandIn((response,)) if pays else MoveTask("complete"),
    )


def _planned(text: str, zone: str) -> int:
    """When a worker means; 400 for what is no local time, 422 for one that never comes (F10)."""
    try:
        return wall_times.moment(wall_times.parse(text), ZoneInfo(zone))
    except wall_times.NoSuchWallTime as error:
        sentence = f"plannedStart: {error} in {zone}. Give one before or after that."
        raise Refused("no_such_local_time", sentence) from error
    except ValueError as error:
        raise invalid("plannedStart", str(error)) from error


@impl
def show(gig: GigFacts, task: TaskFacts, reader: str) -> Mapping[str, Any]:
    """What only its worker and the owner read of it."""
    if reader == "member":
        return {}
    memo = {**UNPLANNED, **task.memo}
    return {
        **task.fields,
        "number": task.number,
        "stage": task.stage,
        "planned_start": times.iso_ms_or_none(memo["planned_at"]),
        "actual_start": times.iso_ms_or_none(memo["started_at"]),
        "actual_effort_minutes": memo["effort_minutes"],
        "response": memo["response"],
    }


@impl
def desk_items(routed: Sequence[Routed], planner: Planner) -> Sequence[Mapping[str, Any]]:
    return incoming_items.items(routed, planner)
