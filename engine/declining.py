"""Passing on a task (D-01)."""

from __future__ import annotations

from engine import (
    cancellation,
    copies,
    events,
    holding,
    in_hand,
    mailboxes,
    planning,
    shelf,
    tasks,
)
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.operations import Caller, permit


def decline(caller: Caller, gig_id: str, task_id: str, mailbox_id: str | None = None) -> bool:
    """Pass on a task, for this worker only; again and again without further effect (D-01).

    Answers whether it went back to its owner, who had assigned it. 410 `claim_lost` when the time
    ran out or the owner took it back before.
    """

    def write() -> bool:
        gig = cancellation.hold(gig_id)
        permit("queue.decline", caller, gig)
        mailbox = in_hand.mailbox_of(caller, gig, task_id, mailbox_id)
        mailboxes.hold(mailbox)
        task = tasks.locked(gig, task_id)
        if pass_on(gig, mailbox, task):
            events.append(
                "task.declined",
                events.Subject("task", task.id),
                actor=caller.account_id,
                gig_id=gig.id,
                mailbox_id=mailbox.id,
                data={"mailbox_id": mailbox.id},
            )
        return bool(task.status == "unassigned")

    return db.write(write)


def pass_on(gig: Gig, mailbox: Mailbox, task: Task) -> bool:
    """Take a locked task out of a worker's sight, and out of his hands if he has it.

    False when he has passed on it before. Only inside `db.write`; the mailbox is held.
    """
    kept_for_him = in_hand.is_kept_for(mailbox, task)
    if not kept_for_him and not in_hand.holds(mailbox, task):
        reason = in_hand.require_not_lost(mailbox, task)
        if task.mailbox_id == mailbox.id and task.status == "completed":
            raise Refused("already_completed", "You have done this task, so it stays with you.")
        if task.mailbox_id == mailbox.id and task.status in in_hand.HANDED_IN:
            raise Refused(
                "already_proven",
                "You have handed in a proof of this task; it is with its owner.",
            )
        if reason is not None:
            return False
        if not shelf.is_shown(gig, task, {mailbox.id}):
            raise not_found("task")
        _refuse_template_of(mailbox, task)
    planning.decline(gig, task, mailbox.id)
    if kept_for_him:
        holding.unaddress(gig, task)
    cancellation.catch(gig, task, mailbox.account_id)
    return True


def _refuse_template_of(mailbox: Mailbox, task: Task) -> None:
    """Who holds a copy passes on that, by its own id: his slots are with it."""
    copy = copies.copy_of(mailbox.account_id, task)
    if copy is not None and copy.status == "claimed":
        raise Refused(
            "template",
            "You hold your own copy of this task. Use the copy's id, the one that you were given.",
            message_id=copy.id,
        )
