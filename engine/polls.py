"""Taking whatever is next (Q-01 … Q-06)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from engine import (
    allowances,
    briefs,
    claims,
    claims_postgres,
    clock,
    copies,
    events,
    gigs,
    mailboxes,
    rows,
)
from engine.allowances import Allowance
from engine.claim_requests import EVERYTHING, Taking
from engine.db import db
from engine.errors import not_found
from engine.facets import Wanted
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import ask
from engine.operations import Caller, permit
from engine.plans import Selection


@dataclass(frozen=True)
class Polled:
    """The tasks that a poll claimed, and how the mailbox's limits stand after it."""

    gig: Gig
    mailbox: Mailbox
    tasks: list[Task]
    allowance: Allowance


def _take_for_granted() -> None:
    pass


def poll(
    caller: Caller,
    gig_id: str,
    count: int,
    mailbox_id: str | None = None,
    wanted: Wanted = EVERYTHING,
    still_there: Callable[[], None] = _take_for_granted,
) -> Polled:
    """Claim up to `count` tasks, in the gig's order and each for this mailbox alone (Q-05).

    Own reservations first, whatever is wanted (Q-03, Q-04). 429 when the mailbox may not take even
    one (M-05). `still_there` is called last before the commit and raises if the caller has hung up
    (Q-06). When nothing waits that he has not seen, nothing is locked or written.
    """
    with db.reading():
        gig, mailbox, waits = _place(caller, gig_id, mailbox_id)
        gigs.require_open(gig)
        selection = ask(gig.distribution).select(gigs.facts(gig))
        if selection.shelf == "none" or not waits.for_him(selection, wanted):
            return Polled(gig, mailbox, [], allowances.require(gig, mailbox))

    def write() -> Polled:
        if selection.how == "copy":
            # A copy needs the gig as it is; of both, the gig comes first.
            gigs.held(gig.id)
        held = _hold(mailbox)
        taking = _take(gig, held, selection, count, wanted)
        tell_claimed(held, *taking.tasks)
        still_there()
        return Polled(gig, held, taking.tasks, taking.allowance)

    return db.write(write)


def _take(gig: Gig, mailbox: Mailbox, selection: Selection, count: int, wanted: Wanted) -> Taking:
    if selection.how == "take":
        return claims.take(gig, mailbox, selection, count, wanted)
    allowance = allowances.require(gig, mailbox)
    most = allowance.most(count)
    taken = copies.take(gig, mailbox, selection.order, most, wanted if wanted.filters else None)
    briefs.fill(taken)
    return Taking(taken, allowance.after(len(taken), clock.now()))


@dataclass(frozen=True)
class _Waits:
    """What waits: reserved for a mailbox, on its gig's shelf, and there beyond its cursor."""

    reserved: bool
    shared: bool
    unseen: bool

    def for_him(self, selection: Selection, wanted: Wanted) -> bool:
        by_cursor = selection.order != "random" and not wanted.filters
        return self.reserved or (self.unseen if by_cursor else self.shared)


# The first entry of a shelf, by the primary key of `queue_entry`. Its order and LIMIT keep the
# planner from reading the whole table, most of which one shelf may be.
_ANY = """(SELECT entry.task_number FROM queue_entry AS entry WHERE entry.shelf = {shelf}
        ORDER BY entry.sort_key, entry.task_number LIMIT 1) IS NOT NULL"""
# The gig, the caller's places in it, and whether there is anything to take, in one statement.
_PLACE = f"""
SELECT {{gig}}, {{mailbox}},
    {_ANY.format(shelf="mailbox.id")},
    {_ANY.format(shelf="gig.id")},
    CASE WHEN mailbox.cursor_as_of IS NULL THEN {_ANY.format(shelf="gig.id")}
    ELSE (
        SELECT entry.task_number FROM queue_entry AS entry
        WHERE entry.shelf = gig.id AND entry.sort_key > mailbox.cursor_key
        ORDER BY entry.sort_key, entry.task_number LIMIT 1
    ) IS NOT NULL OR (
        -- By the index (shelf, enqueued, sort_key).
        SELECT entry.task_number FROM queue_entry AS entry
        WHERE entry.shelf = gig.id AND entry.enqueued >= mailbox.cursor_as_of
          AND entry.sort_key <= mailbox.cursor_key
        ORDER BY entry.enqueued, entry.sort_key LIMIT 1
    ) IS NOT NULL END
FROM gig LEFT JOIN mailbox ON mailbox.gig_id = gig.id AND mailbox.account_id = ?
WHERE gig.id = ? ORDER BY mailbox.ordinal
"""


@cache
def _place_sql() -> tuple[str, int]:
    gig, mailbox = rows.columns(Gig, "gig"), rows.columns(Mailbox, "mailbox")
    return _PLACE.format(gig=gig, mailbox=mailbox), gig.count(",") + 1


def _place(caller: Caller, gig_id: str, mailbox_id: str | None) -> tuple[Gig, Mailbox, _Waits]:
    """The gig, the caller's active mailbox in it, and what waits for that."""
    sql, width = _place_sql()
    found = db.rows(sql, (caller.account_id, gig_id))
    if not found:
        raise not_found("gig")
    gig = rows.load(Gig, found[0][:width])
    places: list[tuple[Mailbox, _Waits]] = [
        (rows.load(Mailbox, row[width:-3]), _Waits(*map(bool, row[-3:])))
        for row in found
        if row[width] is not None
    ]
    permit("queue.poll", caller, gig, member=bool(places))
    mailbox = mailboxes.choose([one for one, _ in places], mailbox_id)
    return gig, mailbox, dict(places)[mailbox]


# With the mailbox the time and the position of what is about to be written, so that neither takes
# a statement of its own. Planning the claiming statement takes longer than running it, so one plan
# serves all, through its indexes even where it was made while the tables were still small.
_HOLD = f"""
SELECT {{mailbox}}, {clock.VALUE}, {events.FIRST}, {claims_postgres.ONE_PLAN}
FROM mailbox WHERE id = ? FOR NO KEY UPDATE
"""


def _hold(mailbox: Mailbox) -> Mailbox:
    """Hold the mailbox, and read it as whoever held it before has left it."""
    if db.is_postgres:
        sql = _HOLD.format(mailbox=rows.columns(Mailbox, "mailbox"))
        ((*columns, now, first, _, _),) = db.rows(sql, (mailbox.id,))
        clock.read(now)
        events.read_position(first)
        held = rows.load(Mailbox, tuple(columns))
    else:
        held = rows.find(Mailbox, "id = ?", mailbox.id)[0]
    if held.status != "active":
        raise mailboxes.inactive(held)
    return held


def nothing_waits(gig: Gig) -> bool:
    """Is the gig's shelf empty, so that no other poll need look?"""
    with db.reading():
        return claims.is_empty(gig.id)


def tell_claimed(mailbox: Mailbox, *taken: Task) -> None:
    """Append the events of a claim; only inside `db.write`."""
    events.append(
        "task.claimed",
        *(events.Subject("task", task.id) for task in taken),
        actor=mailbox.account_id,
        gig_id=mailbox.gig_id,
        mailbox_id=mailbox.id,
        data={"mailbox_id": mailbox.id},
    )
