"""Whose turn it is in a gig that pushes: decided by one transaction at a time (U-01).

The gig's row of turns also names the command that gives many workers a copy each. While there is
one, whatever comes after it waits, so that of two none overtakes the other half-way.
"""

from __future__ import annotations

from engine.db import db

_HOLD = "SELECT 1 FROM rotation WHERE gig_id = ? FOR UPDATE"
_TAKE = """
INSERT INTO rotation (gig_id, turns) VALUES (?, 1)
ON CONFLICT (gig_id) DO UPDATE SET turns = rotation.turns + 1 RETURNING turns
"""
_KEEP = "UPDATE rotation SET command_id = ? WHERE gig_id = ?"
_KEPT = "SELECT 1 FROM rotation WHERE gig_id = ? AND command_id IS NOT NULL"
_END = "UPDATE rotation SET command_id = NULL WHERE gig_id = ? AND command_id = ? RETURNING 1"
_LEFT = """
SELECT command.id FROM rotation JOIN command ON command.id = rotation.command_id
WHERE command.status IN ('done', 'failed') ORDER BY command.id
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


def keep_for(gig_id: str, command_id: str) -> None:
    """All turns are this command's until its `end`; the gig's turns are held."""
    db.rows(_KEEP, (command_id, gig_id))


def are_kept(gig_id: str) -> bool:
    """Is a command at it, so that others wait? The gig's turns are held."""
    return bool(db.rows(_KEPT, (gig_id,)))


def end(gig_id: str, command_id: str) -> bool:
    """The command is over, and holds the gig's turns to this transaction; only in `db.write`.

    False where it had been ended before.
    """
    hold(gig_id)
    return bool(db.rows(_END, (gig_id, command_id)))


def left_over() -> list[str]:
    """Commands that are over and have kept the turns: they failed for good."""
    return [row[0] for row in db.rows(_LEFT)]
