"""The verdict on a proof, by its reviewer or by the clock (R-04, R-05).

Handing one in: `handing_in.py`. What an approval pays: `verdict_prices.py`; what a verdict moves
and tells: `verdict_effects.py`.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from engine import (
    cancellation,
    clock,
    gigs,
    log_order,
    order_news,
    order_standing,
    parties,
    tasks,
    upload_uses,
    verdict_prices,
)
from engine.db import db
from engine.errors import Refused, invalid, not_found
from engine.models.gig import Gig
from engine.models.proof import DRAFT, UNDECIDED, Proof
from engine.models.task import Task
from engine.moves import move, take
from engine.operations import Caller, permit
from engine.verdict_effects import give_back, tell, tell_released, write

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
    """A review. `amount_units` only where the price is open (R-02).

    None is what was not said. A first rejection then has the tag `other` and returns the task; what
    repeats a verdict leaves it as it is.
    """

    approve: bool
    feedback: str | None = None
    amount_units: int | None = None
    rejection_tag: str | None = None
    requeue: bool | None = None


@dataclass(frozen=True)
class Reviewed:
    """What the review came to, for the answer (N: review answer).

    `revised` says that it changed a verdict that there was. `requeue_error` is a sentence, where
    the rejection holds but its task could not go back.
    """

    proof: Proof
    previous_status: str
    revised: bool = False
    requeue_error: str | None = None

    @property
    def requeued(self) -> bool:
        return self.proof.returned_at is not None


def review(
    caller: Caller,
    gig_id: str,
    proof_id: str,
    verdict: Verdict,
    read: Container[int] | None = None,
) -> Reviewed:
    """Approve or reject. Saying the same again changes nothing (F16); see `_refuse_revision`.

    Of an order only its buyer decides. With `read` only if the proof was handed in so many times: a
    worker may withdraw what was read and hand in something else (H-05).
    """
    fee_bps = verdict_prices.rate(caller, gig_id, verdict.amount_units is not None)

    def act() -> Reviewed:
        gig = cancellation.hold(gig_id)
        permit("proof.review", caller, gig)
        if read is not None:
            _require_read(caller, gig, proof_id, read)
        return decide(caller, gig, proof_id, verdict, fee_bps)

    return db.write(act)


def decide(
    caller: Caller, gig: Gig, proof_id: str, verdict: Verdict, fee_bps: int | None
) -> Reviewed:
    """The same in a gig that is held, by whoever may; `fee_bps` as `verdict_prices.rate` says."""
    task, proof = _to_decide(caller, gig, proof_id)
    order_standing.require_standing(task)
    if task.client_id is not None and verdict.amount_units is not None:
        raise invalid("amount", "what an order pays was fixed by its deposit; leave it out")
    if proof.status == ("approved" if verdict.approve else "rejected"):
        return _repeat(caller, gig, task, proof, verdict, fee_bps)
    _refuse_revision(task, proof)
    if verdict.approve:
        return _approve(caller, gig, task, proof, verdict, fee_bps)
    if proof.status == "reported":
        raise Refused(
            "reported",
            "The clock approved this proof and it is disputed: it stays unpaid unless you approve "
            "it, and cannot be rejected any more.",
        )
    return _reject(caller, gig, task, proof, verdict)


def _to_decide(caller: Caller, gig: Gig, proof_id: str) -> tuple[Task, Proof]:
    """What `locked` finds, for whoever pays for it: 403 for an order's vendor, 404 for others."""
    task, proof = locked(gig, proof_id)
    parties.require_client(caller, gig, task, "proof")
    return task, proof


def _require_read(caller: Caller, gig: Gig, proof_id: str, read: Container[int]) -> None:
    _, proof = _to_decide(caller, gig, proof_id)
    if proof.times_submitted not in read:
        raise Refused(
            "precondition_failed",
            "If-Match does not name this proof as it was handed in last. Read it again.",
            revision=proof.times_submitted,
        )


def locked(gig: Gig, proof_id: str) -> tuple[Task, Proof]:
    """A proof that is not a draft and its task, the task locked first; only inside `db.write`."""
    found = Proof.get_or_none(Proof.id == proof_id, Proof.gig_id == gig.id)
    if found is None:
        raise not_found("proof")
    task = tasks.locked(gig, found.task_id)
    proofs = db.lock(Proof.select().where(Proof.id == proof_id, ~DRAFT))
    if not proofs:
        raise not_found("proof")
    log_order.follow(proof_id)
    return task, proofs[0]


