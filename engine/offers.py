"""What was pushed to a worker who has yet to accept it (U-04).

`accept_by` is when the offer ends, and `expires_at` is the same: what runs out goes on by the sweep
that takes back any claim (`holds.expire`). Once the task is accepted, or a proof of it is handed
in, the time for the work begins.
"""

from __future__ import annotations

from engine import (
    cancellation,
    declining,
    events,
    gigs,
    holding,
    in_hand,
    mailboxes,
    shelf,
    tasks,
)
from engine.db import db
from engine.errors import Refused, not_found
from engine.holding import ACCEPTED, DECLINED, VIOLATION
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.operations import Caller, permit

# A proof may be rejected, too.
TURNED_DOWN = "task.turned_down"

# By the index of a subject's events.
_ACCEPTED_SINCE = """
SELECT 1 FROM event WHERE subject_id = ? AND type = ? AND mailbox_id = ? AND at >= ? LIMIT 1
"""


def accept(caller: Caller, gig_id: str, task_id: str, mailbox_id: str | None = None) -> Task:
    """Take on a task that was pushed to one of the caller's mailboxes; again changes nothing.

    410 `claim_lost` once the time to accept is over or the task was passed on; 403 for another
    worker's, 404 for one that the caller cannot see; 409 `nothing_to_accept` where it is no offer.
    """

    def write() -> Task:
        gig = gigs.get(gig_id)
        permit("task.accept", caller, gig)
        mailbox = in_hand.mailbox_of(caller, gig, task_id, mailbox_id)
        task = tasks.locked(gig, task_id)
        _require_held(gig, mailbox, task)
        if task.accept_by is not None:
            holding.accept(task, caller.account_id)
        elif not _was_accepted(mailbox, task):
            raise _no_offer()
        return task

    return db.write(write)


def reject(caller: Caller, gig_id: str, task_id: str, mailbox_id: str | None = None) -> None:
    """Pass on a task instead of accepting it: it goes to another worker, or waits for one.

    It counts like a decline (M-06), and again changes nothing. Refuses as `accept` does, but 409
    `already_accepted` for what was accepted.
    """

    def write() -> None:
        gig = cancellation.hold(gig_id)
        permit("task.reject", caller, gig)
        mailbox = in_hand.mailbox_of(caller, gig, task_id, mailbox_id)
        mailboxes.hold(mailbox)
        task = tasks.locked(gig, task_id)
        if not _has(mailbox, task) and in_hand.reason_of(mailbox, task) in (DECLINED, VIOLATION):
            return
        _require_held(gig, mailbox, task)
        if task.accept_by is None:
            if _was_accepted(mailbox, task):
                raise Refused(
                    "already_accepted",
                    "You have accepted this task. Hand in your work, or ask the gig's owner to "
                    "give it to somebody else.",
                )
            raise _no_offer()
        events.append(
            TURNED_DOWN,
            events.Subject("task", task.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            data={"mailbox_id": mailbox.id},
        )
        declining.pass_on(gig, mailbox, task)

    return db.write(write)


def require_accepted(task: Task) -> None:
    """409 for what its worker may do only once the task is his."""
    if task.accept_by is not None:
        raise Refused(
            "not_accepted",
            "This task waits for your word. Accept it with POST "
            f"/api/gigs/{task.gig_id}/tasks/{task.id}/accept, or pass on it with …/reject.",
            message_id=task.id,
        )


def _has(mailbox: Mailbox, task: Task) -> bool:
    return bool(task.status == "claimed" and task.mailbox_id == mailbox.id)


def _require_held(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    if in_hand.holds(mailbox, task):
        return
    reason = in_hand.require_not_lost(mailbox, task)
    if reason in (DECLINED, VIOLATION):
        raise Refused(in_hand.CLAIM_LOST, "You passed on this task, so it is no longer yours.")
    if task.mailbox_id == mailbox.id and task.status in in_hand.HANDED_IN:
        raise Refused("already_proven", "You have handed in a proof of this task already.")
    if not shelf.is_shown(gig, task, {mailbox.id}):
        raise not_found("task")
    if task.mailbox_id not in (None, mailbox.id):
        raise Refused("not_permitted", "This task was given to another worker.")
    raise _no_offer()


def _was_accepted(mailbox: Mailbox, task: Task) -> bool:
    """Has the mailbox accepted it since it has it this time?"""
    since = (task.id, ACCEPTED, mailbox.id, task.claimed_at)
    return bool(db.rows(_ACCEPTED_SINCE, since))


def _no_offer() -> Refused:
    return Refused(
        "nothing_to_accept",
        "This task does not wait for your word: only what a gig with an accept_timeout pushes to "
        "you does.",
    )
