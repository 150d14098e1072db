"""Many tasks in one call, by the gig's owner (T-07).

Rows are taken in chunks, each in a transaction of its own, so that a large import keeps nobody
waiting and each worker looks through a little of it at a time. A row that is refused takes back
only itself. Whatever stopped the call half-way, sending it again makes nothing twice for rows that
have an external id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from engine import assignments, gigs, install, spending, submissions
from engine.arrivals import Taken
from engine.db import db
from engine.errors import Refused
from engine.forms import Form
from engine.models.gig import Gig
from engine.operations import Caller, permit
from engine.rules import money

MAX_ROWS = 10_000
# Rows that one transaction takes in.
CHUNK = 100


@dataclass(frozen=True)
class Row:
    """One row of the file by its line: the task that it is, or why it is none."""

    line: int
    form: Form | None = None
    draft_id: str | None = None
    refusal: Refused | None = None


@dataclass(frozen=True)
class Done:
    """What became of a row: the webhook's answer, or the refusal. What it costs, fee included or
    not, is in base units, and 0 of what costs nothing yet."""

    line: int
    answer: dict[str, Any] | None = None
    refusal: Refused | None = None
    price_units: int = 0
    copies: int = 1

    def fee_units(self, fee_bps: int) -> int:
        return self.copies * money.fee_on_top(self.price_units, fee_bps)


class _DryRun(Exception):
    """Takes back what a transaction wrote, and carries what it would have answered."""

    def __init__(self, done: list[Done]) -> None:
        super().__init__()
        self.done = done


def gig_of(caller: Caller, gig_id: str) -> Gig:
    """The gig, for whoever may fill it."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("task.bulk", caller, gig)
        return gig


def take_in(caller: Caller, gig_id: str, rows: Sequence[Row], *, dry_run: bool) -> Iterator[Done]:
    """Take in the rows, in their order; a dry run checks them and writes nothing.

    The token's limits do not count: it is the owner who sends (G-04).
    """
    for first in range(0, len(rows), CHUNK):
        some = rows[first : first + CHUNK]
        yield from _chunk(caller, gig_id, some, dry_run)


def _chunk(caller: Caller, gig_id: str, rows: Sequence[Row], dry_run: bool) -> list[Done]:
    def write() -> list[Done]:
        gig = _hold(caller, gig_id, rows)
        done = [_take(caller, gig, row) for row in rows]
        if dry_run:
            raise _DryRun(done)
        return done

    try:
        return db.write(write)
    except _DryRun as checked:
        return checked.done


def _hold(caller: Caller, gig_id: str, rows: Sequence[Row]) -> Gig:
    """Lock the gig, then whom the rows name, so that of two imports none waits for the other's
    rows while that one waits for its own."""
    gig = gigs.held(gig_id, alone=True)
    permit("task.bulk", caller, gig)
    found = set()
    for name in {row.form.assign_to for row in rows if row.form and row.form.assign_to}:
        try:
            found.add(str(assignments.find(gig, name).id))
        except Refused:
            # Its rows will be refused by name.
            continue
    if found:
        assignments.hold_active(*found)
    return gig


def _take(caller: Caller, gig: Gig, row: Row) -> Done:
    form = row.form
    if form is None:
        return Done(row.line, refusal=row.refusal)
    actor = caller.account_id
    try:
        taken = db.write(
            lambda: submissions.take_in(gig, form, row.draft_id, actor=actor, by_owner=True)
        )
    except Refused as refusal:
        return Done(row.line, refusal=refusal)
    if form.draft:
        return Done(row.line, _answer(taken))
    return Done(
        row.line,
        _answer(taken),
        price_units=spending.price_of(gig, form.price_units, form.price_tbd),
        copies=spending.copies_of(gig, form.assign_to is not None),
    )


def _answer(taken: Taken) -> dict[str, Any]:
    """What is told at once, also of a task that is still to be funded."""
    if taken.answer is not None:
        return taken.answer
    assert taken.command is not None
    return {
        "status": "unfunded",
        "message_id": taken.command.arguments["task_id"],
        "command_id": taken.command.id,
    }


def fee_bps() -> int | None:
    """The platform's rate now; None in an install without a chain."""
    treasury = install.current().treasury
    return None if treasury is None else treasury.fee_bps()
