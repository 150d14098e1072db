"""What the caller is told of, in every gig that is his or that he works in."""

from __future__ import annotations

from typing import Any

from engine import notification_list
from engine.models.notification import Notification
from engine.notification_list import Summary
from web import auth, paging
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import notifications as schemas

routes = Routes("notifications", "What you are told of: work handed in, verdicts, payouts, …")


@routes.route("/notifications")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.NotificationList)
def list_notifications(query: dict[str, Any]) -> dict[str, Any]:
    """What the caller was told, newest first (T-09). Nobody is told of what he did himself.

    What was seen 90 days ago is no longer listed.
    """
    caller = auth.caller()
    found, cursor = paging.page(
        f"notifications:{caller.account_id}",
        query,
        lambda limit, before: notification_list.listed(caller, limit, before),
        lambda one: (one.number,),
    )
    return {"notifications": [_view(one) for one in found], "next_cursor": cursor}


@routes.route("/notifications/summary")
@routes.response(200, schemas.Summary)
def summary() -> Summary:
    """Is there anything new? Cheap enough to be asked often."""
    return notification_list.summary(auth.caller())


@routes.route("/notifications/seen", methods=["POST"], refuses=[404])
@routes.arguments(schemas.Seen)
@routes.response(200, schemas.Summary)
def see(body: dict[str, Any]) -> Summary:
    """Mark notifications as seen; answers the summary. Saying it again changes nothing more.

    What arrives while this runs stays unseen.
    """
    return notification_list.see(auth.caller(), body["up_to"])


def _view(one: Notification) -> dict[str, Any]:
    return {
        **one.__data__,
        "id": notification_list.public_id(one),
        "subject": {"kind": one.subject_kind, "id": one.subject_id},
        "seen": one.seen_at is not None,
    }
