"""Proofs as their submitter and their reviewer may see them."""

from __future__ import annotations

from typing import Any

from engine import rows
from engine.evidence import FREE, REVIEWER, SUBMITTER
from engine.models.proof import Proof, is_released_by_verdict, may_be_revised


def proof_view(
    proof: Proof, seen_as: frozenset[str], *, alias: str | None = None
) -> dict[str, Any]:
    """A proof; its private note opens to its reviewer once it is paid out, or, where the order was
    free, once it is approved (R-06).

    `seen_as` is what the reader is to it, as `engine/evidence.py` says; `alias` is the reader's own
    name for it. Whether the verdict may change is told to the reviewer.
    """
    free = FREE in seen_as
    view = rows.values(proof)
    view["task_identifier"] = proof.identifier
    view["price_pending"] = proof.locked_price_units is None
    view["resubmitted"] = proof.times_submitted > 1
    view["alias"] = alias
    if proof.times_submitted == 0:
        view["submitted_at"] = None
    opened = is_released_by_verdict(proof) if free else proof.paid_out_at is not None
    locked = bool(proof.private_note) and not opened
    view["private_note_locked"] = locked
    if locked and SUBMITTER not in seen_as:
        view["private_note"] = None
    if REVIEWER in seen_as:
        final = free and proof.status == "approved"
        view["can_revise"] = may_be_revised(proof) and not final
        view["revision_blocked_by_rollup_id"] = proof.rollup_id
        view["revision_blocked_by_requeue"] = proof.returned
        view["task_released_at"] = proof.returned_at
    return view
