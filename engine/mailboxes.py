"""Mailboxes: a worker's place in a gig; finding it, and holding it while it takes something."""

from __future__ import annotations

from dataclasses import dataclass

from engine import endpoints, gigs, pages, rows
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.operations import Caller, permit

# Fields that are webhook URLs, and the kind of endpoint that each is.
WEBHOOKS = {
    "webhook": endpoints.MAILBOX_TASKS,
    "events_webhook_url": endpoints.MAILBOX_EVENTS,
}


def get(gig_id: str, mailbox_id: str) -> Mailbox:
    with db.reading():
        found = Mailbox.get_or_none(Mailbox.id == mailbox_id, Mailbox.gig_id == gig_id)
    if found is None:
        raise not_found("mailbox")
    return found


def active_of(caller: Caller, gig: Gig, mailbox_id: str | None = None) -> Mailbox:
    """The caller's active mailbox in a gig: the named one, or else his first active one."""
    where = "gig_id = ? AND account_id = ? ORDER BY ordinal"
    return choose(rows.find(Mailbox, where, gig.id, caller.account_id), mailbox_id)


def choose(places: list[Mailbox], mailbox_id: str | None) -> Mailbox:
    """The same, from all his places in the gig, the first one first."""
    found = [mailbox for mailbox in places if mailbox_id in (None, mailbox.id)]
    if not found:
        raise Refused("not_joined", "You have no such mailbox in this gig. Join it first.")
    for mailbox in found:
        if mailbox.status == "active":
            return mailbox
    raise inactive(found[0])


def inactive(mailbox: Mailbox) -> Refused:
    """Why a worker may not act in a gig that he has a place in."""
    if mailbox.left_at is not None:
        return Refused("mailbox_inactive", "You have left this gig. Join it again first.")
    return Refused(
        "mailbox_inactive",
        f"Your mailbox in this gig is {mailbox.status}; only the gig's owner can make it active.",
    )


def require_movable(gig: Gig, mailbox: Mailbox) -> None:
    """Refuse to close the one in which a shop's orders land: nobody else could deliver them."""
    if mailbox.id == gig.owner_mailbox_id:
        raise vendors()


def vendors() -> Refused:
    """What a vendor is told who would give up his place in his own shop, or have two."""
    return Refused(
        "vendor_mailbox",
        "This is the shop's own mailbox, in which its orders land: it stays, active, and its "
        "owner's only one. To take no more orders close the shop with PATCH /api/gigs/:id "
        '{"status": "closed"}.',
    )


def hold(mailbox: Mailbox) -> None:
    """Keep a mailbox active until this transaction ends; before something is taken for it.

    Whoever closes it waits, and then finds what was taken; whoever else takes for it waits too, so
    that both together stay within its limits (M-05). SQLite's one writer is alone anyway.
    """
    if not db.is_postgres:
        return
    status = db.scalar("SELECT status FROM mailbox WHERE id = ? FOR NO KEY UPDATE", (mailbox.id,))
    if status != "active":
        raise inactive(Mailbox.get(Mailbox.id == mailbox.id))


def ids_of(caller: Caller, gig: Gig) -> list[str]:
    query = Mailbox.select(Mailbox.id).where(
        Mailbox.gig_id == gig.id, Mailbox.account_id == caller.account_id
    )
    return [row.id for row in query]


@dataclass(frozen=True)
class Place:
    """A mailbox and the gig that it is in."""

    mailbox: Mailbox
    gig: Gig


def mine(caller: Caller, limit: int, after: pages.Position, *, active: bool = False) -> list[Place]:
    """The caller's places in every gig, or the active ones, in the order in which he joined."""
    with db.reading():
        query = Mailbox.select().where(Mailbox.account_id == caller.account_id)
        if active:
            query = query.where(Mailbox.status == "active")
        found = pages.page(query, (Mailbox.joined_at, Mailbox.id), limit, after)
        gig_ids = {mailbox.gig_id for mailbox in found}
        known = {gig.id: gig for gig in Gig.select().where(Gig.id.in_(gig_ids))}
        return [Place(mailbox, known[mailbox.gig_id]) for mailbox in found]


def of_gig(caller: Caller, gig_id: str, limit: int, after: pages.Position) -> list[Mailbox]:
    """The gig's workers, for its owner, in the order in which they joined."""
    with db.reading():
        gig = gigs.get(gig_id)
        permit("mailbox.list", caller, gig)
        query = Mailbox.select().where(Mailbox.gig_id == gig.id)
        return pages.page(query, (Mailbox.joined_at, Mailbox.id), limit, after)
