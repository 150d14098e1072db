"""Share links: what whoever has a mailbox's token may see, and do for it (R-07).

A token lends one worker's place in one gig to somebody without a key. Its holder acts as that
mailbox, within its limits and with its refusals, and is shown less than its worker is: nothing
private, and no task that is another mailbox's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from engine import (
    cancellation,
    declining,
    events,
    gigs,
    handing_in,
    in_hand,
    mailboxes,
    shelf,
    violations,
)
from engine.db import db
from engine.errors import Refused, not_found
from engine.handing_in import HandedIn, HandIn
from engine.holding import PROVEN
from engine.ids import new_share_token
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.task import Task
from engine.modes import ask
from engine.operations import Caller, permit

Done = TypeVar("Done")

_TOKEN = "SELECT share_token FROM mailbox WHERE id = ?"  # noqa: S105


@dataclass(frozen=True)
class Link:
    """Where a token leads: an active mailbox, and its gig."""

    mailbox: Mailbox
    gig: Gig

    @property
    def caller(self) -> Caller:
        return Caller(self.mailbox.account_id)

    @property
    def own_names(self) -> bool:
        """Does the worker name the work himself (U-03)?"""
        return ask(self.gig.distribution).proving(gigs.facts(self.gig)).own_names

    @property
    def takes(self) -> bool:
        """Does a proof of what waits take it?"""
        return ask(self.gig.distribution).select(gigs.facts(self.gig)).shelf != "none"

    def refuses(self, operation: str) -> str | None:
        """What the gig's mode says instead, where it refuses this to everybody."""
        return ask(self.gig.distribution).refuses(gigs.facts(self.gig)).get(operation)

    @property
    def copies(self) -> bool:
        """Does each worker get a copy of what waits, so that no proof takes the task itself?"""
        return ask(self.gig.distribution).select(gigs.facts(self.gig)).how == "copy"


def unknown() -> Refused:
    """The token opens nothing: there never was such a one, or another is in its place."""
    return Refused(
        "not_found",
        "This link opens nothing, or was replaced by another. Ask for a new one.",
    )


def find(token: str) -> Mailbox | None:
    """The mailbox of a token, by its key, in whatever state it is."""
    with db.reading():
        return Mailbox.get_or_none(Mailbox.share_token == token)


def follow(mailbox: Mailbox) -> Link:
    """Where its token leads; 403 `mailbox_inactive` while the mailbox is not active."""
    if mailbox.status != "active":
        raise mailboxes.inactive(mailbox)
    with db.reading():
        link = Link(mailbox, gigs.get(mailbox.gig_id))
        permit("gig.read", link.caller, link.gig)
        return link


def read_task(link: Link, task_id: str) -> Task:
    """A task that waits for anybody or for this mailbox, or that it holds or has handed in; 404
    for every other one, whoever its worker is besides."""
    with db.reading():
        permit("task.read", link.caller, link.gig)
        task = Task.get_or_none(Task.id == task_id, Task.gig_id == link.gig.id)
    if task is None or not _is_for(link, task):
        raise not_found("task")
    return task


def _is_for(link: Link, task: Task) -> bool:
    mailbox = link.mailbox
    if task.status == "queued":
        kept = {task.reserved_for, task.named_by}
        return kept <= {None, mailbox.id} and shelf.is_shown(link.gig, task, {mailbox.id})
    return bool(task.mailbox_id == mailbox.id and task.status in ("claimed", *in_hand.HANDED_IN))


def rejected_proof(link: Link, task: Task) -> Proof | None:
    """The mailbox's own proof of a task that it was shown, whose rejection ended its part in it;
    the task may wait for others since."""
    if task.status not in ("queued", "rejected"):
        return None
    with db.reading():
        if task.status == "queued" and in_hand.reason_of(link.mailbox, task) != PROVEN:
            return None
        own = (Proof.task_id == task.id, Proof.mailbox_id == link.mailbox.id)
        rejected = Proof.select().where(*own, Proof.status == "rejected")
        found: Proof | None = rejected.order_by(Proof.reviewed_at.desc(), Proof.id.desc()).first()
        return found


def why_lost(link: Link, task: Task) -> str | None:
    """Why the mailbox may not take the waiting task: it has had it, and lost it (Q-07)."""
    with db.reading():
        try:
            in_hand.require_not_lost(link.mailbox, task)
        except Refused as refusal:
            return refusal.message
    return None


def hand_in(mailbox: Mailbox, given: HandIn) -> HandedIn:
    """Hand in a proof for the mailbox, as its worker would (R-01)."""
    mine = replace(given, mailbox_id=mailbox.id)
    return _act(mailbox, lambda caller: handing_in.submit(caller, mailbox.gig_id, mine))


def decline(mailbox: Mailbox, task_id: str) -> bool:
    """Pass on a task for the mailbox (D-01); did it go back to its owner?"""
    return _act(
        mailbox,
        lambda caller: declining.decline(caller, mailbox.gig_id, task_id, mailbox.id),
    )


def report(mailbox: Mailbox, task_id: str, violation: str) -> bool:
    """Report a bad task for the mailbox, and pass on it (A-02); did it go back to its owner?"""
    return _act(
        mailbox,
        lambda caller: violations.report(caller, mailbox.gig_id, task_id, violation, mailbox.id),
    )


def _act(mailbox: Mailbox, act: Callable[[Caller], Done]) -> Done:
    """Act as the mailbox's account, while its token is the one that it was found by.

    Whoever replaces the token waits for the lock of its row, so nothing that came by the old one
    takes effect once the new one was answered. Locks are taken in the order of what follows.
    """

    def write() -> Done | Refused:
        cancellation.hold(mailbox.gig_id)
        in_hand.hold_mailbox(mailbox.id)
        if db.scalar(_TOKEN, (mailbox.id,)) != mailbox.share_token:
            return unknown()
        try:
            return act(Caller(mailbox.account_id))
        except Refused as refusal:
            # Raised outside, so that what the log tells of the refusal itself stays (F03).
            return refusal

    done = db.write(write)
    if isinstance(done, Refused):
        raise done
    return done


def regenerate(caller: Caller, gig_id: str, mailbox_id: str) -> str:
    """A new token for one's own mailbox; the old one opens nothing from then on."""

    def write() -> str:
        gig = gigs.get(gig_id)
        permit("mailbox.share", caller, gig)
        mailbox = mailboxes.get(gig.id, mailbox_id)
        if mailbox.account_id != caller.account_id:
            raise Refused("not_permitted", "Only the worker of this mailbox may do that.")
        token = new_share_token()
        Mailbox.update(share_token=token).where(Mailbox.id == mailbox.id).execute()
        events.append(
            "mailbox.share_token_regenerated",
            events.Subject("mailbox", mailbox.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
        )
        return token

    return db.write(write)
