"""Giving a task into a worker's hands, and taking it out of them again.

What a claim writes is written by the claiming statements themselves where they take many at once
(`engine/claims.py`); the words here are for one task that is locked.
"""

from __future__ import annotations

from typing import Any

from engine import clock, copy_slots, entries, events, rows, upload_uses
from engine.db import db
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.proof import DRAFT, Proof, ProofAlias
from engine.models.task import Exclusion, Take, Task
from engine.moves import move

CLAIM, ASSIGNED = "claim", "assigned"
# Reasons of an exclusion (`engine/models/task.py`).
DECLINED, VIOLATION, PROVEN = "declined", "violation", "proven"
EXPIRED, RECYCLED = "expired", "recycled"
# What tells that a proof is gone which had been handed in, and taken back.
DROPPED, ACTOR = "proof.dropped", "engine"
ACCEPTED = "task.accepted"
NOBODY: dict[str, Any] = {
    "mailbox_id": None,
    "claimed_at": None,
    "held_price_units": None,
    "expires_at": None,
    "held_timeout_seconds": None,
    "held_most_seconds": None,
    "accept_by": None,
}


def terms(gig: Gig, task: Task) -> dict[str, Any]:
    """What a task is held on from now: since when, until when, for how much (R-02, Q-07).

    The same is written by `claims_postgres.py` and `claims_sqlite.py`. What its worker named
    himself has no clock: nobody else could do it (U-03).
    """
    now = clock.now()
    price = task.price_units if task.price_units is not None else gig.price_units
    timeout = None if task.named_by is not None else gig.task_timeout_seconds
    return {
        "accept_by": None,
        "claimed_at": now,
        "held_price_units": None if task.price_tbd else price,
        "expires_at": None if timeout is None else now + timeout * clock.SECOND,
        "held_timeout_seconds": timeout,
        "held_most_seconds": gig.max_hold_seconds,
    }


def assign(gig: Gig, mailbox: Mailbox, task: Task) -> None:
    """Give a locked task to a worker whom the owner named (A-01); only inside `db.write`.

    Whatever he declined or lost before is forgotten; no limit is asked, and no rate slot spent.
    """
    entries.withdraw(task)
    forgive(mailbox.id, task)
    if task.mailbox_id != mailbox.id:
        drop_draft(task)
    move(task, "assign", mailbox_id=mailbox.id, assignee_id=mailbox.id, **terms(gig, task))
    remember(mailbox, task, ASSIGNED)


def forgive(mailbox_id: str, task: Task) -> None:
    """Forget that this worker declined or lost the task: its owner names him for it.

    Whoever does this with a waiting task puts its entry there anew (`claims.py`).
    """
    Exclusion.delete().where(
        Exclusion.mailbox_id == mailbox_id, Exclusion.task_number == task.number
    ).execute()


def accept(task: Task, actor: str) -> None:
    """What was pushed to a worker is his from now on (U-04); the task is locked, in `db.write`.

    The time for the work counts from here, by the gig's `task_timeout` when it was pushed (F28).
    """
    seconds = task.held_timeout_seconds
    until = None if seconds is None else clock.now() + seconds * clock.SECOND
    Task.update(accept_by=None, expires_at=until).where(Task.number == task.number).execute()
    task.accept_by, task.expires_at = None, until
    events.append(
        ACCEPTED,
        events.Subject("task", task.id),
        actor=actor,
        gig_id=task.gig_id,
        mailbox_id=task.mailbox_id,
        data={"mailbox_id": task.mailbox_id},
    )


def remember(mailbox: Mailbox, task: Task, kind: str) -> None:
    """Write down that a task came into the mailbox's hands (M-05, M-06)."""
    rows.insert(
        Take,
        {
            "mailbox_id": mailbox.id,
            "at": clock.now(),
            "task_number": task.number,
            "kind": kind,
        },
        tail="ON CONFLICT DO NOTHING",
    )


def exclude(mailbox_id: str, task: Task, reason: str) -> None:
    """Never offer the task to this mailbox again; the latest reason counts."""
    Exclusion.insert(
        mailbox_id=mailbox_id, task_number=task.number, reason=reason, at=clock.now()
    ).on_conflict(
        conflict_target=[Exclusion.mailbox_id, Exclusion.task_number],
        update={Exclusion.reason: reason, Exclusion.at: clock.now()},
    ).execute()


def excuse(task: Task) -> None:
    """What is now taken from its holder is not his fault (M-06); before it is put back."""
    Take.update(excused=True).where(
        Take.mailbox_id == task.mailbox_id,
        Take.at == task.claimed_at,
        Take.task_number == task.number,
    ).execute()


def unaddress(gig: Gig, task: Task) -> None:
    """A waiting reservation is for nobody in particular any more (T-06); only inside `db.write`."""
    Task.update(reserved_for=None).where(Task.number == task.number).execute()
    task.reserved_for = None
    entries.put_again(gig, task)


def move_on(task: Task, verb: str, **sets: Any) -> None:
    """Take a locked task from whoever has it, by this move; only inside `db.write`.

    But for `assign` and a proof there is no other way out of a holder's hands, so here what he has
    drafted goes (R-03).
    """
    drop_draft(task)
    move(task, verb, **sets)


def drop_draft(task: Task, actor: str = ACTOR) -> None:
    """Delete the draft of a proof of a locked task, if there is one; only inside `db.write`.

    Only its worker has seen a draft, so the log tells of none but one that was handed in before.
    """
    if task.status != "claimed":
        return
    for proof in db.lock(Proof.select().where(Proof.task_id == task.id, DRAFT)):
        ProofAlias.delete().where(ProofAlias.proof_id == proof.id).execute()
        Proof.delete().where(Proof.id == proof.id).execute()
        upload_uses.forget(upload_uses.PROOF, proof.id, (proof.private_note, *proof.evidence))
        if proof.times_submitted:
            events.append(
                DROPPED,
                events.Subject("task", task.id),
                actor=actor,
                gig_id=task.gig_id,
                mailbox_id=proof.mailbox_id,
                data={
                    "mailbox_id": proof.mailbox_id,
                    "proof_id": proof.id,
                    "task_identifier": proof.identifier,
                },
            )


def put_back(gig: Gig, task: Task) -> None:
    """Let go of a locked task and put it back where it came from; only inside `db.write`.

    A copy is discarded and its slot is the template's again; one that its proof has closed keeps
    its state. What the owner had assigned goes back to him. A reservation stays one, but for nobody
    in particular (T-06). What its worker named himself waits for nobody else (U-03). Everything
    else takes its old place in the queue.
    """
    verb = "release" if task.status == "claimed" else "return"
    if task.template_number is not None:
        if task.status == "claimed":
            move_on(task, "discard", expires_at=None)
        elif task.status != "rejected":
            move_on(task, "reject")
        copy_slots.give_slot_back(gig, task)
    elif task.assignee_id is not None:
        move_on(task, "hand_back", assignee_id=None, **NOBODY)
    elif task.named_by is not None:
        move_on(task, verb, **NOBODY)
    else:
        move_on(task, verb, reserved_for=None, **NOBODY)
        entries.enqueue(gig, task)
