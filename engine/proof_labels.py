"""What people call proofs by: tags that both sides see, and names for oneself alone."""

from __future__ import annotations

from collections.abc import Iterable

from engine import events, evidence, gigs
from engine.db import db
from engine.errors import Refused, not_found
from engine.models.gig import Gig
from engine.models.proof import Proof, ProofAlias
from engine.operations import Caller, permit

# As long as its submitter may still change what he said.
_OPEN = ("draft", "pending")


def tag(caller: Caller, gig_id: str, proof_id: str, tags: list[str]) -> Proof:
    """Replace a proof's tags: the reviewer at any time, its submitter until it is decided.

    409 `already_reviewed` for the submitter after that. A draft is its submitter's alone.
    """

    def write() -> Proof:
        gig = gigs.get(gig_id)
        permit("proof.tags", caller, gig)
        seen = _held(caller, gig, proof_id)
        proof = seen.proof
        if evidence.REVIEWER not in seen.seen_as and proof.status not in _OPEN:
            raise Refused(
                "already_reviewed",
                "This proof is decided, so only its reviewer changes its tags now.",
            )
        before = proof.tags
        if before != tags:
            Proof.update(tags=tags).where(Proof.id == proof.id).execute()
            proof.tags = tags
            if proof.status != "draft":
                _tell(caller, proof, before)
        return proof

    return db.write(write)


def name(caller: Caller, gig_id: str, proof_id: str, alias: str | None) -> Proof:
    """Call a proof that the caller may read by a name of his own; None takes the name away.

    No event tells of it: the log has other readers.
    """

    def write() -> Proof:
        gig = gigs.get(gig_id)
        permit("proof.alias", caller, gig)
        proof = _held(caller, gig, proof_id).proof
        ProofAlias.delete().where(
            ProofAlias.account_id == caller.account_id, ProofAlias.proof_id == proof.id
        ).execute()
        if alias is not None:
            ProofAlias.create(account_id=caller.account_id, proof_id=proof.id, name=alias)
        return proof

    return db.write(write)


def names_of(caller: Caller, proofs: Iterable[Proof]) -> dict[str, str]:
    """The caller's own names, by proof id; proofs that he has not named are left out."""
    ids = [proof.id for proof in proofs]
    if not ids:
        return {}
    with db.reading():
        found = ProofAlias.select().where(
            ProofAlias.account_id == caller.account_id, ProofAlias.proof_id.in_(ids)
        )
        return {row.proof_id: row.name for row in found}


def _held(caller: Caller, gig: Gig, proof_id: str) -> evidence.Seen:
    """A proof that the caller may read, locked: whoever deletes a draft waits, or came first."""
    if not db.lock(Proof.select(Proof.id).where(Proof.id == proof_id, Proof.gig_id == gig.id)):
        raise not_found("proof")
    return evidence.find(caller, gig, proof_id)


def _tell(caller: Caller, proof: Proof, before: list[str]) -> None:
    events.append(
        "proof.changed",
        events.Subject("proof", proof.id),
        actor=caller.account_id,
        gig_id=proof.gig_id,
        mailbox_id=proof.mailbox_id,
        data={"fields": ["tags"], "from": before, "to": proof.tags},
    )
