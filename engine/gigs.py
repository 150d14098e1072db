"""Gigs: finding and reading them (G-02)."""

from __future__ import annotations

from engine import events, ledger, own_orders, pages, rows
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.event import Event
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.modes import facts as facts
from engine.operations import BUYER, OWNER, Caller, permit, roles

MANUAL_REVIEW = -1
# Row locks let those who share a row pass by whoever wants it alone, for as long as they keep
# coming. Here all queue in turn.
_TURN = "SELECT pg_advisory_xact_lock{shared}(hashtextextended(?, 71))"
_ALONE, _SHARED = _TURN.format(shared=""), _TURN.format(shared="_shared")


def get(gig_id: str) -> Gig:
    """The row, for those who check permission themselves."""
    with db.reading():
        gig = rows.one(Gig, "id = ?", gig_id)
    if gig is None:
        raise not_found("gig")
    return gig


def held(gig_id: str, *, alone: bool = False) -> Gig:
    """The row, kept as it is until this transaction ends; before a task is put into its queue.

    Whoever changes the gig's order puts the whole queue in order again, and must not miss one. With
    `alone` of those who ask for that one has it at a time.
    """
    lock = "FOR NO KEY UPDATE" if alone else "FOR SHARE"
    if db.is_postgres:
        db.rows(_ALONE if alone else _SHARED, (gig_id,))
        if not db.rows(f"SELECT 1 FROM gig WHERE id = ? {lock}", (gig_id,)):
            raise not_found("gig")
    return get(gig_id)


def locked(gig_id: str | None) -> Gig:
    """The row, locked against everybody who adds to the gig or holds it; only inside `db.write`."""
    if db.is_postgres:
        db.rows(_ALONE, (gig_id,))
    found = db.lock(Gig.select().where(Gig.id == gig_id))
    if not found:
        raise not_found("gig")
    gig: Gig = found[0]
    return gig


def share(gig_id: str) -> None:
    """Let nobody lock the gig before this transaction ends; others may share it at the same time.

    Before a mailbox is held that whoever locks the gig may want. Only inside `db.write`.
    """
    if db.is_postgres:
        db.rows(_SHARED, (gig_id,))
        db.rows("SELECT 1 FROM gig WHERE id = ? FOR KEY SHARE", (gig_id,))


def read(caller: Caller | None, gig_id: str) -> tuple[Gig, frozenset[str]]:
    """A gig that the caller may read, and what he is to it. An open gig may be read by all."""
    with db.reading():
        gig = get(gig_id)
        if caller is None:
            if gig.join_policy != "open":
                raise not_found("gig")
            return gig, frozenset()
        if gig.join_policy == "open":
            return gig, roles(caller, gig)
        return gig, permit("gig.read", caller, gig)


def mine(caller: Caller, tag: str | None, limit: int, after: pages.Position) -> list[Gig]:
    """The caller's gigs, newest first; those with the tag, if one is given."""
    with db.reading():
        query = Gig.select().where(Gig.owner_id == caller.account_id)
        if tag is not None:
            query = query.where(pages.has_member(Gig.tags, tag))
        return pages.page(query, (Gig.created_at, Gig.id), limit, after, newest_first=True)


def require_open(gig: Gig) -> None:
    if gig.status != "active":
        raise Refused(
            "gig_closed", f"This gig is {gig.status}: it takes and hands out no more tasks."
        )


def funds(gig: Gig) -> tuple[int, int]:
    """(available, reserved) base units of the gig's pot; none is available of one that owes more
    than it holds, as after a reorg took a deposit back."""
    with db.reading():
        return max(0, ledger.free_units(gig.id)), ledger.owed_units(gig.id)


def history(caller: Caller, gig_id: str, position: int, limit: int) -> list[Event]:
    """The gig's events after a position: all of them for its owner, his own for a member, those of
    his orders for a buyer."""
    with db.reading():
        gig = get(gig_id)
        has = permit("gig.events", caller, gig)
        if OWNER in has:
            return events.after(gig.id, position, limit, None)
        own = Mailbox.select(Mailbox.id).where(
            Mailbox.gig_id == gig.id, Mailbox.account_id == caller.account_id
        )
        ordered = own_orders.subjects(gig.id, caller.account_id) if BUYER in has else ()
        return events.after(gig.id, position, limit, [row.id for row in own], ordered)
