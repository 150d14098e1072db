"""Proofs as their submitter and their reviewer may see them."""

from __future__ import annotations

from typing import Any

from engine import rows
from engine.evidence import SUBMITTER
from engine.models.proof import Proof, may_be_revised
from engine.operations import OWNER


def proof_view(
    proof: Proof, seen_as: frozenset[str], *, alias: str | None = None
) -> dict[str, Any]:
    """A proof; its private note opens to its reviewer once it is paid out (R-06).

    `seen_as` are the reader's roles in the gig, `submitter` among them where the proof is his own;
    `alias` is the reader's own name for it. Whether the verdict may change is told to the reviewer.
    """
    view = rows.values(proof)
    view["task_identifier"] = proof.identifier
    view["price_pending"] = proof.locked_price_units is None
    view["resubmitted"] = proof.times_submitted > 1
    view["alias"] = alias
    if proof.times_submitted == 0:
        view["submitted_at"] = None
    locked = bool(proof.private_note) and proof.paid_out_at is None
    view["private_note_locked"] = locked
    if locked and SUBMITTER not in seen_as:
        view["private_note"] = None
    if OWNER in seen_as:
        view["can_revise"] = may_be_revised(proof)
        view["revision_blocked_by_rollup_id"] = proof.rollup_id
        view["revision_blocked_by_requeue"] = proof.returned
        view["task_released_at"] = proof.returned_at
    return view
