"""Telling a worker that a task was given to him."""

from __future__ import annotations

from engine import events, task_letters
from engine.models.gig import Gig
from engine.models.task import Task
from engine.rules import times


def tell(gig: Gig, mailbox_id: str, task: Task, actor: str, kind: str = "task.assigned") -> None:
    """Append that a worker was given a task, which his webhook hears (W-08), and mail it to
    him (U-02); in `db.write`.

    Its private details are in no webhook. The log has many readers and keeps everything, so the
    payload goes to the webhook alone.
    """
    events.append(
        kind,
        events.Subject("task", task.id),
        actor=actor,
        gig_id=gig.id,
        mailbox_id=mailbox_id,
        data={
            "mailbox_id": mailbox_id,
            "message_id": task.id,
            "gig_title": gig.title,
            "distribution_mode": gig.distribution,
            "forwarded_at": times.iso_ms(task.created_at),
        },
        unlogged={"payload": task.payload},
    )
    task_letters.write(gig, mailbox_id, task)
