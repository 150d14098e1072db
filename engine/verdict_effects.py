"""What a verdict moves beside the proof itself, and how it is told; only inside `db.write`."""

from __future__ import annotations

from typing import Any

from engine import cancellation, clock, events, planning
from engine.apply import apply
from engine.deliveries import money_field
from engine.models.gig import Gig
from engine.models.proof import PAYABLE, Proof
from engine.models.task import Task
from engine.operations import Caller
from engine.plan_words import GIVING
from engine.plans import Effect, MoveTask, PutBack

# Why a rejected task did not go back to be done again, and what to do about it.
CLOSED = (
    "This gig is closed, so the task is not handed out again. Reopen the gig, and reject the proof "
    "again with requeue: true."
)
CANCELLED = "This gig is cancelled, so the task is over and goes to nobody else."
STAYS = "In this gig rejected work stays with its worker, who may hand in another proof of it."


def write(proof: Proof, **values: Any) -> None:
    """Set columns of a locked proof, in the table and in the row at hand."""
    Proof.update(**values).where(Proof.id == proof.id).execute()
    for name, value in values.items():
        setattr(proof, name, value)


def give_back(
    caller: Caller, gig: Gig, task: Task, proof: Proof, requeue: bool | None
) -> str | None:
    """Put the task of a rejected proof where its gig's mode says, which may make that final.

    Answers why it did not go back although it was to, as it is unless `requeue` is false. Where it
    was kept before, and stays, nothing changes.
    """
    wanted = requeue is not False
    goes_back = wanted and gig.status != "closed"
    plan = planning.rejected(gig, task, goes_back)
    if not any(map(_takes_away, plan)):
        if task.status != "rejected":
            apply(plan, gig, task, "rejected")
        if wanted and not goes_back:
            return CLOSED
        return STAYS if requeue else None
    apply(plan, gig, task, "rejected")
    over = gig.status == "cancelled"
    write(proof, returned=True, returned_at=None if over else clock.now())
    cancellation.catch(gig, task, caller.account_id)
    return CANCELLED if over else None


def _takes_away(effect: Effect) -> bool:
    """Is the work not its worker's any more, to be done again by somebody?"""
    if isinstance(effect, MoveTask):
        return effect.verb in ("return", "hand_back")
    return isinstance(effect, (PutBack, *GIVING))


def tell_released(caller: Caller, task: Task, proof: Proof) -> None:
    """A task that a rejection had kept goes back; the verdict is no new one."""
    events.append(
        "task.released",
        events.Subject("task", task.id),
        actor=caller.account_id,
        gig_id=task.gig_id,
        mailbox_id=proof.mailbox_id,
        data={"mailbox_id": proof.mailbox_id},
    )


def tell(actor: str, gig: Gig, proof: Proof, *, revised: bool, auto: bool = False) -> None:
    """Append `proof.approved` or `proof.rejected` (W-08), as the proof is now."""
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
            "task_identifier": proof.identifier,
            "amount": money_field(proof.locked_price_units if approved else 0),
            "feedback": proof.feedback,
            "rejection_tag": proof.rejection_tag,
            "revised": revised,
            "auto": auto,
        },
    )
