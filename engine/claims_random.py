"""Drawing from a queue in random order: every task that suits is as likely as any other (Q-01).

Each entry has a `draw`, a random number of 62 bits that it keeps while it waits. The space of these
numbers is divided into buckets of one width, such that a few entries lie in each. To draw one:
choose a bucket at random; m entries in it suit; go on with probability m ÷ `MOST` and choose one of
them at random, and else begin again. Of B buckets an entry is so chosen with the probability
1/B · m/MOST · 1/m = 1/(B · MOST), which is the same for all, however the draws happen to lie, where
tasks have been taken before, and whichever width was chosen. An entry that is drawn twice counts
once, so the next one is drawn from the others alike.

The width follows from how densely the entries lie behind a random point. So that m stays within
`MOST`, a bucket holds `LOAD` entries on average: with the estimate off by a half there are more
than 32 in one of 10¹³ buckets, and then, as when a shelf is small or few entries suit, nothing is
drawn and the whole shelf is shuffled instead, which is uniform by itself.
"""

from __future__ import annotations

import random

from engine.claim_requests import ClaimRequest
from engine.db import db
from engine.entries import DRAW_BITS

SPACE = 2**DRAW_BITS
LOAD = 4
MOST = 32
# Entries whose distance tells how densely they lie; a smaller shelf is shuffled.
PROBE = 128
# Buckets that one statement looks into, and statements before the shelf is shuffled.
BUCKETS = 48
ROUNDS = 10

_dice: random.Random = random.SystemRandom()

# By the index (shelf, draw).
_BEHIND = "SELECT draw FROM queue_entry WHERE shelf = ? AND draw >= ? ORDER BY draw LIMIT ?"
_SUITS = """entry.shelf = ? AND entry.draw >= bucket.low AND entry.draw < bucket.high {condition}
    AND NOT EXISTS (
        SELECT 1 FROM exclusion
        WHERE exclusion.mailbox_id = ? AND exclusion.task_number = entry.task_number
        LIMIT 1 OFFSET 0)"""
_WITHIN_POSTGRES = f"""
SELECT bucket.low, entry.task_number FROM unnest(?::bigint[], ?::bigint[]) AS bucket (low, high)
CROSS JOIN LATERAL (
    SELECT entry.task_number FROM queue_entry AS entry WHERE {_SUITS}
    ORDER BY entry.draw LIMIT {MOST + 1}) AS entry
"""
_WITHIN_SQLITE = f"""
WITH bucket (low, high) AS (VALUES {", ".join(["(?, ?)"] * BUCKETS)})
SELECT bucket.low, entry.task_number FROM bucket CROSS JOIN queue_entry AS entry ON {_SUITS}
"""


def draw(request: ClaimRequest) -> tuple[int, ...] | None:
    """The numbers of `request.count` tasks, each drawn from all that suit.

    None when the shelf is to be shuffled instead: it is small, or too few were found.
    """
    buckets = _how_many_buckets(request.gig.id)
    if buckets is None:
        return None
    drawn: dict[int, None] = {}
    for _ in range(ROUNDS):
        chosen = [_dice.randrange(buckets) for _ in range(BUCKETS)]
        within = _within(request, buckets, chosen)
        for bucket in chosen:
            suiting = within.get(_low(bucket, buckets), [])
            if len(suiting) > MOST:
                return None
            if _dice.randrange(MOST) < len(suiting):
                drawn.setdefault(_dice.choice(suiting))
            if len(drawn) == request.count:
                return tuple(drawn)
    return None


def _how_many_buckets(gig_id: str) -> int | None:
    """So many that some `LOAD` entries lie in each; None for a shelf that is small."""
    point = _dice.randrange(SPACE)
    found = db.rows(_BEHIND, (gig_id, point, PROBE))
    if len(found) == PROBE:
        distance = found[-1][0] - point
    else:
        # The space is a circle.
        around = db.rows(_BEHIND, (gig_id, 0, PROBE - len(found)))
        if len(found) + len(around) < PROBE or around[-1][0] >= point:
            return None
        distance = around[-1][0] - point + SPACE
    return int(max(1, SPACE * PROBE // (max(1, distance) * LOAD)))


def _low(bucket: int, buckets: int) -> int:
    return int(bucket * SPACE // buckets)


def _within(request: ClaimRequest, buckets: int, chosen: list[int]) -> dict[int, list[int]]:
    """The tasks that suit in each chosen bucket, by where it begins."""
    borders = [(_low(one, buckets), _low(one + 1, buckets)) for one in chosen]
    condition, params = request.wanted.condition(request.gig)
    about = (request.gig.id, *params, request.mailbox.id)
    lows, highs = [low for low, _ in borders], [high for _, high in borders]
    if db.is_postgres:
        sql, given = _WITHIN_POSTGRES, (lows, highs, *about)
    else:
        sql, given = _WITHIN_SQLITE, (*(one for border in borders for one in border), *about)
    sql = sql.replace("{condition}", condition and f"AND {condition}")
    within: dict[int, set[int]] = {}
    for low, number in db.rows(sql, given):
        # A bucket that was chosen twice is found twice.
        within.setdefault(low, set()).add(number)
    return {low: sorted(numbers) for low, numbers in within.items()}
