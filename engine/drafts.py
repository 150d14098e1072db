"""Drafts: tasks that their owner keeps to himself until he publishes them (T-05).

A draft moves no counter, rings no webhook and is shown to no worker. It arrives when it is
published: from then on it has its place in the queue, under the id that it had as a draft.
"""

from __future__ import annotations

from typing import Any

from engine import (
    assignments,
    clock,
    commands,
    events,
    forms,
    gigs,
    own_fields,
    pages,
    rows,
    spending,
    upload_uses,
)
from engine.db import db
from engine.errors import Refused, not_found
from engine.forms import Form
from engine.models.gig import Gig
from engine.models.task import DRAFTS, UNSENT_ORDERS, Task
from engine.modes import takes_orders
from engine.moves import move
from engine.operations import Caller, permit
from engine.rules import money, times
from engine.rules.queue_order import DEFAULT_PRIORITY
from engine.spending import BY_OWNER

KIND = "task.draft"
# An order that was undone is one again that its buyer may send.
UNSENT = ("draft", "withdrawn")
# What a form and a task's row call alike.
_SAME = ("payload", "content_type", "subject", "price_units", "price_tbd", "not_before")


def make(gig: Gig, values: dict[str, Any], reason: str | None, actor: str) -> dict[str, Any] | None:
    """Save a new draft; None where its external id has just been taken; only inside `db.write`.

    `reason` says why a task that was sent is held back for its owner to decide on (G-04).
    """
    values = {**values, "status": "draft", "counted_on": BY_OWNER}
    values["draft_saved_at"] = values["created_at"]
    made = rows.insert(Task, values, tail="ON CONFLICT DO NOTHING RETURNING number")
    if not made:
        return None
    task = Task(number=made[0][0], **values)
    upload_uses.of_task(gig, task)
    if reason is None:
        _tell("task.drafted", gig, task, actor, {"subject": task.subject})
        return _keep(gig, task, answer(task, updated=False))
    return _held_back(gig, task, reason, actor)


def hold_back(gig: Gig, task: Task, reason: str, actor: str) -> dict[str, Any]:
    """Keep a locked task that could not be funded as a draft, since it is too much by now."""
    move(task, "unpublish", draft_saved_at=clock.now(), counted_on=BY_OWNER)
    return _held_back(gig, task, reason, actor)


def _held_back(gig: Gig, task: Task, reason: str, actor: str) -> dict[str, Any]:
    price_units = spending.price_of(gig, task.price_units, task.price_tbd)
    price = money.to_dollars(price_units)
    data = {"message_id": task.id, "reason": reason, "price": price}
    _tell("task.held_back", gig, task, actor, data)
    return _keep(gig, task, {**answer(task, updated=False), "reason": reason})


def answer(task: Task, *, updated: bool) -> dict[str, Any]:
    """What whoever saves a draft is told (T-02); an order that was undone says so."""
    return {
        "status": task.status if task.status in UNSENT else "draft",
        "message_id": task.id,
        "updated": updated,
        "draft_saved_at": times.iso_ms_or_none(task.draft_saved_at),
    }


def _keep(gig: Gig, task: Task, told: dict[str, Any]) -> dict[str, Any]:
    """The answer, kept for whoever sends the same external id again, whatever has become of it."""
    if task.external_id is not None:
        commands.record_done(_command_id(task.id), KIND, gig.id, {"task_id": task.id}, told)
    return told


def _command_id(task_id: str) -> str:
    return f"{commands.id_of_task(task_id)}-DRAFT"


def answer_of(task_id: str) -> dict[str, Any] | None:
    """What was answered when it was saved; None if it was no draft when it was sent."""
    kept = commands.find(_command_id(task_id))
    return None if kept is None else kept.result


def _tell(kind: str, gig: Gig, task: Task, actor: str, data: dict[str, Any]) -> None:
    """An event for the gig's owner: no mailbox has a part in it."""
    events.append(kind, events.Subject("task", task.id), actor=actor, gig_id=gig.id, data=data)


def hold_order(gig: Gig, task_id: str) -> Task:
    """An order in any state but deleted, held by this transaction."""
    found = db.lock(Task.select().where(Task.id == task_id, Task.gig_id == gig.id))
    if not found or found[0].status == "cancelled":
        raise not_found("draft")
    task: Task = found[0]
    return task


def locked(gig: Gig, task_id: str) -> Task:
    """The draft, held by this transaction; 409 `not_draft` names what has been published."""
    return _require_draft(db.lock(Task.select().where(Task.id == task_id, Task.gig_id == gig.id)))


def _require_draft(found: list[Task]) -> Task:
    if not found or found[0].status == "cancelled":
        raise not_found("draft")
    task = found[0]
    if task.status != "draft":
        raise Refused(
            "not_draft",
            "This is no draft: it has been published under the same id. Read the task.",
            message_id=task.id,
            status_now=task.status,
        )
    return task


