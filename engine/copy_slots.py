"""How many copies of a template there may be: `max_claims_per_task` (S-01).

With a maximum a template counts its copies, and leaves the queue with the last of them. Whoever
takes a copy holds the gig's row, so that the maximum is the same until he has it; whoever gives one
back holds the template's, and asks for the maximum then. Without a maximum nobody counts.
"""

from __future__ import annotations

from engine import entries, tasks
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import Task

# What counts against the maximum: not what was discarded, nor what a rejection gave back.
_RECOUNT = """
UPDATE task SET copies = (
    SELECT count(*) FROM task AS copy
    WHERE copy.template_number = task.number AND copy.status <> 'discarded'
      AND NOT EXISTS (SELECT 1 FROM proof WHERE proof.task_id = copy.id AND proof.returned))
WHERE gig_id = ? AND status = 'queued'
"""
_TEMPLATES = "SELECT number FROM task WHERE gig_id = ? AND status = 'queued' ORDER BY number"
_HOLD_ENTRIES = """
SELECT entry.task_number FROM queue_entry AS entry JOIN task ON task.number = entry.task_number
WHERE task.gig_id = ? ORDER BY entry.task_number FOR UPDATE OF entry
"""
_TAKE_AWAY_USED_UP = """
DELETE FROM queue_entry WHERE task_number IN (
    SELECT number FROM task WHERE gig_id = ? AND status = 'queued' AND copies >= ?)
"""
_OUT_OF_QUEUE = """
SELECT number FROM task WHERE gig_id = ? AND status = 'queued'
  AND NOT EXISTS (SELECT 1 FROM queue_entry WHERE queue_entry.task_number = task.number)
ORDER BY number
"""


def is_used_up(gig: Gig, template: Task) -> bool:
    """Has the template given out as many copies as it may?"""
    most = gig.max_claims_per_task
    return most is not None and template.copies >= most


def give_slot_back(gig: Gig, copy: Task) -> None:
    """A copy no longer counts against its template's maximum; only inside `db.write`.

    The copy is locked and has left its holder. A template that was used up is in the queue again,
    unless it is closed; its worker gets no other copy.
    """
    assert copy.template_number is not None
    (template,) = tasks.hold(copy.template_number)
    # Only now: whoever changes the maximum locks the templates after it.
    most = db.scalar("SELECT max_claims_per_task FROM gig WHERE id = ?", (gig.id,))
    if most is None:
        return
    Task.update(copies=Task.copies - 1).where(Task.number == template.number).execute()
    if template.status == "queued" and template.copies - 1 < most <= template.copies:
        entries.put_again(gig, template)


def reopen(gig: Gig) -> None:
    """After a change of `max_claims_per_task`; inside its transaction, after the gig was written.

    Without a maximum nobody counts, so the copies are counted anew. What has room is in the queue
    again, as something new, so that each worker's cursor finds it; what has none leaves it. Copies
    that were handed out stay.
    """
    if db.is_postgres:
        db.rows(_HOLD_ENTRIES, (gig.id,))
        db.rows(_TEMPLATES + " FOR UPDATE", (gig.id,))
    db.rows(_RECOUNT, (gig.id,))
    most = gig.max_claims_per_task
    if most is not None:
        db.rows(_TAKE_AWAY_USED_UP, (gig.id, most))
    for (number,) in db.rows(_OUT_OF_QUEUE, (gig.id,)):
        template = Task.get(Task.number == number)
        if not is_used_up(gig, template):
            entries.enqueue(gig, template)
