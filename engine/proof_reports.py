"""Disputing what the clock has approved (R-05).

A reported proof is paid by no settlement. Its gig, cancelled or not, keeps its price aside, and a
deposit of its own stays open, until its reviewer approves it after all (`proofs.review`). What else
may become of one of an order: `order_disputes.py`.
"""

from __future__ import annotations

from engine import clock, events, gigs, order_standing, parties, upload_uses
from engine.db import db
from engine.deliveries import money_field
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.moves import move
from engine.operations import Caller, permit
from engine.proofs import locked

MAX_CHARACTERS = 2000


def report(caller: Caller, gig_id: str, proof_id: str, reason: str | None) -> Proof:
    """Take a proof that the clock approved out of what is paid. Again changes nothing.

    Either side of an order may; of other work, who pays for it. 409 `not_reportable` for any other
    proof, and for one that a payout carries: whoever settles the gig holds its row, so of the two
    exactly one comes first.
    """

    def write() -> Proof:
        gig = gigs.held(gig_id)
        permit("proof.report", caller, gig)
        task, proof = locked(gig, proof_id)
        if not parties.is_party(gig, task, caller.account_id):
            raise not_found("proof")
        order_standing.require_standing(task)
        if proof.status == "reported":
            return proof
        _require_reportable(proof)
        move(
            proof,
            "report",
            Proof.rollup_id.is_null(),
            reported_at=clock.now(),
            reported_by=parties.side_of(gig, task, caller.account_id),
            report_reason=reason,
        )
        upload_uses.of_report(proof, caller.account_id)
        _tell(caller, gig, proof)
        return proof

    return db.write(write)


def _require_reportable(proof: Proof) -> None:
    if proof.status != "timeout_approved":
        raise Refused(
            "not_reportable",
            f"This proof is {proof.status}; only what the review time's end approved is reported.",
            status_now=proof.status,
        )
    if proof.rollup_id is not None:
        raise Refused(
            "not_reportable",
            "A payout already carries this proof, so it cannot be disputed any more.",
            rollup_id=proof.rollup_id,
        )


def _tell(caller: Caller, gig: Gig, proof: Proof) -> None:
    events.append(
        "proof.reported",
        events.Subject("proof", proof.id),
        actor=caller.account_id,
        gig_id=gig.id,
        mailbox_id=proof.mailbox_id,
        data={
            "gig_title": gig.title,
            "mailbox_id": proof.mailbox_id,
            "proof_id": proof.id,
            "task_identifier": proof.identifier,
            "amount": money_field(proof.locked_price_units),
            "reported_by": proof.reported_by,
            "reason": proof.report_reason,
        },
    )
