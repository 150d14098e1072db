"""Deactivating an account: its keys, its places, and what they hold (Z-07)."""

from __future__ import annotations

from dataclasses import dataclass

from engine import (
    accounts,
    cancellation,
    clock,
    entries,
    events,
    gigs,
    holding,
    planning,
)
from engine.db import db
from engine.errors import not_found
from engine.models.account import Account, ApiKey
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import HELD, KEPT_BACK, UNFUNDED, Task
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
    paid; the account's own gigs stay open. Orders in its shops stay where they are: their buyers
    undo them, and no other is sent there any more.
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
        cancellation.hold(Mailbox.get(Mailbox.id == mailbox_id).gig_id)
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
        return int(closed), give_back(mailbox)

    return db.write(write)


def give_back(mailbox: Mailbox, actor: str = ACTOR, *, excused: bool = True) -> int:
    """Take from a mailbox, which is locked and closed, all that it holds, and what waits for it.

    Answers how many tasks it held. A reservation for it becomes one for nobody in particular, as
    when its worker skips it (T-06): nobody else would ever be offered it. Only inside `db.write`.
    `excused` unless it is the worker's own doing, which counts against him (M-06).
    """
    gig = gigs.get(mailbox.gig_id)
    if mailbox.id == gig.owner_mailbox_id:
        # An order stays with the shop that its buyer paid, for him to undo; nobody else delivers.
        return 0
    held = (Task.mailbox_id == mailbox.id) & HELD
    kept = (Task.gig_id == gig.id) & KEPT_BACK & (Task.reserved_for == mailbox.id)
    unfunded = (Task.gig_id == gig.id) & UNFUNDED & (Task.reserved_for == mailbox.id)
    parts = [Task.select(Task.number).where(part) for part in (held, kept, unfunded)]
    numbers = [row.number for part in parts for row in part]
    entries.hold(*numbers)
    found = db.lock(Task.select().where(Task.number.in_(numbers)).order_by(Task.number))
    in_hand = [task for task in found if task.mailbox_id == mailbox.id and task.status == "claimed"]
    for task in found:
        if task.status in ("queued", "unfunded") and task.reserved_for == mailbox.id:
            holding.unaddress(gig, task)
    if in_hand:
        release(gig, mailbox, in_hand, actor, excused=excused)
    return len(in_hand)


def release(
    gig: Gig, mailbox: Mailbox, held: list[Task], actor: str = ACTOR, *, excused: bool = True
) -> None:
    """Take locked tasks from their holder, to where the gig's mode says; only inside `db.write`.

    He may have them again, and where it is `excused` it does not count against him (M-06).
    """
    # Copies by their templates, each of which is locked when its slot comes back.
    for task in sorted(held, key=lambda one: (one.template_number or 0, one.number)):
        if excused:
            holding.excuse(task)
        planning.release(gig, task)
        cancellation.catch(gig, task, actor)
    events.append(
        "task.released",
        *(events.Subject("task", task.id) for task in held),
        actor=actor,
        gig_id=gig.id,
        mailbox_id=mailbox.id,
        data={"mailbox_id": mailbox.id},
    )
