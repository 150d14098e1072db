"""Handing in proofs, and reviewing them."""

from __future__ import annotations

from typing import Any

from engine import evidence, handing_in, proofs
from engine.handing_in import HandIn
from engine.proofs import Verdict
from web import auth, paging, views
from web.blueprint import Routes
from web.schemas import proofs as schemas

routes = Routes("proofs", "Proofs.")


@routes.route("/gigs/<gig_id>/proofs", methods=["POST"], refuses=[410, 429])
@routes.arguments(schemas.ProofSubmit)
@routes.response(201, schemas.ProofAnswer)
def hand_in(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Hand in a proof of a task that you hold, or take one that waits with its proof (R-01).

    410 `claim_lost` once your claim's time has run out or the owner has taken the task back. Taking
    one counts against your limits like any claim (M-05).
    """
    given = HandIn(
        task_id=body["task_identifier"],
        mailbox_id=body["mailbox_id"],
        evidence=body["proofs"],
        tags=body["tags"],
        private_note=body["private_note"],
    )
    proof = handing_in.submit(auth.caller(), gig_id, given)
    return {"proof": views.proof_view(proof, frozenset({"submitter"}))}


@routes.route("/gigs/<gig_id>/proofs")
@routes.arguments(schemas.ProofsQuery, location="query")
@routes.response(200, schemas.ProofList)
def list_proofs(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's proofs for its owner, his own for a worker; oldest first."""
    found, cursor = paging.page(
        f"proofs:{gig_id}",
        query,
        lambda limit, after: evidence.listed(auth.caller(), gig_id, limit, after, query),
        lambda row: (row[0].submitted_at, row[0].id),
    )
    shown = [views.proof_view(proof, seen_as) for proof, seen_as in found]
    return {"proofs": shown, "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/proofs/<proof_id>")
@routes.response(200, schemas.ProofAnswer)
def read_proof(gig_id: str, proof_id: str) -> dict[str, Any]:
    """One proof; the private note opens to the reviewer once it is paid (R-06)."""
    proof, seen_as = evidence.read(auth.caller(), gig_id, proof_id)
    return {"proof": views.proof_view(proof, seen_as)}


@routes.route("/gigs/<gig_id>/proofs/<proof_id>", methods=["PATCH"])
@routes.arguments(schemas.Review)
@routes.response(200, schemas.Reviewed)
def review(body: dict[str, Any], gig_id: str, proof_id: str) -> dict[str, Any]:
    """Approve or reject (R-04)."""
    verdict = Verdict(
        approve=body["action"] == "approve",
        feedback=body["feedback"],
        amount_units=body["amount_units"],
        rejection_tag=body["rejection_tag"],
        requeue=body["requeue"],
    )
    done = proofs.review(auth.caller(), gig_id, proof_id, verdict)
    return {
        "success": True,
        "status": done.proof.status,
        "locked_price_units": done.proof.locked_price_units,
        "price_source": done.proof.price_source,
        "revised": done.revised,
        "previous_status": done.previous_status,
        "requeued": done.requeued,
        "task_identifier": done.proof.task_id,
    }
