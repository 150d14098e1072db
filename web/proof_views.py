"""Proofs as their submitter and their reviewer may see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import proof_labels, rows
from engine.evidence import FREE, REVIEWER, SUBMITTER, Seen
from engine.models.proof import is_released_by_verdict, may_be_revised
from engine.operations import Caller
from web import order_views
from web.order_views import Reader


def proof_views(caller: Caller, found: Sequence[Seen]) -> list[dict[str, Any]]:
    """Proofs as the caller may see them, each by the name that he has given it.

    With a delivery of an order goes what was bought.
    """
    names = proof_labels.names_of(caller, [one.proof for one in found])
    orders = [one.order for one in found if one.order is not None]
    reader = order_views.reader(caller, orders)
    return [_view(one, names.get(one.proof.id), reader) for one in found]


def _view(seen: Seen, alias: str | None, reader: Reader) -> dict[str, Any]:
    """A proof; its private note opens to its reviewer once it is paid out, or, where the order was
    free, once it is approved (R-06).

    Whether the verdict may change is told to the reviewer.
    """
    proof, seen_as = seen.proof, seen.seen_as
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
    if seen.order is not None:
        view |= order_views.purchase(seen.order, reader)
    return view
