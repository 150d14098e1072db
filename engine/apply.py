"""Carries out a mode's plan, effect by effect, inside the caller's transaction."""

from __future__ import annotations

from typing import Any

from engine import claims, clock
from engine.models.task import Exclusion, Task
from engine.moves import move
from engine.plans import Enqueue, Exclude, MoveTask, Plan, Reply

# What leaves the task with the move: after these nobody holds it.
_LETS_GO = {"release", "return"}


def apply(plan: Plan, task: Task) -> dict[str, Any]:
    """Apply the effects in order; answers the members that the plan replies with."""
    answer: dict[str, Any] = {}
    for effect in plan:
        match effect:
            case Enqueue():
                claims.enqueue(task)
            case MoveTask(verb):
                if verb in _LETS_GO:
                    move(task, verb, mailbox_id=None, claimed_at=None, held_price_units=None)
                else:
                    move(task, verb)
            case Exclude(mailbox_id, reason):
                Exclusion.insert(
                    mailbox_id=mailbox_id, task_number=task.number, reason=reason, at=clock.now()
                ).on_conflict_ignore().execute()
            case Reply(members):
                answer.update(members)
    return answer
