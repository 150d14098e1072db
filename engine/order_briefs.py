"""What the buyer of an order changes about it until it is paid for; then it says what was bought.

Of any other gig it is the owner who rewrites a draft's body: the same routes lead here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import (
    drafts,
    events,
    forms,
    gigs,
    parties,
    shelf,
    task_changes,
    task_escrow,
    upload_uses,
)
from engine.db import db
from engine.errors import Refused
from engine.forms import Form
from engine.models.escrow import Escrow
from engine.models.gig import Gig
from engine.models.purchase import Purchase
from engine.models.task import Task
from engine.modes import takes_orders
from engine.operations import ACTIVE, Caller, permit, roles

# States in which an order's money is on its way, one way or the other.
_UNDER_WAY = ("unfunded", "undoing")
# What a deposit is in while nothing of it is in the contract.
_NOTHING_IN = ("planned", "abandoned", "refunded", "reclaimed")
NOT_WRITER = "not_draft_writer"

# The columns of a task that a change of its body sets, from those that it has.
Rewrite = Callable[[Task], dict[str, Any]]


def hold_own(caller: Caller, gig: Gig, task_id: str) -> Task:
    """The caller's own order, held, which nobody has paid for; only inside `db.write`.

    404 for another buyer's draft, 403 `not_draft_writer` for the vendor; 409 with the mode's name
    for everybody once it is funded or sent, and `in_progress` while its money is on its way.
    """
    task = drafts.hold_order(gig, task_id)
    if _is_bought(task) and _is_shown(caller, gig, task):
        raise Refused(
            gig.distribution,
            "This order is paid for, or sent, and what it says is what was bought. Tell the other "
            "side in a comment, or undo it with POST /api/gigs/:id/tasks/:task/withdraw.",
            message_id=task.id,
            status_now=task.status,
        )
    parties.require_client(caller, gig, task, "draft", NOT_WRITER)
    if task.status in _UNDER_WAY:
        raise Refused(
            "in_progress",
            "This order is being funded or undone just now. Read it again in a moment.",
            message_id=task.id,
            retry_after=1,
        )
    return task


def _is_bought(task: Task) -> bool:
    if task.status not in (*drafts.UNSENT, *_UNDER_WAY):
        return True
    if task.status in _UNDER_WAY or task.deposit_id is None:
        return False
    # It was paid for, and could not be handed over.
    deposit = Escrow.get_or_none(Escrow.id == task.deposit_id)
    return deposit is not None and deposit.status not in _NOTHING_IN


def _is_shown(caller: Caller, gig: Gig, task: Task) -> bool:
    if parties.is_party(gig, task, caller.account_id):
        return True
    return ACTIVE in roles(caller, gig) and shelf.is_shown(gig, task, ())


def rewrite(caller: Caller, gig_id: str, task_id: str, change: Rewrite) -> tuple[Gig, Task]:
    """Change a draft's body: `payload` with its `content_type`, `subject`, or both.

    `change` answers those columns, from the draft as it is held.
    """

    def write() -> tuple[Gig, Task]:
        gig = gigs.get(gig_id)
        permit("task.payload", caller, gig)
        if takes_orders(gig):
            task = hold_own(caller, gig, task_id)
        else:
            task = drafts.locked(gig, task_id)
        columns = change(task)
        said = {"payload": task.payload, "content_type": task.content_type, **columns}
        forms.check(gig, Form(said["payload"], said["content_type"]))
        columns = {**columns, "mode_fields": drafts.own_of(gig, task, columns)}
        return gig, drafts.save(gig, task, columns, caller.account_id)

    return db.write(write)


def set_private_details(caller: Caller, gig_id: str, task_id: str, text: str | None) -> Task:
    """Write the part of the brief that no list and no link shows; None clears it.

    Of an order its two sides read it, and its buyer writes it until he pays; elsewhere the gig's
    owner writes it, at any time.
    """
    gig = gigs.get(gig_id)
    if not takes_orders(gig):
        kind = task_changes.PRIVATE_DETAILS
        return task_changes.one(kind, caller, gig_id, task_id, text).task

    def write() -> Task:
        permit("task.private_details", caller, gig)
        task = hold_own(caller, gig, task_id)
        if task.private_details != text:
            before, task.private_details = task.private_details, text
            Task.update(private_details=text).where(Task.id == task.id).execute()
            upload_uses.of_task(gig, task, (before,))
            events.append(
                "task.changed",
                events.Subject("task", task.id),
                actor=caller.account_id,
                gig_id=gig.id,
                data={"fields": ["private_details"]},
            )
        return task

    return db.write(write)


def delete(caller: Caller, gig_id: str, task_id: str) -> None:
    """Delete a draft for good: its buyer an order, its owner a draft of any other gig.

    409 with the mode's name for an order that was ever sent, or that a deposit was attempted for:
    it is the record of that money (O-06). Nothing of what its buyer wrote in it is kept, and the
    link that shared it opens nothing from then on.
    """

    def write() -> None:
        gig = gigs.get(gig_id)
        permit("draft.delete", caller, gig)
        if not takes_orders(gig):
            task_escrow.close([drafts.locked(gig, task_id)], caller.account_id)
            return
        task = hold_own(caller, gig, task_id)
        known = Purchase.select().where(Purchase.task_id == task.id)
        if task.status != "draft" or task.deposit_id is not None or known.exists():
            raise Refused(
                gig.distribution,
                "A deposit was made or tried for this order, or it was sent, so it stays as the "
                "record of that. You can change it and publish it again.",
                message_id=task.id,
                status_now=task.status,
            )
        nothing: dict[str, Any] = {
            "payload": "",
            "subject": "",
            "private_details": None,
            "tags": [],
        }
        shared = {"public_token": None, "comments_policy": None}
        Task.update(**nothing, **shared).where(Task.id == task.id).execute()
        upload_uses.forget(upload_uses.TASK, task.id, (task.payload, task.private_details))
        task_escrow.close([task], caller.account_id)

    db.write(write)
