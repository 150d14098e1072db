"""What a worker does with a draft of a proof, and how a proof becomes one again (R-03).

A draft is there while its worker holds the task, and no longer: `holding.move_on` deletes it. So
whatever is done with one first asks whether the task is still held, under the task's lock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import (
    allowances,
    cancellation,
    events,
    gigs,
    handing_in,
    holding,
    in_hand,
    mailboxes,
    tasks,
    upload_uses,
)
from engine.db import db
from engine.errors import Refused, not_found
from engine.handing_in import HandedIn
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import Proof
from engine.models.task import Task
from engine.moves import move
from engine.operations import Caller, permit

# So often one proof may be handed in: each time its reviewer is told.
MOST_TIMES = 10

_ITS_TASK = """
SELECT proof.task_id, proof.mailbox_id FROM proof JOIN mailbox ON mailbox.id = proof.mailbox_id
WHERE proof.id = ? AND proof.gig_id = ? AND mailbox.account_id = ?
"""


@dataclass(frozen=True)
class _Locked:
    """A proof of the caller's, locked, with what is locked before it."""

    mailbox: Mailbox
    task: Task
    proof: Proof


def edit(caller: Caller, gig_id: str, proof_id: str, changes: Mapping[str, Any]) -> Proof:
    """Change columns of a draft: `evidence`, `tags`, `private_note`, `asking_price_units`."""

    def write() -> Proof:
        gig = gigs.get(gig_id)
        permit("proof.draft", caller, gig)
        before = _held_draft(_lock(caller, gig, proof_id))
        if changes.get("asking_price_units") is not None:
            handing_in.require_offers(gig)
        if changes:
            Proof.update(**changes).where(Proof.id == before.id).execute()
        proof: Proof = Proof.get(Proof.id == before.id)
        upload_uses.of_proof(proof, caller.account_id, (before.private_note, *before.evidence))
        return proof

    return db.write(write)


def submit(caller: Caller, gig_id: str, proof_id: str) -> HandedIn:
    """Hand in a draft; from here on it is as if it had been handed in at once.

    410 `claim_lost` once the time for its task has run out, which the log then tells (F03).
    """
    lost: list[_Locked] = []

    def write() -> tuple[Gig, Task, Proof]:
        gig = gigs.get(gig_id)
        permit("proof.submit", caller, gig)
        found = _lock(caller, gig, proof_id)
        lost[:] = [found]
        proof = _held_draft(found)
        if proof.asking_price_units is not None:
            handing_in.require_offers(gig)
        handing_in.hand_over(caller, gig, found.task, proof)
        return gig, found.task, proof

    try:
        return handing_in.handed_in(*db.write(write))
    except Refused as refusal:
        reason = refusal
        if refusal.code == in_hand.CLAIM_LOST:
            (one,) = lost
            db.write(lambda: handing_in.tell_refused(caller, one.mailbox, one.task.id, reason))
        raise


def withdraw(caller: Caller, gig_id: str, proof_id: str) -> Proof:
    """Take a proof back before its verdict; it is a draft again, and its task in hand again.

    The task is held as it was before: at the price that it was taken at, and its time has run on.
    409 `time_over` once that has run out, `handed_in_often` after `MOST_TIMES`; 429 without a free
    place among the tasks in hand (M-05).
    """

    def write() -> Proof:
        gig = gigs.get(gig_id)
        permit("proof.withdraw", caller, gig)
        found = _lock(caller, gig, proof_id)
        task, proof = found.task, found.proof
        if proof.status != "pending":
            raise Refused(
                "not_pending",
                f"This proof is {proof.status}; only one that waits for its verdict can be "
                "withdrawn.",
                status_now=proof.status,
            )
        if proof.times_submitted >= MOST_TIMES:
            raise Refused(
                "handed_in_often",
                f"This proof was handed in {MOST_TIMES} times; now it waits for its verdict.",
            )
        if in_hand.has_run_out(task):
            raise Refused(
                "time_over",
                "The time for this task has run out, so it cannot come back to you. Its proof "
                "stays handed in.",
            )
        allowances.require_open(gig, found.mailbox)
        move(task, "withdraw")
        move(proof, "withdraw", locked_price_units=None, timeout_at=None)
        events.append(
            "proof.withdrawn",
            events.Subject("proof", proof.id),
            actor=caller.account_id,
            gig_id=gig.id,
            mailbox_id=proof.mailbox_id,
            data={
                "mailbox_id": proof.mailbox_id,
                "proof_id": proof.id,
                "task_identifier": proof.identifier,
            },
        )
        return proof

    return db.write(write)


def delete(caller: Caller, gig_id: str, proof_id: str) -> None:
    """Delete a draft for good. Its task stays in hand; work that he named himself is let go of."""

    def write() -> None:
        gig = cancellation.hold(gig_id)
        permit("proof.draft", caller, gig)
        found = _lock(caller, gig, proof_id)
        _held_draft(found)
        task = found.task
        holding.drop_draft(task, caller.account_id)
        if task.named_by is not None:
            holding.put_back(gig, task)
            events.append(
                "task.released",
                events.Subject("task", task.id),
                actor=caller.account_id,
                gig_id=gig.id,
                mailbox_id=found.mailbox.id,
                data={"mailbox_id": found.mailbox.id},
            )
            cancellation.catch(gig, task, caller.account_id)

    db.write(write)


def _lock(caller: Caller, gig: Gig, proof_id: str) -> _Locked:
    """The caller's own proof and its task, held; 404 for anybody else's."""
    known = db.rows(_ITS_TASK, (proof_id, gig.id, caller.account_id))
    if not known:
        raise not_found("proof")
    ((task_id, mailbox_id),) = known
    mailbox = mailboxes.active_of(caller, gig, mailbox_id)
    mailboxes.hold(mailbox)
    task = tasks.locked(gig, task_id)
    found = db.lock(Proof.select().where(Proof.id == proof_id))
    if not found:
        # The task has left him in between.
        raise not_found("proof")
    return _Locked(mailbox, task, found[0])


def _held_draft(found: _Locked) -> Proof:
    """The draft; 409 `not_draft` once it is handed in, 410 `claim_lost` once its time is over."""
    if found.proof.status != "draft":
        raise Refused(
            "not_draft",
            f"This proof is {found.proof.status}, so it is no draft. Read it again.",
            status_now=found.proof.status,
        )
    if not in_hand.holds(found.mailbox, found.task):
        raise not_found("proof")
    return found.proof
