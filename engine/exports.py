"""A gig's tasks, proofs and payouts, whole, for its owner (T-07).

Read page by page behind the last row, so no transaction stays open for as long as a caller takes,
and what is added meanwhile neither moves nor repeats a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine import gigs, pages
from engine.db import db
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from engine.operations import Caller, permit

TASKS, PROOFS, PAYOUTS = "tasks", "proofs", "payouts"
WHAT = (TASKS, PROOFS, PAYOUTS)
# Rows of one page; fewer where a row may be large.
PAGE = {TASKS: 25, PROOFS: 200, PAYOUTS: 200}


def gig_of(caller: Caller, gig_id: str) -> Gig:
    """The gig, for whoever may read all of it."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("gig.export", caller, gig)
        return gig


def read(gig: Gig, what: str) -> Iterator[list[dict[str, Any]]]:
    """Pages of rows in the order in which they came, each as its columns; at least one page."""
    after: pages.Position = None
    while True:
        with db.reading():
            found, after = _page(gig, what, after)
        yield found
        if after is None:
            return


def _page(
    gig: Gig, what: str, after: pages.Position
) -> tuple[list[dict[str, Any]], pages.Position]:
    limit = PAGE[what]
    query: Any
    if what == TASKS:
        order: tuple[Any, ...] = (Task.created_at, Task.id)
        query = Task.select().where(Task.gig_id == gig.id)
    elif what == PROOFS:
        order = (Proof.submitted_at, Proof.id)
        # What is not handed in yet is its worker's alone.
        query = Proof.select().where(Proof.gig_id == gig.id, Proof.status != "draft")
    else:
        order = (Rollup.created_at, Rollup.id)
        query = Rollup.select().where(Rollup.gig_id == gig.id)
    found = pages.page(query, order, limit, after)
    values = [dict(row.__data__) for row in found]
    if what == PROOFS:
        _as_shown(values)
    elif what == PAYOUTS:
        _add_proofs(values)
    if len(found) < limit:
        return values, None
    return values, tuple(getattr(found[-1], column.name) for column in order)


def _as_shown(proofs: list[dict[str, Any]]) -> None:
    """Work by its worker's name for it, if he named it (U-03); notes once they are paid (R-06)."""
    for proof in proofs:
        if proof["task_identifier"] is None:
            proof["task_identifier"] = proof["task_id"]
        locked = bool(proof["private_note"]) and proof["paid_out_at"] is None
        proof["private_note_locked"] = locked
        if locked:
            proof["private_note"] = None


def _add_proofs(rollups: list[dict[str, Any]]) -> None:
    carried = Proof.select(Proof.id, Proof.rollup_id).where(
        Proof.rollup_id.in_([rollup["id"] for rollup in rollups])
    )
    of_rollup: dict[str, list[str]] = {}
    for proof in carried.order_by(Proof.id):
        of_rollup.setdefault(str(proof.rollup_id), []).append(proof.id)
    for rollup in rollups:
        rollup["proof_ids"] = of_rollup.get(rollup["id"], [])
        rollup["net_units"] = rollup["gross_units"]
        # Of an order the fee is in the gross, else it comes on top (Y-02).
        rollup["gross_units"] += 0 if rollup["client_id"] is None else rollup["fee_units"]
