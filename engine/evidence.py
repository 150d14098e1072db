"""Reading proofs: which, and as whom."""

from __future__ import annotations

from typing import Any

from engine import gigs, mailboxes, pages
from engine.db import db
from engine.errors import not_found
from engine.models.proof import Proof
from engine.operations import OWNER, Caller, permit


def read(caller: Caller, gig_id: str, proof_id: str) -> tuple[Proof, frozenset[str]]:
    """A proof that the caller may see: his own, or any of his gig. Answers it and his roles."""
    with db.reading():
        gig = gigs.get(gig_id)
        has = permit("proof.read", caller, gig)
        proof = Proof.get_or_none(Proof.id == proof_id, Proof.gig_id == gig.id)
        own = mailboxes.ids_of(caller, gig)
        if proof is None or (OWNER not in has and proof.mailbox_id not in own):
            raise not_found("proof")
        return proof, _seen_as(has, proof, own)


def _seen_as(has: frozenset[str], proof: Proof, own: list[str]) -> frozenset[str]:
    return has | {"submitter"} if proof.mailbox_id in own else has


def listed(
    caller: Caller,
    gig_id: str,
    limit: int,
    after: pages.Position,
    filters: dict[str, Any],
) -> list[tuple[Proof, frozenset[str]]]:
    """The gig's proofs for its owner, a worker's own for a worker; by (submitted_at, id)."""
    with db.reading():
        gig = gigs.get(gig_id)
        has = permit("proof.read", caller, gig)
        own = mailboxes.ids_of(caller, gig)
        query = Proof.select().where(Proof.gig_id == gig.id)
        if OWNER not in has:
            query = query.where(Proof.mailbox_id.in_(own))
        if filters.get("status") is not None:
            query = query.where(Proof.status == filters["status"])
        if filters.get("task") is not None:
            query = query.where(Proof.task_id == filters["task"])
        found = pages.page(query, (Proof.submitted_at, Proof.id), limit, after)
        return [(proof, _seen_as(has, proof, own)) for proof in found]
