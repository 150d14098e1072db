"""What came into each mailbox's hands, and what was made of it (M-06)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine import clock
from engine.db import db
from engine.models.mailbox import Mailbox

# Each reads an index that begins with the mailbox.
_TAKEN = """
SELECT mailbox_id, count(*), sum(CASE WHEN excused THEN 1 ELSE 0 END) FROM take
WHERE mailbox_id IN ({marks}) GROUP BY mailbox_id
"""
# A draft is not handed in.
_PROVEN = """
SELECT mailbox_id, count(*) FROM proof
WHERE mailbox_id IN ({marks}) AND status <> 'draft' GROUP BY mailbox_id
"""
_IN_HAND = """
SELECT mailbox_id, count(*) FROM task
WHERE mailbox_id IN ({marks}) AND status = 'claimed' AND (expires_at IS NULL OR expires_at > ?)
GROUP BY mailbox_id
"""
# Done without a proof, in a gig that pays nothing.
_DONE = """
SELECT mailbox_id, count(*) FROM task
WHERE mailbox_id IN ({marks}) AND status = 'completed' GROUP BY mailbox_id
"""
DIGITS = 4


@dataclass(frozen=True)
class Received:
    """`tasks_received` counts every take; `response_rate` is 0…1, and None while nothing is due.

    Neither what the owner took back nor what is still in hand, in time, counts in the rate. What is
    done without a proof counts as one that was handed in.
    """

    tasks_received: int = 0
    proofs_submitted: int = 0
    response_rate: float | None = None


def of(mailboxes: Iterable[Mailbox]) -> dict[str, Received]:
    """By mailbox id, for a page of mailboxes; one query for each number."""
    ids = [mailbox.id for mailbox in mailboxes]
    if not ids:
        return {}
    marks = ", ".join("?" for _ in ids)
    with db.reading():
        taken = {row[0]: row[1:] for row in db.rows(_TAKEN.format(marks=marks), ids)}
        proven = dict(db.rows(_PROVEN.format(marks=marks), ids))
        done = dict(db.rows(_DONE.format(marks=marks), ids))
        in_hand = dict(db.rows(_IN_HAND.format(marks=marks), [*ids, clock.now()]))
    found = {}
    for mailbox_id in ids:
        received, excused = map(int, taken.get(mailbox_id, (0, 0)))
        proofs = int(proven.get(mailbox_id, 0))
        due = received - excused - int(in_hand.get(mailbox_id, 0))
        answered = proofs + int(done.get(mailbox_id, 0))
        found[mailbox_id] = Received(received, proofs, _rate(answered, due))
    return found


def _rate(answered: int, due: int) -> float | None:
    """Work from before takes were written down has a proof and no take, so it never exceeds 1."""
    return round(min(1.0, answered / due), DIGITS) if due > 0 else None
