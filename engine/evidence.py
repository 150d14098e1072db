"""Reading proofs: which, and as whom. A draft is shown to its submitter alone (R-03)."""

from __future__ import annotations

from typing import Any

from engine import gigs, mailboxes, pages
from engine.db import db
from engine.errors import not_found
from engine.models.gig import Gig
from engine.models.proof import DRAFT, Proof
from engine.operations import OWNER, Caller, permit

SUBMITTER = "submitter"
Seen = tuple[Proof, frozenset[str]]


def read(caller: Caller, gig_id: str, proof_id: str) -> Seen:
    """A proof that the caller may see: his own, or any of his gig. Answers it and his roles."""
    with db.reading():
        gig = gigs.get(gig_id)
        return find(caller, gig, permit("proof.read", caller, gig), proof_id)


def find(caller: Caller, gig: Gig, has: frozenset[str], proof_id: str) -> Seen:
    """The same for a caller with these roles; 404 for one that he cannot see."""
    proof = Proof.get_or_none(Proof.id == proof_id, Proof.gig_id == gig.id)
    if proof is None:
        raise not_found("proof")
    seen_as = _seen_as(has, proof, mailboxes.ids_of(caller, gig))
    if not seen_as & ({SUBMITTER} if proof.status == "draft" else {OWNER, SUBMITTER}):
        raise not_found("proof")
    return proof, seen_as


def _seen_as(has: frozenset[str], proof: Proof, own: list[str]) -> frozenset[str]:
    return has | {SUBMITTER} if proof.mailbox_id in own else has


def listed(
    caller: Caller,
    gig_id: str,
    limit: int,
    after: pages.Position,
    filters: dict[str, Any],
) -> list[Seen]:
    """The gig's proofs for its owner, a worker's own for a worker; by (submitted_at, id)."""
    with db.reading():
        gig = gigs.get(gig_id)
        has = permit("proof.read", caller, gig)
        own = mailboxes.ids_of(caller, gig)
        his = Proof.mailbox_id.in_(own)
        query = Proof.select().where(
            Proof.gig_id == gig.id, (~DRAFT | his) if OWNER in has else his
        )
        if filters.get("status") is not None:
            query = query.where(Proof.status == filters["status"])
        if filters.get("task") is not None:
            named = filters["task"]
            query = query.where((Proof.task_id == named) | (Proof.task_identifier == named))
        found = pages.page(query, (Proof.submitted_at, Proof.id), limit, after)
        return [(proof, _seen_as(has, proof, own)) for proof in found]
