"""Handing in a proof (R-01, R-02), by whoever holds the task or takes it with his proof."""

from __future__ import annotations

from dataclasses import dataclass

from engine import (
    allowances,
    claims,
    clock,
    events,
    gigs,
    holding,
    in_hand,
    mailboxes,
    polls,
    tasks,
)
from engine.db import db
from engine.deliveries import money_field
from engine.errors import Refused, not_found
from engine.ids import new_id
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.task import Task
from engine.modes import ask
from engine.moves import move
from engine.operations import Caller, permit

MAX_NOTE_CHARACTERS = 8000
REFUSED = "proof.refused"

_TOLD = f"""
SELECT 1 FROM event WHERE subject_id = ? AND type = '{REFUSED}' AND mailbox_id = ? LIMIT 1
"""


@dataclass(frozen=True)
class HandIn:
    """What a worker hands in. `evidence` is a list of texts or links, as he gave them."""

    task_id: str
    mailbox_id: str | None
    evidence: list[str]
    tags: list[str]
    private_note: str


def submit(caller: Caller, gig_id: str, given: HandIn) -> Proof:
    """Hand in a proof of a task that the worker holds, or that still waits unclaimed (R-01).

    410 `claim_lost` if it was his and is no more, which the log then tells (F03).
    """

    def write() -> Proof:
        gig = gigs.get(gig_id)
        permit("proof.submit", caller, gig)
        mailbox = in_hand.mailbox_of(caller, gig, given.task_id, given.mailbox_id)
        mailboxes.hold(mailbox)
        task = _held(gig, mailbox, given.task_id)
        now = clock.now()
        move(task, "submit", Task.mailbox_id == mailbox.id)
        proof = Proof.create(
            id=new_id("PROOF"),
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            task_id=task.id,
            status="pending",
            evidence=given.evidence,
            tags=given.tags,
            private_note=given.private_note,
            locked_price_units=task.held_price_units,
            price_source="gig" if task.price_units is None else "task",
            feedback="",
            returned=False,
            submitted_at=now,
            timeout_at=_deadline(gig, now),
        )
        events.append(
            "proof.submitted",
            events.Subject("proof", proof.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            data={
                "mailbox_id": mailbox.id,
                "proof_id": proof.id,
                "task_identifier": task.id,
                "locked_price": money_field(proof.locked_price_units),
                "private_note_locked": bool(proof.private_note),
                "resubmitted": False,
            },
        )
        return proof

    try:
        return db.write(write)
    except Refused as refusal:
        reason = refusal
        if refusal.code == in_hand.CLAIM_LOST:
            db.write(lambda: _tell_refused(caller, gig_id, given, reason))
        raise


def _tell_refused(caller: Caller, gig_id: str, given: HandIn, refusal: Refused) -> None:
    """Whoever lost a task has handed in all the same; told once for each mailbox."""
    gig = gigs.get(gig_id)
    mailbox = in_hand.mailbox_of(caller, gig, given.task_id, given.mailbox_id)
    if db.rows(_TOLD, (given.task_id, mailbox.id)):
        return
    events.append(
        REFUSED,
        events.Subject("task", given.task_id),
        actor=caller.account_id,
        gig_id=gig.id,
        mailbox_id=mailbox.id,
        data={
            "mailbox_id": mailbox.id,
            "task_identifier": given.task_id,
            "reason": refusal.code,
            "error": refusal.message,
        },
    )


def _held(gig: Gig, mailbox: Mailbox, task_id: str) -> Task:
    """The task in this worker's hands, taken now if nobody had it."""
    task = tasks.locked(gig, task_id)
    if in_hand.holds(mailbox, task):
        return task
    reason = in_hand.require_not_lost(mailbox, task)
    if task.status in ("draft", "unfunded", "cancelled"):
        raise not_found("task")
    if task.status == "queued":
        return _take(gig, mailbox, task, reason)
    if reason == holding.PROVEN or _was_handed_in_by(mailbox, task):
        raise Refused("already_proven", "You have already handed in a proof of this task.")
    if task.template_number is not None:
        raise _other_worker(mailbox, task)
    if task.status == "unassigned":
        raise Refused("withdrawn", "The owner took this task back. Poll for the next one.")
    raise Refused("taken", "Another worker took this task. Poll for the next one.")


def _was_handed_in_by(mailbox: Mailbox, task: Task) -> bool:
    return bool(task.mailbox_id == mailbox.id and task.status in in_hand.HANDED_IN)


def _other_worker(mailbox: Mailbox, task: Task) -> Refused:
    if task.mailbox_id == mailbox.id:
        return Refused(in_hand.CLAIM_LOST, "You passed on this copy, so it is gone. Poll again.")
    return Refused("other_worker", "This is another worker's copy. Poll for one of your own.")


def _take(gig: Gig, mailbox: Mailbox, task: Task, reason: str | None) -> Task:
    """A proof of a task that waits takes it, within the worker's limits (M-05)."""
    gigs.require_open(gig)
    selection = ask(gig.distribution).select(gigs.facts(gig))
    if task.availability == "view_only":
        raise Refused("view_only", "This task is for reading only; nobody can take it.")
    if selection.how == "copy":
        raise Refused(
            "template", "Each worker has a copy of this task: poll, and name the id of your copy."
        )
    if reason == holding.PROVEN:
        raise Refused("already_proven", "Your proof of this task was rejected, and it went on.")
    if task.reserved_for not in (None, mailbox.id):
        raise Refused("reserved_for_other", "This task is reserved for a different worker.")
    if selection.shelf == "none" or _is_early(task):
        raise Refused("not_offered", "Nobody is offered this task now. Poll for the next one.")
    allowances.require(gig, mailbox)
    claimed = claims.take_one(gig, mailbox, task)
    if claimed is None:
        raise Refused("taken", "Another worker took this task. Poll for the next one.")
    polls.tell_claimed(mailbox, claimed)
    return claimed


def _is_early(task: Task) -> bool:
    return task.not_before is not None and task.not_before > clock.now()


def _deadline(gig: Gig, now: int) -> int | None:
    if gig.review_timeout_seconds == gigs.MANUAL_REVIEW:
        return None
    return now + gig.review_timeout_seconds * clock.SECOND
