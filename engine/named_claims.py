"""Taking one named task, by its link (C-01).

The link chooses a task and nothing else: who may take it, and how many, is as for a poll.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import (
    allowances,
    briefs,
    claims,
    clock,
    copies,
    copy_slots,
    gigs,
    in_hand,
    mailboxes,
    polls,
)
from engine import tasks as found_tasks
from engine.allowances import Allowance
from engine.db import db
from engine.errors import Refused, not_found
from engine.holding import PROVEN
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import ask
from engine.operations import Caller, permit

# What its owner has not sent, or has taken away again, is not there for anybody else.
HIDDEN = ("draft", "unfunded", "dropped", "cancelled")


@dataclass(frozen=True)
class Claimed:
    """The task, in the hands of this mailbox; `already_held` when it was before."""

    gig: Gig
    mailbox: Mailbox
    task: Task
    already_held: bool
    allowance: Allowance


def claim(caller: Caller, gig_id: str, task_id: str, mailbox_id: str | None = None) -> Claimed:
    """Take one task, or a copy of it, for the named mailbox or the caller's first active one.

    Refusals come in the order of C-01, the two limits last. Again by its holder: nothing is taken
    a second time, and no rate slot spent.
    """

    def write() -> Claimed:
        gig = gigs.held(gig_id)
        permit("queue.claim", caller, gig)
        _require_there(gig, task_id)
        mailbox = in_hand.mailbox_of(caller, gig, task_id, mailbox_id)
        mailboxes.hold(mailbox)
        task = found_tasks.locked(gig, task_id)
        held = _held(gig, mailbox, task)
        if held is not None:
            briefs.fill([held])
            holder = mailboxes.get(gig.id, str(held.mailbox_id))
            return Claimed(gig, holder, held, True, allowances.standing(gig, holder))
        _require_free(gig, mailbox, task)
        allowance = allowances.require(gig, mailbox)
        if _hands_out_copies(gig):
            taken = copies.take_one(gig, mailbox, task)
        else:
            taken = claims.take_one(gig, mailbox, task)
        if taken is None:
            raise _taken()
        polls.tell_claimed(mailbox, taken)
        briefs.fill([taken])
        return Claimed(gig, mailbox, taken, False, allowance.after(1, clock.now()))

    return db.write(write)


@dataclass(frozen=True)
class Outlook:
    """What a claim would come to: what the caller holds already, or why he would be refused; he
    may take the task where both are None."""

    gig: Gig
    held: Task | None = None
    refusal: Refused | None = None


def look(caller: Caller, gig_id: str, task_id: str) -> Outlook:
    """What `claim` would say now, but for the limits; takes nothing."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("queue.claim", caller, gig)
        try:
            _require_there(gig, task_id)
            mailbox = in_hand.mailbox_of(caller, gig, task_id, None)
            task = Task.get(Task.id == task_id)
            held = _held(gig, mailbox, task)
            if held is None:
                _require_free(gig, mailbox, task)
        except Refused as refusal:
            return Outlook(gig, refusal=refusal)
        return Outlook(gig, held)


def _hands_out_copies(gig: Gig) -> bool:
    return ask(gig.distribution).select(gigs.facts(gig)).how == "copy"


def _require_there(gig: Gig, task_id: str) -> None:
    status = db.scalar("SELECT status FROM task WHERE id = ? AND gig_id = ?", (task_id, gig.id))
    if status is None or status in HIDDEN:
        raise not_found("task")


def _held(gig: Gig, mailbox: Mailbox, task: Task) -> Task | None:
    """What the worker has in hand of this task: the task itself, or his copy of it."""
    own = task
    if _is_template(gig, task):
        copy = copies.copy_of(mailbox.account_id, task)
        own = task if copy is None else copy
    is_held = own.status == "claimed" and not in_hand.has_run_out(own)
    return own if is_held and _is_his(mailbox, own) else None


def _is_template(gig: Gig, task: Task) -> bool:
    return task.status == "queued" and _hands_out_copies(gig)


def _is_his(mailbox: Mailbox, task: Task) -> bool:
    """Is it with this mailbox, or with another of the same worker?"""
    if task.mailbox_id in (None, mailbox.id):
        return task.mailbox_id is not None
    return mailboxes.get(task.gig_id, task.mailbox_id).account_id == mailbox.account_id


def _require_free(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    """Refuse what this worker cannot take, for the first reason in the order of C-01."""
    copy = copies.copy_of(mailbox.account_id, task) if _is_template(gig, task) else None
    own = task if copy is None else copy
    if task.availability == "view_only":
        raise Refused("view_only", "This task is for reading only; nobody can take it.")
    if task.template_number is not None and not _is_his(mailbox, task):
        raise Refused(
            "other_worker",
            "This is another worker's copy. Ask for the link of the task that it is a copy of.",
        )
    if own.status in in_hand.HANDED_IN or in_hand.reason_of(mailbox, task) == PROVEN:
        raise Refused("already_proven", "A proof of this task was already handed in.")
    if task.status == "claimed" and task.assignee_id is not None:
        raise Refused("assigned_elsewhere", "The owner gave this task to a worker of his choice.")
    if task.status == "unassigned":
        raise Refused("withdrawn", "The owner took this task back. Poll for another one.")
    if task.status == "claimed" and not _is_his(mailbox, task):
        raise _taken()
    if task.reserved_for not in (None, mailbox.id):
        raise Refused(
            "reserved_for_other",
            "This task is reserved for a different worker. Poll for another one.",
        )
    in_hand.require_not_lost(mailbox, own)
    if own.status in ("claimed", "discarded"):
        raise Refused(
            "claim_lost",
            "You have had this task and it is no longer yours. Poll for another one.",
        )
    if copy_slots.is_used_up(gig, task):
        raise Refused(
            "exhausted", "As many workers as there may be have this task. Poll for another one."
        )
    gigs.require_open(gig)
    selection = ask(gig.distribution).select(gigs.facts(gig))
    if selection.shelf == "none" or _is_early(task):
        raise Refused("not_offered", "Nobody is offered this task now. Poll for another one.")


def _is_early(task: Task) -> bool:
    return task.not_before is not None and task.not_before > clock.now()


def _taken() -> Refused:
    return Refused("taken", "Another worker was quicker with this task. Poll for another one.")
