"""What was pushed to a worker and waits for his word (U-04)."""

from __future__ import annotations

from typing import Any

from engine import offers
from web import auth
from web.blueprint import Routes
from web.schemas import holding as schemas
from web.schemas.gigs import Success

routes = Routes("offers", "Tasks that are to be accepted.")


@routes.route("/gigs/<gig_id>/tasks/<task_id>/accept", methods=["POST"], refuses=[410])
@routes.arguments(schemas.OfferAnswer)
@routes.response(200, schemas.OfferAccepted)
def accept(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Take on a task that was pushed to you, before its `accept_by` (U-04).

    The time for the work begins. Handing in a proof accepts as well. Again answers the same; 409
    `nothing_to_accept` for a task that is no offer, 410 `claim_lost` once it has moved on.
    """
    task = offers.accept(auth.caller(), gig_id, task_id, body["mailbox_id"])
    return {"success": True, "status": task.status, "expires_at": task.expires_at}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/reject", methods=["POST"], refuses=[410])
@routes.arguments(schemas.OfferAnswer)
@routes.response(200, Success)
def reject(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Pass on a task that was pushed to you, instead of accepting it (U-04).

    It goes to another worker, or waits for one, and is not pushed to you again; your copy of a task
    that everybody has is discarded. Again changes nothing. 409 `already_accepted` afterwards.
    """
    offers.reject(auth.caller(), gig_id, task_id, body["mailbox_id"])
    return {"success": True}
