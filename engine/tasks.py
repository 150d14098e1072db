"""Sending, taking, declining and reading tasks (T-01 … T-04, Q-*, D-01)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import simplejson

from engine import (
    arrivals,
    cancellation,
    claims,
    clock,
    events,
    gigs,
    mailboxes,
    rows,
    spending,
    task_escrow,
)
from engine.apply import apply
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.ids import new_id
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Exclusion, Task
from engine.modes import ask
from engine.operations import Caller, permit

DEFAULT_PRIORITY = 1000
MAX_PRIORITY = 9_999_999_999
MAX_PAYLOAD_CHARACTERS = 2_000_000


@dataclass(frozen=True)
class Submission:
    """One task as it was sent. `payload` is the body, kept to the byte."""

    payload: str
    content_type: str
    subject: str
    tags: tuple[str, ...]
    price_units: int | None
    price_tbd: bool
    priority: int | None
    external_id: str | None

    def fingerprint(self) -> str:
        """SHA-256 of everything that makes it this task and no other."""
        told = [
            self.payload,
            self.content_type,
            self.subject,
            list(self.tags),
            self.price_units,
            self.price_tbd,
            self.priority,
        ]
        return hashlib.sha256(simplejson.dumps(told).encode()).hexdigest()


@dataclass(frozen=True)
class Taken:
    """What became of a task that was sent: the answer, or the command that is still at it."""

    answer: dict[str, Any] | None = None
    command: Command | None = None


def submit(gig_id: str, token: str, sent: Submission) -> Taken:
    """Take in a task through the gig's webhook; answers what its mode replies (T-02).

    The same `external_id` in a gig makes one task for ever, and the repeat gets the first answer
    (T-04); 409 `external_id_mismatch` when something else comes under it.
    """
    if len(sent.payload) > MAX_PAYLOAD_CHARACTERS:
        raise Refused(
            "payload_too_large",
            f"The payload may have {MAX_PAYLOAD_CHARACTERS} characters. Send a link instead.",
            received_chars=len(sent.payload),
            max_chars=MAX_PAYLOAD_CHARACTERS,
        )

    def write() -> Taken:
        gig = gigs.get(gig_id)
        if not hmac.compare_digest(gig.token.encode(), token.encode()):
            raise Refused("wrong_token", "This is not the gig's token. Ask its owner.")
        if sent.external_id is not None:
            repeated = _repeat_of(gig, sent)
            if repeated is not None:
                return repeated
        gigs.require_open(gig)
        if sent.priority is not None and "priority" not in ask(gig.distribution).info.query:
            raise invalid("priority", f"a {gig.distribution} gig has no queue order")
        return _take_in(gig, sent)

    return db.write(write)


def _repeat_of(gig: Gig, sent: Submission) -> Taken | None:
    """The first answer for this external id, or None for a new one.

    Of two that come at once the second waits at the unique key that the first has written, so
    this look and the insert are tried until one of them holds.
    """
    known = Task.get_or_none(Task.gig_id == gig.id, Task.external_id == sent.external_id)
    if known is None:
        return None
    if known.fingerprint != sent.fingerprint():
        raise Refused(
            "external_id_mismatch",
            "external_id: another task was sent under this id. Use a new id for a new task.",
            message_id=known.id,
        )
    answer = arrivals.answer_of(known.id)
    if answer is not None:
        return Taken(answer)
    return Taken(command=task_escrow.again(gig, known.id))


def _take_in(gig: Gig, sent: Submission) -> Taken:
    now = clock.now()
    task_id = new_id("TASK")
    price_units = sent.price_units
    if gig.task_escrow:
        price_units = task_escrow.price_units(gig, sent.price_units, sent.price_tbd)
    values: dict[str, Any] = {
        "id": task_id,
        "gig_id": gig.id,
        "status": "unfunded" if gig.task_escrow else "queued",
        "subject": sent.subject,
        "payload": sent.payload,
        "content_type": sent.content_type,
        "tags": list(sent.tags),
        "price_units": price_units,
        "price_tbd": sent.price_tbd,
        "priority": DEFAULT_PRIORITY if sent.priority is None else sent.priority,
        "external_id": sent.external_id,
        "fingerprint": None if sent.external_id is None else sent.fingerprint(),
        "created_at": now,
    }
    # Nothing comes back when the external id was taken between the look and this insert, by a
    # transaction that has committed since.
    made = rows.insert(Task, values, tail="ON CONFLICT DO NOTHING RETURNING number")
    if not made:
        repeated = _repeat_of(gig, sent)
        if repeated is None:
            raise Refused("try_again", "Two requests met here. Send it again.")
        return repeated
    task = Task(number=made[0][0], **values)
    spending.count(gig, task)
    if gig.task_escrow:
        return Taken(command=task_escrow.begin(gig, task))
    return Taken(arrivals.hand_out(gig, task))


def _take_for_granted() -> None:
    pass


def poll(
    caller: Caller,
    gig_id: str,
    count: int,
    mailbox_id: str | None = None,
    still_there: Callable[[], None] = _take_for_granted,
) -> tuple[Gig, Mailbox, list[Task]]:
    """Claim up to `count` tasks, in the gig's order and each for this mailbox alone (Q-05).

    `still_there` is called last before the commit and raises if the caller has hung up (Q-06).
    """

    def write() -> tuple[Gig, Mailbox, list[Task]]:
        gig = gigs.get(gig_id)
        permit("queue.poll", caller, gig)
        mailbox = mailboxes.active_of(caller, gig, mailbox_id)
        mailboxes.hold(mailbox)
        gigs.require_open(gig)
        selection = ask(gig.distribution).select(gigs.facts(gig))
        taken = claims.take(gig, mailbox, selection, count)
        tell_claimed(mailbox, *taken)
        still_there()
        return gig, mailbox, taken

    return db.write(write)


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


def decline(caller: Caller, gig_id: str, task_id: str, mailbox_id: str | None = None) -> None:
    """Pass on a task, for this worker only; again and again without further effect (D-01)."""

    def write() -> None:
        gig = gigs.get(gig_id)
        permit("queue.decline", caller, gig)
        mailbox = mailboxes.active_of(caller, gig, mailbox_id)
        task = locked(gig, task_id)
        if task.status in ("submitted", "approved") and task.mailbox_id == mailbox.id:
            raise Refused(
                "already_proven", "You have handed in a proof of this task; it is under review."
            )
        skipped = Exclusion.get_or_none(
            Exclusion.mailbox_id == mailbox.id, Exclusion.task_number == task.number
        )
        if skipped is not None and task.mailbox_id != mailbox.id:
            return
        plan = ask(gig.distribution).declined(gigs.facts(gig), arrivals.facts(task), mailbox.id)
        apply(plan, task)
        cancellation.catch(gig, task, caller.account_id)
        events.append(
            "task.declined",
            events.Subject("task", task.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=mailbox.id,
            data={"mailbox_id": mailbox.id},
        )

    db.write(write)


def was_proven(mailbox: Mailbox, task: Task) -> bool:
    """Has this worker handed in a proof of the task before, which was rejected (R-04)?"""
    return (
        Exclusion.select()
        .where(
            Exclusion.mailbox_id == mailbox.id,
            Exclusion.task_number == task.number,
            Exclusion.reason == "proven",
        )
        .exists()
    )


def locked(gig: Gig, task_id: str) -> Task:
    """The task, held by this transaction; only inside `db.write`."""
    found: list[Task] = db.lock(Task.select().where(Task.id == task_id, Task.gig_id == gig.id))
    if not found:
        raise not_found("task")
    return found[0]
