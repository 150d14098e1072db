"""Publishing a draft: from then on it is a task like any that was sent (T-05)."""

from __future__ import annotations

from typing import Any

from engine import arrivals, assignments, clock, drafts, forms, gigs, task_escrow
from engine.arrivals import Taken
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.task import Task
from engine.moves import move
from engine.operations import Caller, permit

_ARRIVE_POSTGRES = """
UPDATE task SET number = nextval(pg_get_serial_sequence('task', 'number')), created_at = ?
WHERE id = ? RETURNING number
"""
_ARRIVE_SQLITE = """
UPDATE task SET number = (SELECT max(number) + 1 FROM task), created_at = ?
WHERE id = ? RETURNING number
"""


def publish(caller: Caller, gig_id: str, task_id: str) -> Taken:
    """Send a draft as if it had come just now, under the id that it has.

    It is the owner's decision, so the token's limits do not count. Where nobody could be given it,
    or it cannot be funded, it stays a draft, and the refusal says `draft_kept`.
    """

    def write() -> Taken:
        gig = gigs.get(gig_id)
        permit("draft.publish", caller, gig)
        gig = gigs.held(gig.id)
        gigs.require_open(gig)
        held = arrivals.hold_assignee(task_id)
        task = drafts.locked(gig, task_id)
        _check(gig, task, held)
        sets: dict[str, Any] = {}
        if gig.task_escrow:
            sets["price_units"] = task_escrow.price_units(gig, task.price_units, task.price_tbd)
        move(task, "publish_unfunded" if gig.task_escrow else "publish", **sets)
        _arrive(task)
        if gig.task_escrow:
            return Taken(command=task_escrow.begin(gig, task))
        told = arrivals.hand_out(gig, task, actor=caller.account_id)
        if told["status"] == "dropped":
            raise Refused(
                str(told.get("reason", "dropped")),
                "Nobody in this gig could be given the task, so it stays a draft. Publish it again "
                "once somebody can.",
                draft_kept=True,
                message_id=task.id,
            )
        return arrivals.taken(told)

    return db.write(write)


def _check(gig: Gig, task: Task, held: str | None) -> None:
    """Is whom the draft names still there to be given it?"""
    if task.assignee_id != held:
        raise Refused(
            "draft_changed",
            "This draft was changed at the same moment. Read it, and publish it again.",
            draft_kept=True,
            message_id=task.id,
        )
    if held is not None:
        forms.assignee(gig, held)
    if task.reserved_for is not None:
        assignments.reservee(gig, task.reserved_for)


def _arrive(task: Task) -> None:
    """Its place in the order of arrival is from now on; nothing refers to a draft's number."""
    task.created_at = clock.now()
    arrive = _ARRIVE_POSTGRES if db.is_postgres else _ARRIVE_SQLITE
    ((task.number,),) = db.rows(arrive, (task.created_at, task.id))
