"""The operator's word on a disputed order that neither of its sides moves (O-07)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import clock, events, gigs, order_handing, order_undoing, parties, tasks
from engine.db import db
from engine.deliveries import money_field
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.models.task import Task
from engine.modes import takes_orders
from engine.moves import move
from engine.order_undoing import OPERATOR
from engine.proofs import locked
from engine.verdict_effects import tell

PAY, REFUND = "pay", "refund"
VERDICTS = (PAY, REFUND)
RESOLVED = "proof.resolved"
MAX_CHARACTERS = 2000


@dataclass(frozen=True)
class Resolved:
    """A dispute that is over, and what it was about."""

    verdict: str
    task: Task
    proof: Proof


def resolve(proof_id: str, verdict: str, reason: str) -> Resolved:
    """Rule on a reported delivery: `pay` approves it, `refund` undoes its order.

    Both sides are told why. The same outcome again changes nothing, whoever brought it about; 409
    `not_reported` for whatever is not disputed, or ended otherwise.
    """

    def write() -> Resolved:
        found = Proof.get_or_none(Proof.id == proof_id)
        if found is None:
            raise not_found("proof")
        gig = gigs.locked(found.gig_id)
        if not takes_orders(gig):
            raise order_undoing.not_an_order()
        order_handing.hold_vendor(gig)
        task, proof = locked(gig, proof_id)
        if proof.status != "reported":
            return _repeat(verdict, task, proof)
        _tell(gig, proof, verdict, reason)
        if verdict == PAY:
            _pay(gig, proof)
        else:
            order_undoing.undo(gig, task, OPERATOR, OPERATOR, reason)
        return Resolved(verdict, tasks.hold(task.number)[0], Proof.get(Proof.id == proof_id))

    return db.write(write)


def _pay(gig: Gig, proof: Proof) -> None:
    """It is approved as if by its buyer; who settles pays it."""
    move(proof, "approve", Proof.rollup_id.is_null(), reviewed_at=clock.now())
    tell(OPERATOR, gig, proof, revised=True)


def _repeat(verdict: str, task: Task, proof: Proof) -> Resolved:
    """Has the dispute ended so already?"""
    undone = task.status in ("undoing", "withdrawn") and proof.returned
    ended = proof.status == "approved" if verdict == PAY else undone
    if proof.reported_at is None or not ended:
        raise Refused(
            "not_reported",
            f"This delivery is {proof.status}, and not disputed: there is nothing to rule on.",
            status_now=proof.status,
        )
    return Resolved(verdict, task, proof)


def _tell(gig: Gig, proof: Proof, verdict: str, reason: str) -> None:
    told: dict[str, Any] = {
        "gig_title": gig.title,
        "mailbox_id": proof.mailbox_id,
        "proof_id": proof.id,
        "task_identifier": proof.identifier,
        "amount": money_field(proof.locked_price_units),
        "verdict": verdict,
        "paid_side": parties.GIGWORKER if verdict == PAY else parties.CLIENT,
        "reason": reason,
    }
    events.append(
        RESOLVED,
        events.Subject("proof", proof.id),
        actor=OPERATOR,
        gig_id=gig.id,
        mailbox_id=proof.mailbox_id,
        data=told,
    )
