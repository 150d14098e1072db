"""Handing a task that has come in to whom it is for, and keeping what was answered (T-02)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import assignments, commands, events, given_news, holding, planning
from engine.apply import placed
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.moves import move

KIND = "task.submit"
WEBHOOK = "webhook"
# In the place of a mailbox's id, on what has gone back to its owner.
UNASSIGNED = "UNASSIGNED"


@dataclass(frozen=True)
class Taken:
    """What became of a task that was sent: the answer, or the command that is still at it.

    Both where it is being handed out to many, and the command ends with the whole answer.
    """

    answer: dict[str, Any] | None = None
    command: Command | None = None


def hand_out(gig: Gig, task: Task, *, actor: str = WEBHOOK, **more: Any) -> dict[str, Any]:
    """Give the task to whom it was sent for, or let the mode place it; only inside `db.write`.

    The answer is kept for a repeat; `more` are members of it beside the mode's own. Hold the
    mailbox of a task that is to be assigned before the task itself (`hold_assignee`).
    """
    if task.assignee_id is not None:
        reply = _give(gig, task, task.assignee_id, actor)
    else:
        reply = planning.distribute(gig, task)
        if reply["status"] == "queued" and task.availability != "open":
            reply |= {
                "status": task.availability,
                "availability": task.availability,
                "reserved_for": task.reserved_for,
            }
    answer = told(task.id, reply, **more)
    events.append(
        "task.submitted",
        events.Subject("task", task.id),
        actor=actor,
        gig_id=gig.id,
        data={"status": answer["status"], "subject": task.subject, "tags": task.tags},
    )
    if "command_id" not in answer:
        commands.record_done(
            commands.id_of_task(task.id), KIND, gig.id, {"task_id": task.id}, answer
        )
    return answer


def told(task_id: str, reply: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The answer about a task (T-02)."""
    return {"status": reply["status"], "message_id": task_id, **reply, **more}


def taken(answer: dict[str, Any]) -> Taken:
    """What was answered, with the command that is still handing the task out, if there is one."""
    running = answer.get("command_id")
    return Taken(answer, None if running is None else commands.peek(running))


def _give(gig: Gig, task: Task, mailbox_id: str, actor: str) -> dict[str, Any]:
    """To the worker whom its owner named; back to the owner if he has stopped working since."""
    if not assignments.is_active(mailbox_id):
        move(task, "hand_back", assignee_id=None)
        events.append(
            "task.unassigned",
            events.Subject("task", task.id),
            actor=actor,
            gig_id=gig.id,
            data={"message_id": task.id, "reason": "assignee_not_active"},
        )
        return {"status": "unassigned", "mailbox_id": UNASSIGNED}
    holding.assign(gig, Mailbox.get(Mailbox.id == mailbox_id), task)
    given_news.tell(gig, mailbox_id, task, actor)
    placed(gig, task)
    return {"status": "assigned", "mailbox_id": mailbox_id}


def hold_assignee(task_id: str) -> str | None:
    """Lock the mailbox that a task is to be given to, before the task; in `db.write`.

    Answers whose it is. Only a draft's can change, so look again once the task is locked.
    """
    mailbox_id = Task.select(Task.assignee_id).where(Task.id == task_id).scalar()
    if mailbox_id is not None:
        assignments.is_active(mailbox_id)
    return None if mailbox_id is None else str(mailbox_id)


def answer_of(task_id: str) -> dict[str, Any] | None:
    """What was answered to whoever sent the task; None while it is not handed out."""
    kept = commands.find(commands.id_of_task(task_id))
    return None if kept is None else kept.result


def repeated(task_id: str) -> Taken | None:
    """The same for whoever sends it again, who waits too for what is still being handed out."""
    kept = commands.find(commands.id_of_task(task_id))
    if kept is None:
        return None
    return Taken(kept.result) if kept.status in commands.FINISHED else Taken(command=kept)