def replace(gig: Gig, task_id: str, columns: dict[str, Any], actor: str) -> dict[str, Any]:
    """Save a draft again as it is sent now; only inside `db.write`."""
    task = locked(gig, task_id)
    return answer(save(gig, task, columns, actor), updated=True)


def save(gig: Gig, task: Task, columns: dict[str, Any], actor: str) -> Task:
    """Write what a locked draft says now; answers it as it is then."""
    Task.update(**columns, draft_saved_at=clock.now()).where(Task.id == task.id).execute()
    _tell("task.drafted", gig, task, actor, {"subject": columns.get("subject", task.subject)})
    saved: Task = Task.get(Task.id == task.id)
    upload_uses.of_task(gig, saved, (task.payload, task.private_details))
    return saved


def edit(caller: Caller, gig_id: str, task_id: str, changes: dict[str, Any]) -> Task:
    """Change the given members of the form, by the names of `Form`; the others stay (T-05)."""

    def write() -> Task:
        gig = gigs.get(gig_id)
        permit("draft.edit", caller, gig)
        _, before = read(caller, gig_id, task_id)
        forms.check(gig, _changed(before, changes))
        # The gig is locked before mailboxes, and they before tasks.
        gigs.share(gig.id)
        named = _named(gig, changes)
        task = locked(gig, task_id)
        form = _changed(task, changes)
        forms.check(gig, form)
        columns = {name: changes[name] for name in _SAME if name in changes} | named
        if "tags" in changes:
            columns["tags"] = list(
                gig.default_task_tags if changes["tags"] is None else changes["tags"]
            )
        columns["availability"] = forms.availability_of(form)
        if form.reserved_for is None:
            columns["reserved_for"] = None
        columns["mode_fields"] = own_of(gig, task, changes)
        if form.assign_to is not None or ("priority" in changes and form.priority is None):
            columns["priority"] = DEFAULT_PRIORITY
        elif form.priority is not None:
            columns["priority"] = form.priority
        return save(gig, task, columns, caller.account_id)

    return db.write(write)


def own_of(gig: Gig, task: Task, changes: dict[str, Any]) -> dict[str, Any] | None:
    """What is said in the mode's own fields once these changes are made."""
    said, own = dict(task.mode_fields or {}), changes.get("own", {})
    if "payload" in changes:
        said |= own_fields.of_payload(gig, changes["payload"], own)
    return own_fields.keep(gig, said | own, changes.get("subject", task.subject))


def _named(gig: Gig, changes: dict[str, Any]) -> dict[str, Any]:
    """Those whom the changes name, looked up and held; who was named before is left alone."""
    columns: dict[str, Any] = {}
    if "assign_to" in changes:
        given = changes["assign_to"]
        columns["assignee_id"] = None if given is None else forms.assignee(gig, given)
    if changes.get("reserved_for") is not None:
        mailbox_id = str(assignments.reservee(gig, changes["reserved_for"]).id)
        assignments.is_active(mailbox_id)
        columns["reserved_for"] = mailbox_id
    return columns


def _changed(task: Task, changes: dict[str, Any]) -> Form:
    """The form as it will be. It says a priority only where the changes do: the one that a task
    has by default is at odds with nothing."""
    before: dict[str, Any] = {
        "payload": task.payload,
        "content_type": task.content_type,
        "assign_to": task.assignee_id,
        "availability": None if task.availability == forms.OPEN else task.availability,
        "reserved_for": task.reserved_for,
        "not_before": task.not_before,
    }
    if "availability" in changes and changes["availability"] != forms.RESERVED:
        before["reserved_for"] = None
    return Form(**{**before, **changes})


def gig_of(caller: Caller, gig_id: str) -> Gig:
    """The gig, for its owner; for its members too where they order."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("draft.list", caller, gig)
        return gig


def listed(caller: Caller, gig: Gig, limit: int, after: pages.Position) -> list[Task]:
    """The gig's drafts, in the order in which they were made.

    Where members order these are the orders that are not sent: all of them for the vendor, and for
    a member his own.
    """
    with db.reading():
        query = Task.select().where(Task.gig_id == gig.id)
        if not takes_orders(gig):
            query = query.where(DRAFTS)
        elif caller.account_id == gig.owner_id:
            query = query.where(UNSENT_ORDERS)
        else:
            query = query.where(Task.client_id == caller.account_id, UNSENT_ORDERS)
        return pages.page(query, (Task.created_at, Task.id), limit, after)


def read(caller: Caller, gig_id: str, task_id: str) -> tuple[Gig, Task]:
    """One draft, for whoever may edit its form; refused as `locked` does."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("draft.edit", caller, gig)
        query = Task.select().where(Task.id == task_id, Task.gig_id == gig.id)
        return gig, _require_draft(list(query))
