"""The review of proofs (R-04, R-05). Handing them in: `engine/handing_in.py`."""

from __future__ import annotations

from dataclasses import dataclass

from engine import arrivals, cancellation, clock, events, gigs, tasks
from engine.apply import apply
from engine.db import db
from engine.deliveries import money_field
from engine.errors import Refused, invalid, not_found
from engine.models.gig import Gig
from engine.models.proof import PAYABLE, UNDECIDED, Proof
from engine.models.task import Task
from engine.modes import ask
from engine.moves import move, take
from engine.operations import Caller, permit
from engine.plans import PutBack

REJECTION_TAGS = (
    "fake_proof",
    "duplicate",
    "incomplete",
    "unresponsive",
    "low_quality",
    "other",
    "not_selected",
)


@dataclass(frozen=True)
class Verdict:
    """A review. `amount_units` only where the price is still to be decided."""

    approve: bool
    feedback: str = ""
    amount_units: int | None = None
    rejection_tag: str | None = None
    requeue: bool = True


@dataclass(frozen=True)
class Reviewed:
    """What the review came to, for the answer (N: review answer)."""

    proof: Proof
    previous_status: str
    requeued: bool

    @property
    def revised(self) -> bool:
        return self.previous_status not in ("pending", self.proof.status)


def review(caller: Caller, gig_id: str, proof_id: str, verdict: Verdict) -> Reviewed:
    """Approve or reject. Saying the same again changes nothing; the rest is `_refuse_revision`."""

    def write() -> Reviewed:
        gig = cancellation.hold(gig_id)
        permit("proof.review", caller, gig)
        task, proof = _locked(gig, proof_id)
        wanted = "approved" if verdict.approve else "rejected"
        if proof.status == wanted:
            if verdict.amount_units not in (None, proof.locked_price_units):
                raise invalid("amount", "the price of this proof is fixed; leave it out")
            return Reviewed(proof, proof.status, proof.returned)
        _refuse_revision(proof)
        if verdict.approve:
            return _approve(caller, gig, task, proof, verdict)
        return _reject(caller, gig, task, proof, verdict)

    return db.write(write)


def _locked(gig: Gig, proof_id: str) -> tuple[Task, Proof]:
    """A proof and its task, the task locked first."""
    found = Proof.get_or_none(Proof.id == proof_id, Proof.gig_id == gig.id)
    if found is None:
        raise not_found("proof")
    task = tasks.locked(gig, found.task_id)
    (proof,) = db.lock(Proof.select().where(Proof.id == proof_id))
    return task, proof


def _refuse_revision(proof: Proof) -> None:
    """A verdict may change until a rollup carries it, the task went back, or the clock ruled."""
    if proof.rollup_id is not None:
        raise Refused(
            "in_rollup",
            "A payout already carries this proof, so its verdict is final.",
            rollup_id=proof.rollup_id,
        )
    if proof.returned:
        raise Refused("returned", "The task went back to the workers, so its rejection is final.")
    if proof.status == "timeout_approved":
        raise Refused("timeout_approved", "The review time ran out, so the approval is final.")


def _approve(caller: Caller, gig: Gig, task: Task, proof: Proof, verdict: Verdict) -> Reviewed:
    price, source = proof.locked_price_units, proof.price_source
    if price is None:
        price = gig.price_units if verdict.amount_units is None else verdict.amount_units
        source = "gig" if verdict.amount_units is None else "review"
    elif verdict.amount_units is not None:
        raise invalid("amount", "the price of this proof is fixed; leave it out")
    before = proof.status
    move(
        proof,
        "approve",
        Proof.rollup_id.is_null(),
        locked_price_units=price,
        price_source=source,
        feedback=verdict.feedback,
        rejection_tag=None,
        reviewed_at=clock.now(),
    )
    move(task, "approve")
    _tell(caller.account_id, gig, proof, revised=before != "pending", auto=False)
    return Reviewed(proof, before, requeued=False)


def _reject(caller: Caller, gig: Gig, task: Task, proof: Proof, verdict: Verdict) -> Reviewed:
    before = proof.status
    move(
        proof,
        "reject",
        Proof.rollup_id.is_null(),
        feedback=verdict.feedback,
        rejection_tag=verdict.rejection_tag or "other",
        reviewed_at=clock.now(),
    )
    plan = ask(gig.distribution).rejected(gigs.facts(gig), arrivals.facts(task), verdict.requeue)
    apply(plan, gig, task)
    requeued = any(isinstance(effect, PutBack) for effect in plan)
    if requeued:
        Proof.update(returned=True).where(Proof.id == proof.id).execute()
        proof.returned = True
        cancellation.catch(gig, task, caller.account_id)
    _tell(caller.account_id, gig, proof, revised=before != "pending", auto=False)
    return Reviewed(proof, before, requeued)


def _tell(actor: str, gig: Gig, proof: Proof, *, revised: bool, auto: bool) -> None:
    approved = proof.status in PAYABLE
    events.append(
        "proof.approved" if approved else "proof.rejected",
        events.Subject("proof", proof.id),
        actor=actor,
        gig_id=gig.id,
        mailbox_id=proof.mailbox_id,
        data={
            "gig_title": gig.title,
            "mailbox_id": proof.mailbox_id,
            "proof_id": proof.id,
            "task_identifier": proof.task_id,
            "amount": money_field(proof.locked_price_units if approved else 0),
            "feedback": proof.feedback,
            "rejection_tag": proof.rejection_tag,
            "revised": revised,
            "auto": auto,
        },
    )


def time_out(limit: int = 200) -> int:
    """Approve what nobody reviewed in time (R-05); answers how many proofs it was."""
    with db.reading():
        found = Proof.select(Proof.id).where(UNDECIDED, Proof.timeout_at <= clock.now())
        overdue = [row.id for row in found.order_by(Proof.timeout_at).limit(limit)]
    return sum(db.write(lambda row_id=proof_id: _time_out(row_id)) for proof_id in overdue)  # type: ignore[misc]


def _time_out(proof_id: str) -> bool:
    """However many processes ring at once, one of them makes the move."""
    found = Proof.get(Proof.id == proof_id)
    gig = gigs.get(found.gig_id)
    task = tasks.locked(gig, found.task_id)
    now = clock.now()
    if not take(Proof, proof_id, "time_out", Proof.timeout_at <= now, reviewed_at=now):
        return False
    proof = Proof.get(Proof.id == proof_id)
    if proof.locked_price_units is None:
        Proof.update(locked_price_units=gig.price_units, price_source="gig").where(
            Proof.id == proof_id
        ).execute()
        proof.locked_price_units = gig.price_units
    move(task, "approve")
    _tell("scheduler", gig, proof, revised=False, auto=True)
    return True
