"""Bells for what waits in a gig that pushes: somebody may be free now (U-04).

A bell is rung after the commit of what may have freed a worker, and of what began to wait: see
`engine/pushing.py` for why both. Losing one costs time, never work: the sweep looks as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from engine import wake
from engine.db import db

BELL = "waiting"

# After these a worker may be free who was not, or a task may suit whom it did not suit before.
EVENTS = frozenset(
    {
        "proof.submitted",
        "proof.refused",
        "task.expired",
        "task.released",
        "task.recycled",
        "task.declined",
        "task.turned_down",
        "task.violation",
        "task.assigned",
        "task.completed",
        "task.acted",
        "task.rang",
        "task.due",
        "task.changed",
        "mailbox.joined",
        "mailbox.changed",
        "mailbox.left",
        "gig.changed",
    }
)

# A gig has a row of turns from its first push. Both by primary keys.
_WAITS = """
SELECT 1 FROM rotation WHERE gig_id = ? AND EXISTS (
    SELECT 1 FROM queue_entry WHERE shelf = rotation.gig_id
    ORDER BY sort_key, task_number LIMIT 1)
"""

log = structlog.get_logger()


def after_event(kind: str, gig_id: str) -> None:
    """Look, after this transaction, whether what it tells of has freed somebody."""
    if kind in EVENTS:
        look_again(gig_id)


@dataclass(frozen=True)
class _Look:
    """Once for each gig in a transaction, however much of it happens there."""

    gig_id: str

    def __call__(self) -> None:
        try:
            if waits(self.gig_id):
                wake.ring(BELL, self.gig_id)
        except Exception as error:
            # What was committed stands; the sweep looks as well.
            log.warning("waiting.not_rung", gig_id=self.gig_id, error=str(error))


def look_again(gig_id: str) -> None:
    """Ring for the gig after this transaction, if anything waits in it then; in `db.write`."""
    look = _Look(gig_id)
    if db.transaction is not None and look not in db.transaction.after_commit:
        db.after_commit(look)


def waits(gig_id: str) -> bool:
    """Does anything wait in the gig for a worker to be pushed to?"""
    return bool(db.rows(_WAITS, (gig_id,)))
