"""Giving out what waits in gigs that push, once somebody may be free (U-04).

Rung by `engine/freeing.py` after whatever may have freed a worker, and by the sweep, which also
finds those whose window of the rate limit has moved on, and bells that were lost.
"""

from __future__ import annotations

import structlog

from engine import gigs, giving_out, turns
from engine.apply import placed
from engine.db import db

# Gigs in which something waits. Each look is at the first row of a shelf.
_WAITING = """
SELECT rotation.gig_id FROM rotation JOIN gig ON gig.id = rotation.gig_id
WHERE gig.status IN ('active') AND EXISTS (
    SELECT 1 FROM queue_entry WHERE shelf = rotation.gig_id
    ORDER BY sort_key, task_number LIMIT 1)
ORDER BY rotation.gig_id
"""

log = structlog.get_logger()


def deliver(gig_id: str) -> int:
    """Give out what waits in a gig to those who are free; answers how many tasks found somebody.

    Safe from many processes at once: one of them has the gig's turns.
    """
    done = 0
    while given := db.write(lambda: _some(gig_id)):
        done += given
    return done


def _some(gig_id: str) -> int:
    gig = gigs.held(gig_id)
    if gig.status != "active":
        return 0
    turns.hold(gig.id)
    return giving_out.give_out(gig, giving_out.CHUNK, placed)


def sweep() -> int:
    """The same for every gig in which something waits; rung by the scheduler."""
    with db.reading():
        found = [row[0] for row in db.rows(_WAITING)]
    done = 0
    for gig_id in found:
        try:
            done += deliver(gig_id)
        except Exception:
            # One gig that cannot be served must not keep the others.
            log.exception("waiting.not_delivered", gig_id=gig_id)
    return done
