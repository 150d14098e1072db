"""Is a task in this worker's hands? And if it was and is no more, what happened to it (Q-07)?

A claim whose time has run out is over at once, not only when the sweep has come by: from then on
nothing that its holder does takes effect, unless the owner extends it before the sweep.
"""

from __future__ import annotations

from engine import clock, mailboxes
from engine.db import db
from engine.errors import Refused
from engine.holding import EXPIRED, RECYCLED
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.operations import Caller

CLAIM_LOST = "claim_lost"
_LOST = {
    EXPIRED: "Your time for this task ran out, so it is no longer yours. Go on with another one.",
    RECYCLED: "The owner took this task back, so it is no longer yours. Go on with another one.",
}
# States of a task that a proof was handed in of.
HANDED_IN = ("submitted", "approved", "rejected")
# The same, and where nothing is reviewed.
DONE = (*HANDED_IN, "completed")

_OF_TASK = """
SELECT mailbox.id FROM task
JOIN mailbox ON mailbox.id = coalesce(task.mailbox_id, task.reserved_for)
WHERE task.id = ? AND task.gig_id = ? AND mailbox.account_id = ?
"""
_REASON = "SELECT reason FROM exclusion WHERE mailbox_id = ? AND task_number = ?"
_HOLD = "SELECT id FROM mailbox WHERE id = ? FOR NO KEY UPDATE"


def mailbox_of(caller: Caller, gig: Gig, task_id: str, mailbox_id: str | None) -> Mailbox:
    """The caller's mailbox that acts on a task: the one he names, or else the one that has it."""
    if mailbox_id is None:
        mailbox_id = db.scalar(_OF_TASK, (task_id, gig.id, caller.account_id))
    return mailboxes.active_of(caller, gig, mailbox_id)


def hold_mailbox(mailbox_id: str) -> None:
    """Lock a mailbox, whatever its state, before a task is taken from it; only in `db.write`."""
    if db.is_postgres:
        db.rows(_HOLD, (mailbox_id,))


def has_run_out(task: Task) -> bool:
    return task.expires_at is not None and task.expires_at <= clock.now()


def has_now(task: Task) -> bool:
    """Is it in its mailbox's hands, and in time?"""
    return bool(task.status == "claimed" and not has_run_out(task))


def holds(mailbox: Mailbox, task: Task) -> bool:
    """Does this mailbox hold the locked task? 410 when it does and its time has run out."""
    if task.status != "claimed" or task.mailbox_id != mailbox.id:
        return False
    if has_run_out(task):
        raise lost(EXPIRED)
    return True


def is_kept_for(mailbox: Mailbox, task: Task) -> bool:
    """Does it wait for this mailbox and no other, by its owner's word (T-06)?"""
    return bool(task.status == "queued" and task.reserved_for == mailbox.id)


def reason_of(mailbox: Mailbox, task: Task) -> str | None:
    """Why the mailbox is not offered the task any more; None if it may be."""
    reason: str | None = db.scalar(_REASON, (mailbox.id, task.number))
    return reason


def require_not_lost(mailbox: Mailbox, task: Task) -> str | None:
    """410 when the mailbox has held the task and lost it; answers why else it is not offered it."""
    reason = reason_of(mailbox, task)
    if reason in _LOST and not is_kept_for(mailbox, task):
        raise lost(reason)
    return reason


def lost(reason: str) -> Refused:
    return Refused(CLAIM_LOST, _LOST[reason])
