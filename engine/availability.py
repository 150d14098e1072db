"""Who a waiting task is for: everybody, one worker, whoever opens its link, or nobody (T-06)."""

from __future__ import annotations

from engine import assignments, entries, events, gigs, holding, mailboxes, pages, tasks
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.task import KEPT_BACK, Task
from engine.operations import OWNER, Caller, permit
from engine.shelf import Seen

KINDS = ("open", "reserved", "view_only")


def change(
    caller: Caller, gig_id: str, task_id: str, availability: str, reserved_for: str | None
) -> Task:
    """Say who a waiting task is for. It keeps its place, which it has again once it is open.

    `reserved_for` is a mailbox id or an account's email; with `reserved` and without it nobody is
    offered the task, and the first member to open its link may take it. A worker who is named may
    take it though he declined or lost it before, as if it were assigned to him.
    """

    def write() -> Task:
        gig = gigs.held(gig_id)
        permit("task.availability", caller, gig)
        task = tasks.locked(gig, task_id)
        _require_waiting(task)
        mailbox_id = None
        if reserved_for is not None:
            mailbox_id = assignments.reservee(gig, reserved_for).id
        before = (task.availability, task.reserved_for)
        if before != (availability, mailbox_id):
            _set(gig, task, availability, mailbox_id)
            _tell(caller, task, before)
        return task

    return db.write(write)


def _require_waiting(task: Task) -> None:
    if task.status in ("cancelled", "discarded"):
        raise not_found("task")
    if task.status == "claimed":
        raise Refused("claimed", "A worker holds this task. Take it from him with /recycle first.")
    if task.status in ("submitted", "approved", "rejected"):
        raise Refused("already_proven", "A proof of this task was handed in, so it stays as it is.")
    if task.status == "unassigned":
        raise Refused(
            "not_in_queue", "This task came back to you. Give it to somebody with /assign."
        )
    if task.status != "queued":
        raise Refused("not_in_queue", f"This task is {task.status}, so it does not wait.")


def _set(gig: Gig, task: Task, availability: str, mailbox_id: str | None) -> None:
    Task.update(availability=availability, reserved_for=mailbox_id).where(
        Task.number == task.number
    ).execute()
    task.availability, task.reserved_for = availability, mailbox_id
    entries.withdraw(task)
    if mailbox_id is not None:
        holding.forgive(mailbox_id, task)
    # A template whose copies are all given out stays out of the queue (S-01).
    most = gig.max_claims_per_task
    if most is None or task.copies < most:
        entries.enqueue(gig, task)


def _tell(caller: Caller, task: Task, before: tuple[str, str | None]) -> None:
    """Told to whom it is reserved for now as well."""
    events.append(
        "task.changed",
        events.Subject("task", task.id),
        actor=caller.account_id,
        gig_id=task.gig_id,
        mailbox_id=task.reserved_for,
        data={"fields": ["availability"], "from": before[0], "to": task.availability},
    )


def kept_back(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Seen]:
    """What the shared queue does not offer, oldest first: all of it for the owner, and for a
    worker what is reserved for him."""
    with db.reading():
        gig = gigs.get(gig_id)
        owner = OWNER in permit("queue.reserved", caller, gig)
        own = frozenset(mailboxes.ids_of(caller, gig))
        query = Task.select().where(Task.gig_id == gig.id, KEPT_BACK)
        if not owner:
            query = query.where(
                Task.status == "queued",
                Task.availability == "reserved",
                Task.reserved_for.in_(list(own)),
            )
        found = pages.page(query, (Task.created_at, Task.id), limit, after)
        return [Seen(gig, task, owner, own) for task in found]
