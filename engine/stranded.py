"""Telling a gig's owner of a task that came back and that nobody is left for (U-04).

It waits for whoever joins, or changes his filters, and may be given by `assign` to one who had it.
"""

from __future__ import annotations

from engine import events
from engine.models.gig import Gig
from engine.models.task import Task

STRANDED = "task.stranded"
ACTOR = "engine"


def tell(gig: Gig, task: Task) -> None:
    """Every active worker whose filters it passes has lost it; once for each time it comes back.

    Only inside `db.write`.
    """
    events.append(
        STRANDED,
        events.Subject("task", task.id),
        actor=ACTOR,
        gig_id=gig.id,
        data={"message_id": task.id},
    )