def _refuse_revision(task: Task, proof: Proof) -> None:
    """A verdict may change until a rollup carries it, the task went back, or the clock ruled.

    Where an order was free, its approval is the last word: it has opened what was kept back.
    """
    if proof.rollup_id is not None:
        raise Refused(
            "in_rollup",
            "A rollup already carries this proof, so its verdict is final.",
            rollup_id=proof.rollup_id,
        )
    if proof.returned:
        closed = "The task went back to the workers, so its rejection is final."
        if task.client_id is not None:
            closed = "The vendor has taken the order up again, so this rejection is final."
        raise Refused("returned", closed)
    if proof.status == "timeout_approved":
        raise Refused("timeout_approved", "The review time ran out, so the approval is final.")
    if proof.status == "approved" and task.order_free:
        raise Refused(
            "free_order_approved",
            "This order was free, so its approval has opened the vendor's note to you and is "
            "final.",
        )
    if proof.status == "approved" and proof.reported_at is not None:
        raise Refused(
            "dispute_over",
            "This proof was disputed and then approved, which ended the dispute for good.",
        )


def _approve(
    caller: Caller, gig: Gig, task: Task, proof: Proof, verdict: Verdict, fee_bps: int | None
) -> Reviewed:
    before, said = proof.status, proof.feedback
    price = verdict_prices.first(gig, proof, verdict.amount_units)
    raised = verdict_prices.is_raised(gig, proof, price.units)
    move(
        proof,
        "approve",
        Proof.rollup_id.is_null(),
        locked_price_units=price.units,
        price_source=price.source,
        feedback=verdict.feedback or "",
        rejection_tag=None,
        reviewed_at=clock.now(),
    )
    upload_uses.of_feedback(proof, caller.account_id, said)
    if before != "reported":
        move(task, "approve")
    if raised:
        verdict_prices.require_cover(gig, fee_bps)
    tell(caller.account_id, gig, proof, revised=before != "pending")
    return Reviewed(proof, before, revised=before != "pending")


def _reject(caller: Caller, gig: Gig, task: Task, proof: Proof, verdict: Verdict) -> Reviewed:
    before, said = proof.status, proof.feedback
    move(
        proof,
        "reject",
        Proof.rollup_id.is_null(),
        feedback=verdict.feedback or "",
        rejection_tag=verdict.rejection_tag or "other",
        reviewed_at=clock.now(),
        **verdict_prices.unagreed(task, proof),
    )
    upload_uses.of_feedback(proof, caller.account_id, said)
    why_not = give_back(caller, gig, task, proof, verdict.requeue)
    tell(caller.account_id, gig, proof, revised=before != "pending")
    return Reviewed(proof, before, before != "pending", why_not)


def _repeat(
    caller: Caller, gig: Gig, task: Task, proof: Proof, verdict: Verdict, fee_bps: int | None
) -> Reviewed:
    """The same verdict once more: what it says anew is recorded while it may be revised."""
    said = {"feedback": verdict.feedback, "rejection_tag": verdict.rejection_tag}
    new: dict[str, Any] = {
        name: value for name, value in said.items() if value not in (None, getattr(proof, name))
    }
    price = verdict_prices.again(proof, verdict.amount_units)
    if price is not None:
        new |= {"locked_price_units": price.units, "price_source": price.source}
    moves_task = not verdict.approve and verdict.requeue not in (None, proof.returned)
    if not new and not moves_task:
        return Reviewed(proof, proof.status)
    _refuse_revision(task, proof)
    raised = price is not None and verdict_prices.is_raised(gig, proof, price.units)
    if new:
        before = proof.feedback
        write(proof, reviewed_at=clock.now(), **new)
        upload_uses.of_feedback(proof, caller.account_id, before)
    if raised:
        verdict_prices.require_cover(gig, fee_bps)
    why_not = None
    if moves_task:
        why_not = give_back(caller, gig, task, proof, requeue=True)
        if proof.returned:
            tell_released(caller, task, proof)
    if new:
        tell(caller.account_id, gig, proof, revised=True)
    return Reviewed(proof, proof.status, bool(new), why_not)


def time_out(limit: int = 200) -> int:
    """Approve what nobody reviewed in time (R-05); answers how many proofs it was."""
    with db.reading():
        found = Proof.select(Proof.id).where(UNDECIDED, Proof.timeout_at <= clock.now())
        overdue = [row.id for row in found.order_by(Proof.timeout_at).limit(limit)]
    return sum(db.write(lambda row_id=proof_id: _time_out(row_id)) for proof_id in overdue)  # type: ignore[misc]


def _time_out(proof_id: str) -> bool:
    """However many processes ring at once, one of them makes the move."""
    found = Proof.get_or_none(Proof.id == proof_id)
    if found is None:
        # Withdrawn, and deleted as a draft.
        return False
    gig = gigs.get(found.gig_id)
    task = tasks.locked(gig, found.task_id)
    now = clock.now()
    if not take(Proof, proof_id, "time_out", Proof.timeout_at <= now, reviewed_at=now):
        return False
    log_order.follow(proof_id)
    proof = Proof.get(Proof.id == proof_id)
    price = verdict_prices.first(gig, proof)
    write(proof, locked_price_units=price.units, price_source=price.source)
    move(task, "approve")
    tell("scheduler", gig, proof, revised=False, auto=True)
    order_news.auto_approved(gig, task, proof)
    return True
