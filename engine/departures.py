"""Deactivating an account: its keys, its places, and what they hold (Z-07)."""

from __future__ import annotations

from dataclasses import dataclass

from engine import accounts, arrivals, cancellation, clock, events, gigs
from engine.apply import apply
from engine.db import db
from engine.errors import not_found
from engine.models.account import Account, ApiKey
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import ask
from engine.moves import move

ACTOR = "operator"


@dataclass(frozen=True)
class Departed:
    """What a deactivation did; all zero when there was nothing left to do."""

    account_id: str
    email: str
    keys: int
    mailboxes: int
    tasks: int


def deactivate(email: str) -> Departed:
    """Revoke an account's keys, close its mailboxes, and give back every task that they hold.

    Safe to run again: it goes on with what is left. What was handed in stays under review and is
    paid; the account's own gigs stay open.
    """
    account, keys = _shut_out(email)
    mailboxes = released = 0
    # Whoever was let in before this began may still be claiming: once his mailbox is closed and
    # nothing is found any more, nothing can be claimed for it.
    for _ in range(2):
        for mailbox in _mailboxes(account):
            closed, tasks_back = _close(mailbox.id)
            mailboxes += closed
            released += tasks_back
    return Departed(account.id, account.email, keys, mailboxes, released)


def _shut_out(email: str) -> tuple[Account, int]:
    address = accounts.clean_email(email)

    def write() -> tuple[Account, int]:
        account = Account.get_or_none(Account.email == address)
        if account is None:
            raise not_found("account")
        if account.status == "active":
            move(account, "deactivate")
        keys = (
            ApiKey.update(revoked_at=clock.now())
            .where(ApiKey.account_id == account.id, ApiKey.revoked_at.is_null())
            .execute()
        )
        return account, int(keys)

    return db.write(write)


def _mailboxes(account: Account) -> list[Mailbox]:
    with db.reading():
        return list(Mailbox.select().where(Mailbox.account_id == account.id).order_by(Mailbox.id))


def _close(mailbox_id: str) -> tuple[int, int]:
    """Close one mailbox and give back what it holds; answers (closed now, tasks given back)."""

    def write() -> tuple[int, int]:
        (mailbox,) = db.lock(Mailbox.select().where(Mailbox.id == mailbox_id))
        closed = mailbox.status != "inactive"
        if closed:
            move(mailbox, "deactivate")
            events.append(
                "mailbox.changed",
                events.Subject("mailbox", mailbox.id),
                actor=ACTOR,
                gig_id=mailbox.gig_id,
                mailbox_id=mailbox.id,
                data={"fields": ["status"]},
            )
        held = db.lock(
            Task.select()
            .where(Task.mailbox_id == mailbox.id, Task.status == "claimed")
            .order_by(Task.number)
        )
        if held:
            release(gigs.get(mailbox.gig_id), mailbox, held)
        return int(closed), len(held)

    return db.write(write)


def release(gig: Gig, mailbox: Mailbox, held: list[Task]) -> None:
    """Take tasks from their holder, to where the gig's mode says; only inside `db.write`."""
    for task in held:
        apply(ask(gig.distribution).released(gigs.facts(gig), arrivals.facts(task)), task)
        cancellation.catch(gig, task, ACTOR)
    events.append(
        "task.released",
        *(events.Subject("task", task.id) for task in held),
        actor=ACTOR,
        gig_id=gig.id,
        mailbox_id=mailbox.id,
        data={"mailbox_id": mailbox.id},
    )
