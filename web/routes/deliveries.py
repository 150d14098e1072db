"""What was sent to the caller's webhooks, sending it again, and the secrets that sign it."""

from __future__ import annotations

from typing import Any

from engine import delivery_log, endpoints, secret_rotation
from engine.delivery_log import Logged
from engine.models.delivery import Endpoint
from web import auth, paging
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import deliveries as schemas

routes = Routes("deliveries", "Outgoing webhooks: the log, sending again, endpoints, secrets.")


@routes.route("/deliveries")
@routes.arguments(schemas.DeliveriesQuery, location="query")
@routes.response(200, schemas.DeliveryList)
def list_deliveries(query: dict[str, Any]) -> dict[str, Any]:
    """The deliveries to the caller's endpoints with every try, newest first (W-06, W-09)."""
    caller, endpoint, status = auth.caller(), query["endpoint"], query["status"]
    found, cursor = paging.page(
        f"deliveries:{caller.account_id}",
        query,
        lambda limit, before: delivery_log.listed(caller, limit, before, endpoint, status),
        lambda one: (one.delivery.created_at, one.delivery.id),
    )
    return {"deliveries": [_row(one) for one in found], "next_cursor": cursor}


@routes.route("/deliveries/<delivery_id>/redeliver", methods=["POST"])
@routes.response(200, schemas.DeliveryAnswer)
def redeliver(delivery_id: str) -> dict[str, Any]:
    """Send it again: the same `webhook-id`, ten fresh tries (W-06).

    While the endpoint is disabled the delivery waits as `paused`.
    """
    return {"delivery": _row(delivery_log.redeliver(auth.caller(), delivery_id))}


@routes.route("/deliveries/replay", methods=["POST"])
@routes.arguments(schemas.Replay)
@routes.response(200, schemas.Replayed)
def replay(body: dict[str, Any]) -> dict[str, Any]:
    """Send again all that failed since a time, at one endpoint or at all of them (W-06)."""
    count = delivery_log.replay(auth.caller(), body["endpoint_id"], body["since"])
    return {"replayed": count}


@routes.route("/deliveries/endpoints")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.EndpointList)
def list_endpoints(query: dict[str, Any]) -> dict[str, Any]:
    """The URLs that the caller registered, and what waits for each; oldest first."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"endpoints:{caller.account_id}",
        query,
        lambda limit, after: endpoints.mine(caller, limit, after),
        lambda one: (one.created_at, one.id),
    )
    return {"endpoints": _endpoints(found), "next_cursor": cursor}


@routes.route("/deliveries/endpoints/<endpoint_id>/enable", methods=["POST"])
@routes.response(200, schemas.EndpointAnswer)
def enable(endpoint_id: str) -> dict[str, Any]:
    """Send to a disabled endpoint again, what waits for it first (W-09)."""
    (shown,) = _endpoints([endpoints.enable(auth.caller(), endpoint_id)])
    return {"endpoint": shown}


@routes.route("/gigs/<gig_id>/webhook-secret/rotate", methods=["POST"])
@routes.arguments(schemas.Rotate)
@routes.response(200, schemas.Rotated)
def rotate_of_gig(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """A new secret for the gig's webhooks; for a time both sign, the new one first (W-03)."""
    secret = secret_rotation.of_gig(auth.caller(), gig_id, body["grace_seconds"])
    return {"webhook_secret": secret}


@routes.route("/gigs/<gig_id>/mailboxes/<mailbox_id>/webhook-secret/rotate", methods=["POST"])
@routes.arguments(schemas.Rotate)
@routes.response(200, schemas.Rotated)
def rotate_of_mailbox(body: dict[str, Any], gig_id: str, mailbox_id: str) -> dict[str, Any]:
    """The same for a mailbox's webhooks; its worker's alone to do."""
    grace = body["grace_seconds"]
    secret = secret_rotation.of_mailbox(auth.caller(), gig_id, mailbox_id, grace)
    return {"webhook_secret": secret}


def _endpoints(found: list[Endpoint]) -> list[dict[str, Any]]:
    waiting = endpoints.waiting([one.id for one in found])
    hidden = {"url": None}
    return [
        {
            **one.__data__,
            **(hidden if one.kind in endpoints.WRITE_ONLY else {}),
            "waiting": waiting.get(one.id, 0),
        }
        for one in found
    ]


def _row(one: Logged) -> dict[str, Any]:
    delivery = one.delivery
    return {
        **delivery.__data__,
        "endpoint_kind": one.endpoint_kind,
        "attempts": one.attempts,
        # A row keeps it while it is being tried and no longer needs it.
        "next_attempt_at": delivery.next_attempt_at if delivery.status == "pending" else None,
    }
