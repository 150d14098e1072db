"""Giving a task to one named worker (A-01)."""

from __future__ import annotations

from dataclasses import dataclass

from engine import events, gigs, holding, in_hand, rows, tasks
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import ask
from engine.operations import Caller, permit
from engine.rules import times

# States of a task that each worker has, or would have, a copy of.
_TEMPLATES = ("queued", "forwarded", "dropped")
# Each time somebody else has taken it in between.
TRIES = 20
_OF_EMAIL = """
gig_id = ? AND account_id = (SELECT id FROM account WHERE email = ?) ORDER BY ordinal
"""
_HOLD = "SELECT id, status FROM mailbox WHERE id IN ({marks}) ORDER BY id"


def find(gig: Gig, text: str, field: str = "assign_to") -> Mailbox:
    """The active mailbox of a worker named by its id or by his account's email.

    400 `assignee_not_found`, `assignee_not_active` or `assignee_ambiguous` under the field's name.
    """
    named = _named(gig, text)
    active = [mailbox for mailbox in named if mailbox.status == "active"]
    if len(active) == 1:
        return active[0]
    if len(active) > 1:
        sentence = "this worker has several mailboxes in this gig; name one of them by its id"
        raise invalid(field, sentence, "assignee_ambiguous")
    if named:
        raise not_active(field)
    sentence = "no worker of this gig has this mailbox id or account email"
    raise invalid(field, sentence, "assignee_not_found")


def not_active(field: str = "assign_to") -> Refused:
    sentence = "this worker's mailbox is not active; activate it first"
    return invalid(field, sentence, "assignee_not_active")


def reservee(gig: Gig, text: str) -> Mailbox:
    """The mailbox that a task is to be reserved for; 404 for an unknown one (T-06)."""
    try:
        return find(gig, text, "reserved_for")
    except Refused as refusal:
        if refusal.code != "assignee_not_found":
            raise
        raise Refused("not_found", refusal.message, errors=refusal.errors) from refusal


def _named(gig: Gig, text: str) -> list[Mailbox]:
    with db.reading():
        by_id = rows.find(Mailbox, "gig_id = ? AND id = ?", gig.id, text)
        return by_id or rows.find(Mailbox, _OF_EMAIL, gig.id, text.strip().lower())


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
    holding.assign(gig, mailbox, task)
    if (task.availability, task.reserved_for) != ("open", None):
        # It is his now, so it is kept for nobody else.
        Task.update(availability="open", reserved_for=None).where(
            Task.number == task.number
        ).execute()
        task.availability, task.reserved_for = "open", None
    tell(gig, mailbox.id, task, caller.account_id)
    return Assigned(task, mailbox, unchanged=False)


def hold_active(*ids: str) -> set[str]:
    """Lock mailboxes in the order of their ids, before any task; answers which are active."""
    statement = _HOLD.format(marks=", ".join("?" for _ in ids))
    lock = " FOR NO KEY UPDATE" if db.is_postgres else ""
    return {row[0] for row in db.rows(statement + lock, sorted(ids)) if row[1] == "active"}


def is_active(mailbox_id: str) -> bool:
    """Is this mailbox active? It stays so until the transaction ends; before any task."""
    return mailbox_id in hold_active(mailbox_id)


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
    """What its holder took himself now counts as given to him; nothing else changes."""
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


def tell(gig: Gig, mailbox_id: str, task: Task, actor: str, kind: str = "task.assigned") -> None:
    """Append that a worker was given a task, which his webhook hears (W-08); in `db.write`.

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
