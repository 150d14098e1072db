"""Handing a task that has come in to its gig's mode, and keeping what was answered (T-02)."""

from __future__ import annotations

from typing import Any

from engine import commands, events, gigs
from engine.apply import apply
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask
from engine.plans import TaskFacts

KIND = "task.submit"


def hand_out(gig: Gig, task: Task, **more: Any) -> dict[str, Any]:
    """Let the mode place a task, and keep its answer for a repeat; only inside `db.write`.

    `more` are members of the answer beside the mode's own.
    """
    reply = apply(ask(gig.distribution).distribute(gigs.facts(gig), facts(task)), task)
    answer = {"status": reply.pop("status"), "message_id": task.id, **reply, **more}
    events.append(
        "task.submitted",
        events.Subject("task", task.id),
        actor="webhook",
        gig_id=gig.id,
        data={"status": answer["status"], "subject": task.subject, "tags": task.tags},
    )
    commands.record_done(command_id(task.id), KIND, gig.id, {"task_id": task.id}, answer)
    return answer


def command_id(task_id: str) -> str:
    """Of the command that a task which was handed out is remembered by."""
    return task_id.replace("TASK_", "CMD_", 1)


def answer_of(task_id: str) -> dict[str, Any] | None:
    """What was answered to whoever sent the task; None while it is not handed out."""
    kept = commands.find(command_id(task_id))
    return None if kept is None else kept.result


def facts(task: Task) -> TaskFacts:
    """The task as its mode is shown it."""
    return TaskFacts(
        task.id,
        task.status,
        task.priority,
        tuple(task.tags),
        task.price_units,
        task.price_tbd,
        task.mailbox_id,
    )
