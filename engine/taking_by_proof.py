"""What a worker hands in a proof of: the task in his hands, or one that he takes with it (R-01)."""

from __future__ import annotations

from engine import (
    allowances,
    claims,
    clock,
    gigs,
    holding,
    in_hand,
    order_standing,
    polls,
    tasks,
)
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.task import Task
from engine.modes import ask
from engine.moves import move


def held(gig: Gig, mailbox: Mailbox, task_id: str) -> Task:
    """The task in this worker's hands, taken now if nobody had it; only inside `db.write`.

    The mailbox is held. 410 `claim_lost` for what was his and is no more.
    """
    task = tasks.locked(gig, task_id)
    if task.client_id is not None:
        _require_vendor(gig, mailbox, task)
    if in_hand.holds(mailbox, task):
        return task
    reason = in_hand.require_not_lost(mailbox, task)
    if task.status in ("draft", "unfunded", "dropped", "cancelled"):
        raise not_found("task")
    if task.status == "queued":
        return _take(gig, mailbox, task, reason)
    if may_resume(gig, mailbox, task):
        return resume(gig, mailbox, task)
    if reason == holding.PROVEN or _was_handed_in_by(mailbox, task):
        raise Refused("already_proven", "You have already handed in a proof of this task.")
    if task.mailbox_id == mailbox.id and task.status == "completed":
        raise Refused("already_completed", "You have done this task. It needs no proof.")
    if task.status == "forwarded":
        raise _template()
    if task.template_number is not None:
        raise _other_worker(mailbox, task)
    if task.status == "unassigned":
        raise Refused("withdrawn", "The owner took this task back. Go on with another one.")
    raise Refused("taken", "Another worker took this task. Go on with another one.")


def _require_vendor(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    """An order is delivered from its vendor's own mailbox, once it was sent and while it stands.

    404 for whoever may not even read it.
    """
    if mailbox.id != gig.owner_mailbox_id:
        hidden = task.status in order_standing.PRIVATE and mailbox.account_id != task.client_id
        if hidden or task.status == "cancelled":
            raise not_found("task")
        raise Refused("not_permitted", "Only the vendor of this shop delivers its orders.")
    order_standing.require_standing(task)
    if task.status == "draft":
        raise Refused(
            "not_sent",
            "This order has not been sent yet, so there is nothing to deliver. Its buyer sends it.",
            message_id=task.id,
            status_now=task.status,
        )


def may_resume(gig: Gig, mailbox: Mailbox, task: Task) -> bool:
    """Is it this worker's rejected work, and does the mode let him hand in another proof of it?"""
    rejected = task.status == "rejected" and task.mailbox_id == mailbox.id
    return rejected and ask(gig.distribution).proving(gigs.facts(gig)).again


def resume(gig: Gig, mailbox: Mailbox, task: Task) -> Task:
    """Take up rejected work again, which makes its rejection final; only inside `db.write`.

    It is a take like any other: within the limits, at the price of now. Gig and mailbox are held.
    An order has been its vendor's all the time, on the terms on which it was sent (O-07).
    """
    is_order = task.client_id is not None
    if not is_order:
        gigs.require_open(gig)
        allowances.require(gig, mailbox)
    rejected = (Proof.task_id == task.id, Proof.status == "rejected", ~Proof.returned)
    Proof.update(returned=True, returned_at=clock.now()).where(*rejected).execute()
    if is_order:
        move(task, "resume")
        return task
    move(task, "resume", **holding.terms(gig, task))
    return taken(mailbox, task)


def taken(mailbox: Mailbox, task: Task) -> Task:
    """Count a task that has just come into a mailbox's hands, and tell of it."""
    holding.remember(mailbox, task, holding.CLAIM)
    polls.tell_claimed(mailbox, task)
    return task


def _was_handed_in_by(mailbox: Mailbox, task: Task) -> bool:
    return bool(task.mailbox_id == mailbox.id and task.status in in_hand.HANDED_IN)


def _other_worker(mailbox: Mailbox, task: Task) -> Refused:
    if task.mailbox_id == mailbox.id:
        return Refused(
            in_hand.CLAIM_LOST, "You passed on this copy, so it is gone. Go on with another one."
        )
    return Refused("other_worker", "This is another worker's copy. Name the id of your own.")


def _take(gig: Gig, mailbox: Mailbox, task: Task, reason: str | None) -> Task:
    """A proof of a task that waits takes it, within the worker's limits (M-05)."""
    gigs.require_open(gig)
    selection = ask(gig.distribution).select(gigs.facts(gig))
    if task.availability == "view_only":
        raise Refused("view_only", "This task is for reading only; nobody can take it.")
    if selection.how == "copy":
        raise _template()
    if reason == holding.PROVEN:
        raise Refused("already_proven", "Your proof of this task was rejected, and it went on.")
    if task.reserved_for not in (None, mailbox.id):
        raise Refused("reserved_for_other", "This task is reserved for a different worker.")
    if selection.shelf == "none" or _is_early(task):
        raise Refused("not_offered", "Nobody is offered this task now. Go on with another one.")
    allowances.require(gig, mailbox)
    claimed = claims.take_one(gig, mailbox, task)
    if claimed is None:
        raise Refused("taken", "Another worker took this task. Go on with another one.")
    polls.tell_claimed(mailbox, claimed)
    return claimed


def _template() -> Refused:
    return Refused(
        "template", "Each worker has a copy of this task. Name the id of yours, once you have it."
    )


def _is_early(task: Task) -> bool:
    return task.not_before is not None and task.not_before > clock.now()
