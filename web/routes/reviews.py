"""Reading proofs, and what is said of them."""

from __future__ import annotations

from typing import Any

from flask import Response

from engine import bulk_reviews, deletions, evidence, proof_labels, proof_reports, proofs
from engine.errors import Refused
from engine.evidence import Seen
from engine.proofs import Reviewed, Verdict
from web import auth, etags, paging
from web.blueprint import Routes
from web.proof_views import proof_views
from web.schemas import reviews as schemas
from web.schemas.proof_views import ProofAnswer

routes = Routes("reviews", "Proofs, and the verdicts on them.")


@routes.route("/gigs/<gig_id>/proofs")
@routes.arguments(schemas.ProofsQuery, location="query")
@routes.response(200, schemas.ProofList)
def list_proofs(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's proofs for its owner, his own for a worker; oldest first.

    In a shop its vendor reads them all, and each buyer those of his own orders. A draft is listed
    for its submitter alone.
    """
    caller = auth.caller()
    found, cursor = paging.page(
        f"proofs:{gig_id}",
        query,
        lambda limit, after: evidence.listed(caller, gig_id, limit, after, query),
        lambda seen: (seen.proof.submitted_at, seen.proof.id),
    )
    return {"proofs": proof_views(caller, found), "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/proofs/all", methods=["DELETE"], does="proof.clear")
@routes.response(409)
def delete_all(gig_id: str) -> Response:
    """No proof is ever deleted: payouts are settled against them (Y-02)."""
    deletions.delete_proofs(auth.caller(), gig_id)


@routes.route("/gigs/<gig_id>/proofs/<proof_id>", etag=True)
@routes.response(200, ProofAnswer)
def read_proof(gig_id: str, proof_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    """One proof.

    Its private note opens to the reviewer once it is paid out (R-06); what pays nothing opens none,
    but for a delivery of a free order, whose approval opens it. An order's reviewer is its buyer.
    The ETag names what was handed in: it changes when the proof is withdrawn and handed in again.
    """
    seen = evidence.read(auth.caller(), gig_id, proof_id)
    return _shown(seen), etags.headers(seen.proof.times_submitted)


def _shown(seen: Seen) -> dict[str, Any]:
    (view,) = proof_views(auth.caller(), [seen])
    return {"proof": view}


@routes.route("/gigs/<gig_id>/proofs/<proof_id>", methods=["PATCH"], etag=True)
@routes.arguments(schemas.Review)
@routes.response(200, schemas.Reviewed)
def review(
    body: dict[str, Any], gig_id: str, proof_id: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Approve or reject (R-04).

    The same verdict again changes nothing; with other feedback or another tag it is revised. A
    verdict is final once a rollup carries the proof (409 `in_rollup`), its task has gone back to be
    done again (`returned`), or the review time has run out (`timeout_approved`). What is disputed
    may only be approved (`reported`), which ends the dispute for good (`dispute_over`). With
    `If-Match` only if what was handed in is what you have read. Settling carries rejected proofs as
    well, which pay nothing.

    Of an order only its buyer decides: 403 for the vendor. The approval of a free order is final
    (`free_order_approved`); an order that is being undone answers `in_progress`, and one that was,
    `order_withdrawn`.
    """
    with etags.if_match() as read:
        done = proofs.review(auth.caller(), gig_id, proof_id, _verdict(body), read)
    return _told(done), etags.headers(done.proof.times_submitted)


def _verdict(body: dict[str, Any]) -> Verdict:
    return Verdict(
        approve=body["action"] == "approve",
        feedback=body.get("feedback"),
        amount_units=body["amount_units"],
        rejection_tag=body["rejection_tag"],
        requeue=body.get("requeue"),
    )


def _told(done: Reviewed) -> dict[str, Any]:
    told = {
        "success": True,
        "status": done.proof.status,
        "locked_price_units": done.proof.locked_price_units,
        "price_source": done.proof.price_source,
        "revised": done.revised,
        "previous_status": done.previous_status,
        "requeued": done.requeued,
        "task_identifier": done.proof.identifier,
    }
    return told if done.requeue_error is None else {**told, "requeue_error": done.requeue_error}


@routes.route("/gigs/<gig_id>/proofs/bulk-review", methods=["POST"])
@routes.arguments(schemas.BulkReviews)
@routes.response(200, schemas.BulkReviewsDone)
def bulk_review(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Up to 100 verdicts in one call, each made or refused by itself; answered in their order.

    What is malformed refuses the whole batch before any verdict is made.
    """
    verdicts = {one["proof_id"]: _verdict(one) for one in body["reviews"]}
    made = bulk_reviews.review(auth.caller(), gig_id, verdicts)
    return {
        "success": True,
        "reviewed": sum(isinstance(one, Reviewed) for one in made.values()),
        "results": [{"proof_id": proof_id, **_result(one)} for proof_id, one in made.items()],
    }


def _result(one: Reviewed | Refused) -> dict[str, Any]:
    if isinstance(one, Reviewed):
        return _told(one)
    return {"success": False, "error": one.message, "reason": one.code}


@routes.route("/gigs/<gig_id>/proofs/<proof_id>/report", methods=["POST"])
@routes.arguments(schemas.Report)
@routes.response(200, ProofAnswer)
def report(body: dict[str, Any], gig_id: str, proof_id: str) -> dict[str, Any]:
    """Dispute what the end of the review time has approved, before a payout carries it (R-05).

    A reported proof is not paid. Its price stays set aside in a cancelled gig, and a deposit of its
    own stays in the contract, until its reviewer approves it after all; he cannot reject it. 409
    `not_reportable` for any other proof. Again changes nothing.

    Of an order either side may report; then its buyer may approve it, either side may undo it, and
    where neither does, the operator rules.
    """
    proof = proof_reports.report(auth.caller(), gig_id, proof_id, body["reason"])
    return _shown(evidence.reads(auth.caller(), proof))


@routes.route("/gigs/<gig_id>/proofs/<proof_id>/tags", methods=["PATCH"])
@routes.arguments(schemas.ProofTags)
@routes.response(200, schemas.ProofTagged)
def change_tags(body: dict[str, Any], gig_id: str, proof_id: str) -> dict[str, Any]:
    """Replace a proof's tags.

    Its reviewer may at any time, the submitter until it is decided (409 `already_reviewed`).
    """
    proof = proof_labels.tag(auth.caller(), gig_id, proof_id, body["tags"])
    return {"success": True, "id": proof.id, "tags": proof.tags}


@routes.route("/gigs/<gig_id>/proofs/<proof_id>/alias", methods=["PATCH"])
@routes.arguments(schemas.ProofName)
@routes.response(200, schemas.ProofNamed)
def give_alias(body: dict[str, Any], gig_id: str, proof_id: str) -> dict[str, Any]:
    """Call a proof by a name that only you see; null takes it away."""
    proof = proof_labels.name(auth.caller(), gig_id, proof_id, body["alias"])
    return {"success": True, "id": proof.id, "alias": body["alias"]}
