"""A worker reports a task that nobody should be asked to do (A-02)."""

from __future__ import annotations

from collections.abc import Sequence

from engine import cancellation, declining, events, holding, in_hand, mailboxes, tasks
from engine.db import db
from engine.errors import Refused
from engine.models.task import Task
from engine.operations import Caller, permit

MAX_CHARACTERS = 2000

_COUNT = """
SELECT task_number, count(*) FROM exclusion
WHERE reason = 'violation' AND task_number IN ({marks}) GROUP BY task_number
"""


def report(
    caller: Caller, gig_id: str, task_id: str, violation: str, mailbox_id: str | None = None
) -> bool:
    """Tell the owner what is wrong with a task, and pass on it as by a decline.

    Counts once for each mailbox, whatever it says again. Answers and refuses like `declining`.
    """

    def write() -> bool:
        gig = cancellation.hold(gig_id)
        permit("queue.violation", caller, gig)
        mailbox = in_hand.mailbox_of(caller, gig, task_id, mailbox_id)
        mailboxes.hold(mailbox)
        task = tasks.locked(gig, task_id)
        declining.pass_on(gig, mailbox, task)
        reason = in_hand.reason_of(mailbox, task)
        if reason == holding.PROVEN:
            raise Refused("already_proven", "You have handed in a proof of this task already.")
        if reason != holding.VIOLATION:
            holding.exclude(mailbox.id, task, holding.VIOLATION)
            events.append(
                "task.violation",
                events.Subject("task", task.id),
                actor=caller.account_id,
                gig_id=gig.id,
                mailbox_id=mailbox.id,
                data={"mailbox_id": mailbox.id, "violation": violation},
            )
        return bool(task.status == "unassigned")

    return db.write(write)


def counts(found: Sequence[Task]) -> dict[int, int]:
    """By how many mailboxes each of these tasks is reported, by its number; for its owner."""
    if not found:
        return {}
    marks = ", ".join("?" for _ in found)
    counted = db.rows(_COUNT.format(marks=marks), [task.number for task in found])
    return {number: int(count) for number, count in counted}
