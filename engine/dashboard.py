"""The owner's view of a whole gig (G-07)."""

from __future__ import annotations

from typing import Any

from engine import endpoints, gigs, pages
from engine.db import db
from engine.models.delivery import Endpoint
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import DRAFT, Proof
from engine.models.rollup import Rollup
from engine.models.task import KEPT_BACK, QueueEntry, Task
from engine.operations import Caller, permit
from engine.states import TABLES

# The lists, and what each is ordered by: the columns of an index that begins with the gig.
LISTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "mailboxes": (Mailbox, (Mailbox.joined_at, Mailbox.id)),
    "proofs": (Proof, (Proof.submitted_at, Proof.id)),
    "rollups": (Rollup, (Rollup.created_at, Rollup.id)),
    "tasks": (Task, (Task.created_at, Task.id)),
}

_BY_STATUS = 'SELECT status, count(*) FROM "{table}" WHERE gig_id = ? GROUP BY status'


def gig_of(caller: Caller, gig_id: str) -> Gig:
    """The gig, for its owner."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("gig.dashboard", caller, gig)
        return gig


def listed(gig: Gig, name: str, limit: int, before: pages.Position) -> list[Any]:
    """A page of one of `LISTS`, newest first."""
    table, columns = LISTS[name]
    with db.reading():
        query = table.select().where(table.gig_id == gig.id)
        if table is Proof:
            query = query.where(~DRAFT)
        return pages.page(query, columns, limit, before, newest_first=True)


def counts(gig: Gig) -> dict[str, Any]:
    """How many of each in each state, with 0 where there are none."""
    with db.reading():
        by_status = {
            name: _by_status(table._meta.table_name, gig.id) for name, (table, _) in LISTS.items()
        }
        # Its worker's alone, so that not even how many there are is told.
        del by_status["proofs"]["draft"]
        waiting = QueueEntry.select().where(QueueEntry.shelf == gig.id)
        kept_back = Task.select().where(Task.gig_id == gig.id, KEPT_BACK)
        return {
            **by_status,
            "queued": waiting.count(),
            "reserved": kept_back.count(),
            "drafts": by_status["tasks"]["draft"],
        }


def _by_status(table: str, gig_id: str) -> dict[str, int]:
    moves = TABLES[table]
    known = {state for state, _ in moves} | set(moves.values())
    found = dict(db.rows(_BY_STATUS.format(table=table), (gig_id,)))
    return {state: int(found.get(state, 0)) for state in sorted(known | found.keys())}


def disabled_endpoints(gig: Gig) -> list[Endpoint]:
    """The gig's own webhooks to which nothing is sent any more, but for those it took away (W-06).

    Not its workers': where those are is their business (M-02).
    """
    with db.reading():
        query = Endpoint.select().where(
            Endpoint.owner_id == gig.id,
            Endpoint.kind.in_(sorted(endpoints.GIG_KINDS)),
            Endpoint.status == "disabled",
            Endpoint.reason != endpoints.REMOVED,
        )
        return list(query.order_by(Endpoint.kind))
