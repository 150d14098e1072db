"""The questions that a mode is asked, over many gigs and tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from engine.conformance import facts
from engine.modes import NOBODY, Mode
from engine.plans import Desk, GigFacts, Planner, Sent, TaskFacts

READERS = ("owner", "holder", "member")
# By one of these a worker passes on a task.
_PASSES = ("queue.decline", "queue.violation", "task.reject")


def of(mode: Mode, said: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every question that can be asked of a task which has no stage yet, and those of a gig."""
    info = mode.info
    for gig in facts.gigs(info):
        closed = mode.refuses(gig)
        yield "select", {"gig": gig}
        yield "proving", {"gig": gig}
        for sent in facts.sent(info, said):
            yield "read_fields", {"gig": gig, "sent": sent}
            fields = _fields(mode, gig, sent)
            if fields is None:
                continue
            yield from _of_tasks(gig, fields, closed)
            if not info.stages:
                yield from _of_holders(gig, fields, closed, info.orders)
    if info.desk is not None:
        yield "desk_items", {"routed": (), "planner": planner()}


def planner(taken: tuple[TaskFacts, ...] = ()) -> Planner:
    hours = {"mon": (("09:00", "12:00"), ("13:00", "17:00"))}
    return Planner(facts.NOW, "Europe/Paris", hours, taken)


def listed(desk: Desk) -> set[str]:
    """Every stage that the desk lists, with all of its flags."""
    return {*desk.shown, *(stage for stages in desk.flags.values() for stage in stages)}


def reading(gig: GigFacts, task: TaskFacts, reader: str) -> dict[str, Any]:
    places = frozenset({task.mailbox_id or facts.WORKER})
    return {"gig": gig, "task": task, "reader": reader, "mailbox_ids": places}


def _fields(mode: Mode, gig: GigFacts, sent: Sent) -> Mapping[str, Any] | None:
    try:
        found = mode.read_fields(gig, sent)
    except Exception:
        return None
    return found if isinstance(found, Mapping) else None


def _of_tasks(
    gig: GigFacts, fields: Mapping[str, Any], closed: Mapping[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for task in facts.waiting(fields):
        if "task.send" not in closed:
            yield "distribute", {"gig": gig, "task": task, "gone": NOBODY}
        for reader in READERS:
            yield "show", reading(gig, task, reader)


def _of_holders(
    gig: GigFacts, fields: Mapping[str, Any], closed: Mapping[str, str], orders: bool
) -> Iterator[tuple[str, dict[str, Any]]]:
    holder = facts.VENDOR if orders else facts.WORKER
    for task in facts.held(fields, holder):
        yield "placed", {"gig": gig, "task": task}
        yield "released", {"gig": gig, "task": task, "gone": NOBODY}
        for requeue in (True, False):
            done = replace(task, status="submitted", offered=False)
            yield "rejected", {"gig": gig, "task": done, "requeue": requeue, "gone": NOBODY}
        if any(name not in closed for name in _PASSES):
            for who in (holder, facts.OTHER):
                told = {"gig": gig, "task": task, "mailbox_id": who, "gone": NOBODY}
                yield "declined", told
