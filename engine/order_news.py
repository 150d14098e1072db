"""What a buyer is told of his order: the `order.*` events (W-01). All of it only inside `db.write`.

Their fields are what is sent to the order's webhook. What the buyer is told of a payout follows
from the rollup that carries it, and only the chain says that one was paid (Y-03).
"""

from __future__ import annotations

from typing import Any

from engine import events
from engine.db import db
from engine.deliveries import money_field
from engine.models.event import Event
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.models.rollup import Rollup
from engine.models.task import Task
from engine.rules import times

DELIVERED = "order.delivered"
AUTO_APPROVED = "order.auto_approved"
PAID_OUT = "order.paid_out"
WITHDRAWN = "order.withdrawn"
# Who undoes an order.
WITHDRAWERS = ("participant", "vendor", "reconciler", "operator")

_CARRIED = """
SELECT task.id, proof.id, proof.locked_price_units, proof.private_note <> ''
FROM proof JOIN task ON task.id = proof.task_id
WHERE proof.rollup_id = ? AND task.client_id IS NOT NULL ORDER BY proof.id
"""


def delivered(gig: Gig, task: Task, proof: Proof) -> None:
    """The vendor handed in work on an order; of any other task nothing is told."""
    if task.client_id is None:
        return
    _tell(
        DELIVERED,
        gig,
        task.id,
        actor=str(gig.owner_id),
        gig_title=gig.title,
        task_id=task.id,
        proof_id=proof.id,
        price=money_field(proof.locked_price_units),
        deliverable_locked=bool(proof.private_note),
        resubmitted=proof.times_submitted > 1,
    )


def auto_approved(gig: Gig, task: Task, proof: Proof) -> None:
    """The clock ruled for the vendor; the buyer may still report it. Of orders only."""
    if task.client_id is None:
        return
    _tell(
        AUTO_APPROVED,
        gig,
        task.id,
        actor="scheduler",
        task_id=task.id,
        proof_id=proof.id,
        price=money_field(proof.locked_price_units),
        reportable=True,
    )


def paid_out(rollup: Rollup) -> None:
    """The chain says that a rollup was paid: each of its orders hears so.

    Once for each transaction: a reorg that takes a payout back and mines the very same again tells
    the buyer nothing new.
    """
    for task_id, proof_id, units, locked in db.rows(_CARRIED, (rollup.id,)):
        if (proof_id, rollup.tx_hash) in _paid_before(task_id):
            continue
        _tell(
            PAID_OUT,
            Gig.get(Gig.id == rollup.gig_id),
            task_id,
            actor="chain",
            task_id=task_id,
            proof_id=proof_id,
            paid_to_vendor=money_field(units),
            tx_hash=rollup.tx_hash,
            deliverable_unlocked=bool(locked),
        )


def withdrawn(gig: Gig, task: Task, by: str, actor: str) -> None:
    """An order was undone, and what was paid for it went back; both sides hear of it.

    `by` is `participant`, `vendor`, `reconciler` or `operator`; the task's columns say when.
    """
    at = task.order_withdrawn_at
    _tell(
        WITHDRAWN,
        gig,
        task.id,
        actor=actor,
        task_id=task.id,
        withdrawn_by=by,
        withdrawn_at=None if at is None else times.iso_ms(at),
    )


def _paid_before(task_id: str) -> set[tuple[str, str]]:
    """The proofs of an order that its buyer heard are paid, each with its transaction."""
    told = Event.select(Event.data).where(Event.subject_id == task_id, Event.type == PAID_OUT)
    return {(event.data["proof_id"], event.data["tx_hash"]) for event in told}


def _tell(kind: str, gig: Gig, of_task: str, *, actor: str, **fields: Any) -> None:
    events.append(
        kind,
        events.Subject("task", of_task),
        actor=actor,
        gig_id=gig.id,
        # The vendor's: he reads it among his gig's events, and hears of it where he has to.
        mailbox_id=gig.owner_mailbox_id,
        data=fields,
    )
