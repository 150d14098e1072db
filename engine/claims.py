"""Handing out work: whoever deletes a waiting task's row of `queue_entry` has the task (Q-05).

On PostgreSQL choosing, taking and marking are one statement (`claims_postgres.py`); on SQLite they
are plain statements within its one writer (`claims_sqlite.py`). The mailbox is held before either,
so that its limits and its cursor are read as the last taking for it has left them.

A worker's cursor. Nobody walks past the tasks that he has declined again and again: `cursor_key`
and `cursor_as_of` of his mailbox say that of all entries put on the gig's shelf before the position
`cursor_as_of`, none at or before `cursor_key` is for him. So he looks at what came in behind that
key since, and then goes on ahead of it. What makes this hold:

* An entry's `enqueued` is the position of the transaction that put it there, and a cursor's
  `as_of` is the settled position of the snapshot that was looked at: whatever commits later, or
  out of order, is at or after it.
* An entry that comes back, moves or changes is put there anew.
* `cursor_key` moves only together with `cursor_as_of`, and only when nothing that is for him lay
  behind it; it stops before the first entry that is for him, be it taken by him or by another,
  whose transaction may still fail.
* Who deletes an exclusion puts the task's entry there anew.

Filtered polls and gigs in random order use no cursor.

Nobody waits for a task that another is just taking; a poll passes it over. If a poll would answer
with nothing for that reason alone, it waits for the other's end, one task at a time, and takes what
that one leaves.
"""

from __future__ import annotations

from dataclasses import replace

import peewee

from engine import claims_postgres, claims_random, claims_sqlite, entries, holding, topics
from engine.claim_requests import (
    CLASSES,
    DRAWN,
    EVERYTHING,
    SHUFFLED,
    ClaimRequest,
    Taking,
)
from engine.db import db
from engine.facets import Wanted
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.moves import take as make_move
from engine.plans import Selection

# Drawn tasks that others were quicker with, before all are looked at.
DRAWS = 3
# Others whose end is waited for, before the poll is told to ask again instead.
WAITS = 50
# By the primary key, which is what the order is for.
_FIRST = "SELECT 1 FROM queue_entry WHERE shelf = ? ORDER BY sort_key, task_number LIMIT 1"


def is_empty(gig_id: str) -> bool:
    """Does nothing wait on this gig's shelf, for anybody?"""
    return not db.rows(_FIRST, (gig_id,))


def take(
    gig: Gig, mailbox: Mailbox, selection: Selection, count: int, wanted: Wanted = EVERYTHING
) -> Taking:
    """Hand up to `count` tasks to a mailbox that is held and freshly read; only in `db.write`.

    What is reserved for it comes first, outside order and filter (Q-03), then the gig's shelf in
    its order (Q-01). Trimmed to what the mailbox may take; 429 when that is nothing (M-05), and
    409 `gig_closed` when the gig hands out nothing any more.
    """
    request = ClaimRequest(gig, mailbox, count, wanted=wanted)
    if selection.order == "random":
        return _take_drawn(request)
    return _take(replace(request, source=CLASSES) if wanted.filters else request)


def _take(request: ClaimRequest) -> Taking:
    run = claims_postgres.take if db.is_postgres else claims_sqlite.take
    taking = run(request)
    for _ in range(WAITS):
        if not taking.passed_over:
            return taking
        # One at a time: who waits for an entry must hold no other.
        taking = run(replace(request, count=1, waits=True))
    if taking.passed_over:
        # Those who wait on the queue look once more.
        topics.tell(topics.queue(request.gig.id))
    return taking


def _take_drawn(request: ClaimRequest) -> Taking:
    run = claims_postgres.take if db.is_postgres else claims_sqlite.take
    for _ in range(DRAWS):
        drawn = claims_random.draw(request)
        if drawn is None:
            break
        taking = run(replace(request, source=DRAWN, drawn=drawn))
        if taking.tasks:
            return taking
    return _take(replace(request, source=SHUFFLED))


def take_one(gig: Gig, mailbox: Mailbox, task: Task) -> Task | None:
    """Take one named task that waits, on a shelf or for nobody in particular.

    None when it waits no more, or the gig is not open. The mailbox is held; limits are the
    caller's to ask (`allowances.require`).
    """
    entries.hold(task.number)
    open_gig = Gig.select(Gig.id).where(Gig.id == gig.id, Gig.status == "active")
    holds = {"mailbox_id": mailbox.id, **holding.terms(gig, task)}
    if not make_move(Task, task.id, "claim", peewee.fn.EXISTS(open_gig), **holds):
        return None
    entries.withdraw(task)
    holding.remember(mailbox, task, holding.CLAIM)
    return Task.get(Task.number == task.number)
