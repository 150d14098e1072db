"""Carries out a mode's plan, effect by effect, inside the caller's transaction."""

from __future__ import annotations

from typing import Any

from engine import assignments, entries, holding
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.plans import Assign, Enqueue, Exclude, MoveTask, Plan, PutBack, Reply

ACTOR = "engine"


def apply(plan: Plan, gig: Gig, task: Task) -> dict[str, Any]:
    """Apply the effects in order; answers the members that the plan replies with."""
    answer: dict[str, Any] = {}
    for effect in plan:
        match effect:
            case Enqueue():
                entries.enqueue(gig, task)
            case Assign(mailbox_id):
                mailbox = Mailbox.get(Mailbox.id == mailbox_id)
                holding.assign(gig, mailbox, task)
                assignments.tell(gig, mailbox_id, task, ACTOR)
            case PutBack():
                holding.put_back(gig, task)
            case MoveTask(verb):
                holding.move_on(task, verb)
            case Exclude(mailbox_id, reason):
                holding.exclude(mailbox_id, task, reason)
            case Reply(members):
                answer.update(members)
    return answer
