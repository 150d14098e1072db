"""Handing in proofs."""

from __future__ import annotations

from typing import Any

from engine import evidence, handing_in, proof_drafts
from engine.handing_in import HandedIn, HandIn
from engine.models.proof import Proof
from web import auth
from web.blueprint import Routes
from web.proof_views import proof_views
from web.schemas import proofs as schemas
from web.schemas.gigs import Success
from web.schemas.proof_views import ProofAnswer

routes = Routes("proofs", "Handing in proofs.")


@routes.route("/gigs/<gig_id>/proofs", methods=["POST"], refuses=[410, 429])
@routes.arguments(schemas.ProofSubmit)
@routes.response(201, schemas.ProofHandedIn)
def hand_in(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Hand in a proof of a task that you hold, or take one that waits with its proof (R-01).

    410 `claim_lost` once your claim's time has run out or the owner has taken the task back. Taking
    one counts against your limits like any claim (M-05). With `draft` the task is yours likewise
    and its time runs on, but nobody else sees the proof until you submit it; 409 `draft_exists`
    names the draft that you have of this task already (R-03), `already_proven` says that the task
    has been handed in, `not_sent` that its buyer has yet to send the order.
    """
    given = HandIn(
        task_id=body["task_identifier"],
        mailbox_id=body["mailbox_id"],
        evidence=body["evidence"],
        tags=body["tags"],
        private_note=body["private_note"],
        asking_price_units=body["asking_price_units"],
        draft=body["draft"],
    )
    return _handed_in(handing_in.submit(auth.caller(), gig_id, given))


@routes.route("/gigs/<gig_id>/proofs/<proof_id>/draft", methods=["PATCH"], refuses=[410])
@routes.arguments(schemas.DraftChange)
@routes.response(200, ProofAnswer)
def edit(body: dict[str, Any], gig_id: str, proof_id: str) -> dict[str, Any]:
    """Change a draft of yours (R-03). 409 `not_draft` once it is handed in."""
    return _shown(proof_drafts.edit(auth.caller(), gig_id, proof_id, body))


@routes.route("/gigs/<gig_id>/proofs/<proof_id>/submit", methods=["POST"], refuses=[410])
@routes.response(200, schemas.ProofHandedIn)
def submit(gig_id: str, proof_id: str) -> dict[str, Any]:
    """Hand in a draft of yours; its price is locked and its review begins now (R-02, R-03)."""
    return _handed_in(proof_drafts.submit(auth.caller(), gig_id, proof_id))


@routes.route(
    "/gigs/<gig_id>/proofs/<proof_id>/withdraw",
    methods=["POST"],
    refuses=[429],
    does="proof.withdraw",
)
@routes.response(200, ProofAnswer)
def withdraw(gig_id: str, proof_id: str) -> dict[str, Any]:
    """Take back a proof that waits for its verdict: it is a draft again (R-03).

    Its task is in your hands again at the price that you took it at, and its time has run on: 409
    `time_over` if that is over by now. It needs a free place among the tasks that you may hold
    (M-05). 409 `not_pending` once there is a verdict.
    """
    return _shown(proof_drafts.withdraw(auth.caller(), gig_id, proof_id))


@routes.route("/gigs/<gig_id>/proofs/<proof_id>", methods=["DELETE"], refuses=[410])
@routes.response(200, Success)
def delete(gig_id: str, proof_id: str) -> dict[str, Any]:
    """Delete a draft of yours for good; its task stays in your hands (R-03).

    Work that you named yourself is let go of with it (U-03).
    """
    proof_drafts.delete(auth.caller(), gig_id, proof_id)
    return {"success": True}


def _handed_in(done: HandedIn) -> dict[str, Any]:
    warning = {} if done.warning is None else {"warning": done.warning}
    return {**_shown(done.proof), **warning}


def _shown(proof: Proof) -> dict[str, Any]:
    caller = auth.caller()
    (view,) = proof_views(caller, [evidence.reads(caller, proof)])
    return {"proof": view}
