"""Giving a task to one named worker (A-01); finding him: `assignments.py`."""

from __future__ import annotations

from dataclasses import dataclass

from engine import events, gigs, given_news, holding, in_hand, spending, tasks
from engine.apply import placed
from engine.assignments import find, hold_active, not_active
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import ask
from engine.operations import Caller, permit

# Each time somebody else has taken it in between.
TRIES = 20
# States of a task that each worker has, or would have, a copy of.
_TEMPLATES = ("queued", "forwarded", "dropped")


@dataclass(frozen=True)
class Assigned:
    """To whom a task was given, and whether he had it already."""

    task: Task
    mailbox: Mailbox
    unchanged: bool


class _Elsewhere(Exception):
    """By the time that the task was locked somebody had it whose mailbox is not."""


def assign(caller: Caller, gig_id: str, task_id: str, assign_to: str) -> Assigned:
    """Give a task to a worker, whoever has it now; what he holds already stays as he took it."""

    def write() -> Assigned:
        # One at a time, so that the log tells of many in the order in which they were.
        gig = gigs.held(gig_id, alone=True)
        permit("task.assign", caller, gig)
        holder_id = _holder(gig, task_id)
        mailbox = find(gig, assign_to)
        for _ in range(TRIES):
            try:
                return db.write(lambda: _assign(caller, gig, task_id, mailbox, holder_id))  # noqa: B023
            except _Elsewhere:
                holder_id = _holder(gig, task_id)
        raise Refused("try_again", "Others are taking this task just now. Try again.")

    return db.write(write)


def _holder(gig: Gig, task_id: str) -> str | None:
    found = db.rows("SELECT mailbox_id FROM task WHERE id = ? AND gig_id = ?", (task_id, gig.id))
    if not found:
        raise not_found("task")
    return None if found[0][0] is None else str(found[0][0])


def _assign(
    caller: Caller, gig: Gig, task_id: str, mailbox: Mailbox, holder_id: str | None
) -> Assigned:
    if mailbox.id not in hold_active(mailbox.id, holder_id or mailbox.id):
        raise not_active()
    task = tasks.locked(gig, task_id)
    if task.mailbox_id not in (None, mailbox.id, holder_id):
        raise _Elsewhere
    _refuse(gig, task)
    held = task.status == "claimed" and not in_hand.has_run_out(task)
    if held and task.mailbox_id == mailbox.id:
        return _confirm(caller, task, mailbox)
    gigs.require_open(gig)
    if task.status == "claimed" and task.mailbox_id != mailbox.id:
        _take_from_holder(caller, task, excused=held)
    if task.status == "dropped":
        # What its owner gives to somebody is no spending of the token's.
        Task.update(counted_on=spending.BY_OWNER).where(Task.number == task.number).execute()
    holding.assign(gig, mailbox, task)
    if (task.availability, task.reserved_for) != ("open", None):
        # It is his now, so it is kept for nobody else.
        Task.update(availability="open", reserved_for=None).where(
            Task.number == task.number
        ).execute()
        task.availability, task.reserved_for = "open", None
    given_news.tell(gig, mailbox.id, task, caller.account_id)
    placed(gig, task)
    return Assigned(task, mailbox, unchanged=False)


def _refuse(gig: Gig, task: Task) -> None:
    if task.status in ("cancelled", "discarded"):
        raise not_found("task")
    copies = ask(gig.distribution).select(gigs.facts(gig)).how == "copy"
    if task.template_number is not None or (copies and task.status in _TEMPLATES):
        raise Refused(
            "solo_task",
            "In this gig each worker has a copy of his own, so this task cannot be given to one. "
            "Post new work with assign_to instead.",
        )
    if task.status in in_hand.HANDED_IN:
        raise Refused(
            "already_proven", "A proof of this task was handed in. Review the proof instead."
        )
    if task.status == "completed":
        raise Refused("already_completed", "The work on this task is done. Send another task.")
    if task.status not in ("queued", "unassigned", "claimed", "dropped"):
        raise Refused(
            "wrong_state",
            f"This task is {task.status}, so nobody can have it yet. "
            "Assign it once it is published and funded.",
            status_now=task.status,
        )


def _confirm(caller: Caller, task: Task, mailbox: Mailbox) -> Assigned:
    """What its holder took himself now counts as given to him; nothing else changes.

    What he was offered is his: the word of the gig's owner counts as his own (U-04).
    """
    if task.accept_by is not None:
        holding.accept(task, caller.account_id)
    if task.assignee_id != mailbox.id:
        Task.update(assignee_id=mailbox.id).where(Task.number == task.number).execute()
        task.assignee_id = mailbox.id
        events.append(
            "task.changed",
            events.Subject("task", task.id),
            actor=caller.account_id,
            gig_id=task.gig_id,
            mailbox_id=mailbox.id,
            data={"fields": ["assign_to"], "from": None, "to": mailbox.id},
        )
    return Assigned(task, mailbox, unchanged=True)


def _take_from_holder(caller: Caller, task: Task, *, excused: bool) -> None:
    """The one who loses it may be offered it again; it is not held against him (M-06)."""
    if excused:
        holding.excuse(task)
    events.append(
        "task.released",
        events.Subject("task", task.id),
        actor=caller.account_id,
        gig_id=task.gig_id,
        mailbox_id=task.mailbox_id,
        data={"mailbox_id": task.mailbox_id},
    )
