"""Whose turn it is in a gig that pushes: decided by one transaction at a time (U-01)."""

from __future__ import annotations

from engine.db import db

_HOLD = "SELECT 1 FROM rotation WHERE gig_id = ? FOR UPDATE"
_TAKE = """
INSERT INTO rotation (gig_id, turns) VALUES (?, 1)
ON CONFLICT (gig_id) DO UPDATE SET turns = rotation.turns + 1 RETURNING turns
"""


def take(gig_id: str) -> int:
    """The next turn of the gig, which keeps all turns to this transaction; in `db.write`."""
    return int(db.scalar(_TAKE, (gig_id,)))


def hold(gig_id: str) -> None:
    """Keep the gig's turns to this transaction, before any mailbox is locked.

    Whatever takes a task from its worker may give it to another one. In a gig that has never pushed
    there is no row, and nobody waits.
    """
    if db.is_postgres:
        db.rows(_HOLD, (gig_id,))
