"""The operator's word on an order that neither of its sides can move (O-07).

That is one which is disputed; or one whose delivery was approved, which closes the undo for both,
while the chain refuses to pay the vendor at the address that the deposit's terms name (O-11): the
token has shut him out, say. Then there is nothing to decide but that the buyer has his money back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from engine import clock, events, gigs, order_handing, order_undoing, parties, tasks
from engine.db import db
from engine.deliveries import money_field
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.proof import PAYABLE, Proof
from engine.models.rollup import Rollup
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
    """Rule on a reported delivery: `pay` approves it, `refund` undoes its order. Of an approved one
    whose payout the chain has refused, `refund` alone.

    Both sides are told why. The same outcome again changes nothing, whoever brought it about; 409
    `not_reported` for whatever is not disputed, or ended otherwise, and `in_progress` while the
    payout is being tried.
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
        if proof.status != "reported" and not (verdict == REFUND and _is_refused(proof)):
            return _repeat(verdict, task, proof)
        _tell(gig, proof, verdict, reason)
        if verdict == PAY:
            _pay(gig, proof)
        else:
            order_undoing.undo(gig, task, OPERATOR, OPERATOR, reason)
        return Resolved(verdict, tasks.hold(task.number)[0], Proof.get(Proof.id == proof_id))

    return db.write(write)


def _is_refused(proof: Proof) -> bool:
    """Has the chain refused to pay for this approved delivery?"""
    if proof.status not in PAYABLE or proof.rollup_id is None:
        return False
    (rollup,) = db.lock(Rollup.select().where(Rollup.id == proof.rollup_id))
    if rollup.status in ("pending", "sent"):
        raise Refused(
            "in_progress",
            "The payout of this delivery is being tried just now. Try again in a moment.",
            retry_after=1,
        )
    return bool(rollup.status == "failed")


def _pay(gig: Gig, proof: Proof) -> None:
    """It is approved as if by its buyer; who settles pays it."""
    move(proof, "approve", Proof.rollup_id.is_null(), reviewed_at=clock.now())
    tell(OPERATOR, gig, proof, revised=True)


def _repeat(verdict: str, task: Task, proof: Proof) -> Resolved:
    """Has the dispute ended so already?"""
    undone = task.status in ("undoing", "withdrawn") and proof.returned
    ended = proof.status == "approved" if verdict == PAY else undone
    ruled = proof.reported_at is not None or task.order_withdrawn_by == OPERATOR
    if not (ruled and ended):
        raise Refused(
            "not_reported",
            f"This delivery is {proof.status}, and neither disputed nor refused its payout: there "
            "is nothing to rule on.",
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
