"""Handing a sent order to its vendor: the one way in which an order becomes work."""

from __future__ import annotations

from typing import Any

from engine import assignments, clock, events, planning
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.moves import move


def hold_vendor(gig: Gig) -> bool:
    """Hold the vendor's mailbox, before the order itself; is it active? Only in `db.write`."""
    return assignments.is_active(str(gig.owner_mailbox_id))


def is_paused(gig: Gig) -> bool:
    """Has the vendor, whose mailbox is held, said that he wants no new orders just now (M-02)?"""
    return bool(Mailbox.get(Mailbox.id == gig.owner_mailbox_id).paused)


def hand_over(gig: Gig, task: Task, verb: str, actor: str, **sets: Any) -> dict[str, Any]:
    """Move a locked order by this verb into its vendor's hands; `sets` are columns of it.

    Answers what whoever sent it is told. It keeps the id that it was drafted under (O-01), and is
    undone no more, if it was (O-09). Only inside `db.write`, with `hold_vendor` before.
    """
    undone = {"order_withdrawn_at": None, "order_withdrawn_by": None}
    move(task, verb, created_at=clock.now(), order_withdrawn_reason=None, **undone, **sets)
    reply = planning.distribute(gig, task)
    events.append(
        "task.submitted",
        events.Subject("task", task.id),
        actor=actor,
        gig_id=gig.id,
        data={"status": reply["status"], "subject": task.subject, "tags": task.tags},
    )
    return {**reply, "message_id": task.id, "draft_id": task.id, "published": True}
