"""Giving out what waits in gigs that push, once somebody may be free (U-04).

Rung by `engine/freeing.py` after whatever may have freed a worker, and by the sweep, which also
finds those whose window of the rate limit has moved on, and bells that were lost.
"""

from __future__ import annotations

import structlog

from engine import fan_out_steps, gigs, giving_out, spending, turns
from engine.apply import placed
from engine.db import db
from engine.giving_out import Reached

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
    reached = _go_on(gig_id, None)
    done = reached.given
    while reached.position is not None:
        reached = _go_on(gig_id, reached)
        done += reached.given
    return done


def _go_on(gig_id: str, before: Reached | None) -> Reached:
    return db.write(lambda: _some(gig_id, before))


def _some(gig_id: str, before: Reached | None) -> Reached:
    gig = gigs.held(gig_id)
    if gig.status != "active":
        return Reached()
    # As whoever sends a task: what the day may cost first, then the turns.
    spending.hold(gig)
    turns.hold(gig.id)
    return giving_out.give_out(gig, placed, before)


def sweep() -> int:
    """The same for every gig in which something waits; rung by the scheduler.

    What a command was to copy to many, and could not, waits again before.
    """
    _take_over_failed()
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


def _take_over_failed() -> None:
    with db.reading():
        left_over = turns.left_over()
    for command_id in left_over:
        try:
            fan_out_steps.give_up(command_id)
        except Exception:
            log.exception("waiting.not_taken_over", command_id=command_id)
