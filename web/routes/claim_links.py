"""Taking one named task; the page of its link is in `web/routes/link_pages.py`."""

from __future__ import annotations

from typing import Any

from engine import aliases, named_claims
from web import auth, views
from web.blueprint import Routes
from web.schemas import claim_links as schemas

routes = Routes("claim_links", "Taking one named task.")


@routes.route(
    "/gigs/<gig_id>/queue/<task_id>/claim", methods=["POST"], refuses=[410, 429], does="queue.claim"
)
@routes.arguments(schemas.Claim)
@routes.response(200, schemas.Claimed)
def claim(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Take this very task, or a copy of it; again by its holder spends nothing (C-01).

    409 with a `reason`: `view_only`, `other_worker`, `already_proven`, `assigned_elsewhere`,
    `withdrawn`, `taken`, `reserved_for_other`, `exhausted`.
    """
    caller = auth.caller()
    done = named_claims.claim(caller, gig_id, task_id, body["mailbox_id"])
    own = frozenset({done.mailbox.id})
    alias = aliases.of(caller, [done.task]).get(done.task.id)
    return {
        "success": True,
        "mailbox_id": done.mailbox.id,
        "already_held": done.already_held,
        "task": views.task_view(done.gig, done.task, mailbox_ids=own, alias=alias),
        **done.allowance.view(),
    }
