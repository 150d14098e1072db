"""Reading one task, and who may see it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from engine import briefs, gigs, mailboxes, parties
from engine.db import db
from engine.errors import not_found
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask
from engine.operations import ACTIVE, OWNER, Caller, permit
from engine.roles import ANYONE, MEMBER

# The states in which a task is in its mailbox's hands.
IN_HANDS = ("claimed", "submitted")
# Roles that every worker of a gig has.
_WORKERS = frozenset({ACTIVE, MEMBER, ANYONE})
# What is not, not yet, or no longer for any worker to see.
_OWNERS_ONLY = (
    "draft",
    "unfunded",
    "dropped",
    "unassigned",
    "cancelled",
    "undoing",
    "withdrawn",
)


@dataclass(frozen=True)
class Seen:
    """A task and who reads it: the gig's owner or not, by which mailboxes of his.

    `party`: it is an order, and he is its buyer or its vendor.
    """

    gig: Gig
    task: Task
    owner: bool
    mailbox_ids: frozenset[str]
    party: bool = False


def read(caller: Caller, gig_id: str, task_id: str) -> Seen:
    """One task with its whole body, for the owner, its holder, or another member."""
    with db.reading():
        gig = gigs.get(gig_id)
        return find(caller, gig, permit("task.read", caller, gig), task_id)


def find(caller: Caller, gig: Gig, has: frozenset[str], task_id: str) -> Seen:
    """A task that the caller, in these roles of his, can see; 404 for one that he cannot."""
    owner = OWNER in has
    own = frozenset(mailboxes.ids_of(caller, gig))
    task = Task.get_or_none(Task.id == task_id, Task.gig_id == gig.id)
    if task is None:
        raise not_found("task")
    ordered = task.client_id is not None
    party = ordered and parties.is_party(gig, task, caller.account_id)
    if ordered:
        # His own order lets a buyer in whose place in the gig is closed, but to no other order; and
        # a draft that its buyer deleted is gone for both sides.
        member = ACTIVE in has and is_shown(gig, task, own)
        seen = task.status != "cancelled" and (party or member)
    else:
        seen = owner or is_shown(gig, task, own)
    if not seen:
        raise not_found("task")
    briefs.fill([task])
    return Seen(gig, task, owner, own, party)


def is_shown(gig: Gig, task: Task, mailbox_ids: Container[str]) -> bool:
    """May a worker with these places in the gig see it?

    Nobody but the owner sees what waits for publication or money, was for nobody, came back to him,
    or is deleted; and a copy, what was assigned, or what a worker named himself, nobody but he and
    that worker. Where the mode gives each task to whom it will, it is that worker's and the owner's
    alone, too; while it waits it is shown as `lists_waiting` says. Of an order, its two sides
    aside, members see that there is one, once it was sent.
    """
    if task.status in _OWNERS_ONLY:
        return False
    if task.client_id is not None:
        return True
    if not _is_polled(gig) and task.named_by is None:
        waits = task.status == "queued" and lists_waiting(gig)
        return waits or task.mailbox_id in mailbox_ids
    his = task.mailbox_id if task.template_number is not None else task.assignee_id
    his = task.named_by or his
    return his is None or his in mailbox_ids


def lists_waiting(gig: Gig) -> bool:
    """Is what waits shown to all workers, who may take it, or use a verb of the mode on it?"""
    verbs = ask(gig.distribution).info.verbs
    return _is_polled(gig) or any(not verb.holder and verb.by & _WORKERS for verb in verbs)


def _is_polled(gig: Gig) -> bool:
    return ask(gig.distribution).select(gigs.facts(gig)).shelf != "none"
