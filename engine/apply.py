"""Carries out a mode's plan, effect by effect, inside the caller's transaction."""

from __future__ import annotations

from typing import Any

from engine import entries, holding
from engine.models.gig import Gig
from engine.models.task import Task
from engine.plans import Enqueue, Exclude, MoveTask, Plan, PutBack, Reply


def apply(plan: Plan, gig: Gig, task: Task) -> dict[str, Any]:
    """Apply the effects in order; answers the members that the plan replies with."""
    answer: dict[str, Any] = {}
    for effect in plan:
        match effect:
            case Enqueue():
                entries.enqueue(gig, task)
            case PutBack():
                holding.put_back(gig, task)
            case MoveTask(verb):
                holding.move_on(task, verb)
            case Exclude(mailbox_id, reason):
                holding.exclude(mailbox_id, task, reason)
            case Reply(members):
                answer.update(members)
    return answer
