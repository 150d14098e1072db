"""Many verdicts in one call (R-04)."""

from __future__ import annotations

from collections.abc import Mapping

from engine import cancellation, proofs, tasks, verdict_prices
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.proof import Proof
from engine.operations import Caller, permit
from engine.proofs import Reviewed, Verdict

MOST_REVIEWS = 100


def review(
    caller: Caller, gig_id: str, verdicts: Mapping[str, Verdict]
) -> dict[str, Reviewed | Refused]:
    """Up to 100 verdicts, by proof id, in one transaction: each is made, or refused by itself.

    All tasks are locked first, in the order of their numbers, and the verdicts are made in that
    order too, by their templates where they are copies, as whoever else takes many locks does.
    """
    open_amounts = any(verdict.amount_units is not None for verdict in verdicts.values())
    fee_bps = verdict_prices.rate(caller, gig_id, open_amounts)

    def write() -> dict[str, Reviewed | Refused]:
        # One batch at a time: each puts tasks back into the queue as it comes to them.
        gig = cancellation.hold(gig_id, alone=True)
        permit("proof.review", caller, gig)
        made: dict[str, Reviewed | Refused] = {}
        for proof_id in _in_order(gig, list(verdicts)):
            try:
                made[proof_id] = db.write(
                    lambda one=proof_id: proofs.decide(caller, gig, one, verdicts[one], fee_bps)  # type: ignore[misc]
                )
            except Refused as refusal:
                made[proof_id] = refusal
        return {proof_id: made[proof_id] for proof_id in verdicts}

    return db.write(write)


def _in_order(gig: Gig, proof_ids: list[str]) -> list[str]:
    """The ids in the order in which their tasks are locked; those of no proof here come last."""
    found = Proof.select(Proof.id, Proof.task_id).where(
        Proof.id.in_(proof_ids), Proof.gig_id == gig.id
    )
    of_task: dict[str, list[str]] = {}
    for row in found:
        of_task.setdefault(row.task_id, []).append(row.id)
    held = tasks.all_locked(gig, list(of_task))
    held.sort(key=lambda task: (task.template_number or 0, task.number))
    ordered = [proof_id for task in held for proof_id in sorted(of_task[task.id])]
    return ordered + [proof_id for proof_id in proof_ids if proof_id not in ordered]
