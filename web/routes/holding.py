"""What a worker does with the tasks that he holds, and what takes them from him."""

from __future__ import annotations

from typing import Any

from engine import declining, holds, violations
from web import auth
from web.blueprint import Routes
from web.schemas import holding as schemas

routes = Routes("holding", "Tasks in hand.")


def passed_on(returned_to_owner: bool) -> dict[str, Any]:
    """What is answered to whoever let go of a task."""
    if returned_to_owner:
        return {"success": True, "skipped": True, "returned_to_owner": True}
    return {"success": True}


@routes.route(
    "/gigs/<gig_id>/queue/<task_id>/decline", methods=["POST"], refuses=[410], does="queue.decline"
)
@routes.arguments(schemas.Decline)
@routes.response(200, schemas.PassedOn)
def decline(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Pass on a task, for this worker only: the others find it in its place (D-01).

    What the owner had assigned goes back to him. 410 `claim_lost` once the claim's time has run out
    or the owner has taken the task back.
    """
    returned = declining.decline(auth.caller(), gig_id, task_id, body["mailbox_id"])
    return passed_on(returned)


@routes.route(
    "/gigs/<gig_id>/queue/<task_id>/violation",
    methods=["POST"],
    refuses=[410],
    does="queue.violation",
)
@routes.arguments(schemas.Violation)
@routes.response(200, schemas.PassedOn)
def report(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Report a bad task to its owner, and pass on it as by a decline (A-02)."""
    returned = violations.report(
        auth.caller(), gig_id, task_id, body["violation"], body["mailbox_id"]
    )
    return passed_on(returned)


@routes.route(
    "/gigs/<gig_id>/tasks/<task_id>/heartbeat",
    methods=["POST"],
    refuses=[410],
    does="task.heartbeat",
)
@routes.arguments(schemas.Heartbeat)
@routes.response(200, schemas.Clock)
def heartbeat(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Say that you are still at a task: its `task_timeout` begins anew (Q-07).

    Not past the claim's `max_hold_seconds`, and never sooner than it would have ended. Nothing else
    that a worker does moves a claim's clock, but for accepting; 409 `not_accepted` before that.
    """
    until = holds.heartbeat(auth.caller(), gig_id, task_id, body["mailbox_id"])
    return {"expires_at": until}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/extend", methods=["POST"], does="task.extend")
@routes.arguments(schemas.Extend)
@routes.response(200, schemas.Extended)
def extend(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Give the holder more time (A-02).

    Before he has accepted it is more time to accept. A claim that has run out comes back if it was
    not yet taken back; 409 `not_held` afterwards.
    """
    until = holds.extend(auth.caller(), gig_id, task_id, body["seconds"])
    return {"success": True, "expires_at": until, "expired": False}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/recycle", methods=["POST"], does="task.recycle")
@routes.response(200, schemas.Recycled)
def recycle(gig_id: str, task_id: str) -> dict[str, Any]:
    """Take a task from its holder, who is not to blame and is not offered it again (A-02).

    It goes back to where it came from: to its place in the queue; to nobody in particular, if it
    was reserved; to its owner, if he had assigned it. A gig that pushes gives it to another worker,
    whom the answer names; where none can take it, it waits for one.
    """
    done = holds.recycle(auth.caller(), gig_id, task_id)
    if done.given_to is None:
        return {"success": True, "requeued": done.requeued}
    given = {"reassigned_to": done.given_to.id, "reassigned_to_name": done.given_to.name}
    return {"success": True, **given}
