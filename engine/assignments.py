"""Finding the worker whom an owner names, and keeping him there (A-01, T-06)."""

from __future__ import annotations

from engine import rows
from engine.db import db
from engine.errors import Refused, invalid
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox

_OF_EMAIL = """
gig_id = ? AND account_id = (SELECT id FROM account WHERE email = ?) ORDER BY ordinal
"""
_HOLD = "SELECT id, status FROM mailbox WHERE id IN ({marks}) ORDER BY id"


def find(gig: Gig, text: str, field: str = "assign_to") -> Mailbox:
    """The active mailbox of a worker named by its id or by his account's email.

    400 `assignee_not_found`, `assignee_not_active` or `assignee_ambiguous` under the field's name.
    """
    named = _named(gig, text)
    active = [mailbox for mailbox in named if mailbox.status == "active"]
    if len(active) == 1:
        return active[0]
    if len(active) > 1:
        sentence = "this worker has several mailboxes in this gig; name one of them by its id"
        raise invalid(field, sentence, "assignee_ambiguous")
    if named:
        raise not_active(field)
    sentence = "no worker of this gig has this mailbox id or account email"
    raise invalid(field, sentence, "assignee_not_found")


def not_active(field: str = "assign_to") -> Refused:
    sentence = "this worker's mailbox is not active; activate it first"
    return invalid(field, sentence, "assignee_not_active")


def reservee(gig: Gig, text: str) -> Mailbox:
    """The mailbox that a task is to be reserved for; 404 for an unknown one (T-06)."""
    try:
        return find(gig, text, "reserved_for")
    except Refused as refusal:
        if refusal.code != "assignee_not_found":
            raise
        raise Refused("not_found", refusal.message, errors=refusal.errors) from refusal


def _named(gig: Gig, text: str) -> list[Mailbox]:
    with db.reading():
        by_id = rows.find(Mailbox, "gig_id = ? AND id = ?", gig.id, text)
        return by_id or rows.find(Mailbox, _OF_EMAIL, gig.id, text.strip().lower())


def hold_active(*ids: str) -> set[str]:
    """Lock mailboxes in the order of their ids, before any task; answers which are active."""
    statement = _HOLD.format(marks=", ".join("?" for _ in ids))
    lock = " FOR NO KEY UPDATE" if db.is_postgres else ""
    return {row[0] for row in db.rows(statement + lock, sorted(ids)) if row[1] == "active"}


def is_active(mailbox_id: str) -> bool:
    """Is this mailbox active? It stays so until the transaction ends; before any task."""
    return mailbox_id in hold_active(mailbox_id)
