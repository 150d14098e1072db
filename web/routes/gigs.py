"""Gigs: opening, reading, changing and closing them."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from engine import (
    cancellation,
    commands,
    gig_changes,
    gigs,
    pot_refunds,
    webhook_secrets,
)
from engine.errors import Refused
from engine.operations import OWNER
from web import auth, etags, outcome, paging, stream, views, waiting
from web.blueprint import Routes
from web.schemas import gigs as schemas
from web.schemas.accounts import Accepted, Events
from web.schemas.gig_fields import GigCreate, GigPatch
from web.schemas.money import Nothing

routes = Routes("gigs", "Gigs.")


@routes.route("/gigs", methods=["POST"])
@routes.arguments(GigCreate)
@routes.response(201, schemas.GigCreated)
def create(body: dict[str, Any]) -> dict[str, Any]:
    """Open a gig (G-01)."""
    gig, invite = gig_changes.create(auth.caller(), body)
    view = views.gig_view(gig, owner=True)
    if invite is not None:
        view["invite_url"] = views.invite_view(invite)["invite_url"]
    answer = {"gig": view, "webhook_secret": webhook_secrets.of(gig)}
    if gig.owner_mailbox_id is not None:
        answer["vendor_mailbox_id"] = gig.owner_mailbox_id
    return answer


@routes.route("/gigs", methods=["GET"], key=None)
@routes.response(410)
def browse() -> Response:
    """There is no list of all gigs (G-02)."""
    raise Refused("gone", "There is no list of all gigs. GET /api/gigs/mine lists yours.")


@routes.route("/gigs/mine")
@routes.arguments(schemas.MineQuery, location="query")
@routes.response(200, schemas.GigList)
def mine(query: dict[str, Any]) -> dict[str, Any]:
    """The gigs of the caller, newest first."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"gigs:{caller.account_id}",
        query,
        lambda limit, after: gigs.mine(caller, query["tag"], limit, after),
        lambda gig: (gig.created_at, gig.id),
    )
    return {"gigs": [views.gig_view(gig, owner=True) for gig in found], "next_cursor": cursor}


@routes.route("/gigs/<gig_id>", key=auth.caller_if_any, etag=True)
@routes.response(200, schemas.GigAnswer)
def read(gig_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    """One gig; notes and the webhook's URL for its owner only, but see there (G-02).

    A shop shows beside them what a buyer must know before he pays: the fee and the chain (O-04).

    The ETag is the same for everybody, and stays while only the funds change.
    """
    gig, has = gigs.read(auth.caller_if_any(), gig_id)
    view = views.gig_view(gig, owner=OWNER in has, has=has)
    return {"gig": view}, etags.headers(gig.revision)


@routes.route("/gigs/<gig_id>", methods=["PATCH"], etag=True)
@routes.arguments(GigPatch)
@routes.response(200, schemas.GigAnswer)
def update(body: dict[str, Any], gig_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Change a gig; `status` closes and reopens it (G-08).

    With `If-Match` only if nobody has changed it since; without it in any case. A shop whose orders
    are paid for is not closed before each deposit has ended (409 `unsettled_orders` names them).
    """
    with etags.if_match() as revisions:
        gig = gig_changes.update(auth.caller(), gig_id, body, revisions)
    return {"gig": views.gig_view(gig, owner=True)}, etags.headers(gig.revision)


@routes.route("/gigs/<gig_id>", methods=["DELETE"], etag=True, does="gig.close")
@routes.response(200, schemas.GigClosed)
def close(gig_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Close a gig: no new tasks, no new claims, and work in hand goes on (G-08).

    Again it changes nothing; `PATCH {"status": "active"}` opens it again. Nothing is deleted.
    """
    with etags.if_match() as revisions:
        gig = gig_changes.close(auth.caller(), gig_id, revisions)
    view = views.gig_view(gig, owner=True)
    return {"success": True, "gig": view}, etags.headers(gig.revision)


@routes.route("/gigs/<gig_id>/cancel", methods=["POST"], does="gig.cancel")
@routes.arguments(Nothing)
@routes.response(200, schemas.GigCancelled)
@routes.alt_response(202, schema=Accepted)
def cancel(_: dict[str, Any], gig_id: str) -> Any:
    """Cancel a gig for good and give back what its pot does not owe (G-08).

    So do the deposits of tasks that nobody holds, each to whoever made it. Called again it gives
    back what has become free since. 200 once all of that is final; a refund that the token refuses
    is `failed`, stays owed, and is tried again by the next call.
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed()
    result: dict[str, Any] | None = None
    if command_id is None:
        cancelled = cancellation.request(auth.caller(), gig_id)
        result = cancelled.answer
        if cancelled.command is not None:
            command_id = outcome.recorded(cancelled.command)
    if command_id is not None:
        still = outcome.under_way(command_id, seconds)
        if still is not None:
            return still
        result = commands.result_of(command_id)
    assert result is not None
    return {
        "gig": views.gig_view(gigs.get(gig_id), owner=True),
        "refunds": [one.__data__ for one in pot_refunds.by_ids(result["refund_ids"])],
        "kept_funds": result["kept_funds"],
    }


@routes.route("/gigs/<gig_id>/rotate-token", methods=["POST"])
@routes.arguments(schemas.Confirm)
@routes.response(200, schemas.GigAnswer)
def rotate_token(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """A new token in the webhook's URL; the old one fails at once (G-04).

    Where members order it locks out every buyer, so it takes `{"confirm": true}`; 409
    `requires_confirmation` without it.
    """
    gig = gig_changes.rotate_token(auth.caller(), gig_id, confirmed=body["confirm"])
    return {"gig": views.gig_view(gig, owner=True)}


@routes.route("/gigs/<gig_id>/events")
@routes.arguments(schemas.EventsQuery, location="query")
@routes.response(200, Events)
@routes.alt_response(200, content_type=stream.CONTENT_TYPE, schema={"type": "string"})
def list_events(query: dict[str, Any], gig_id: str) -> Any:
    """What happened, after a position; a member sees what concerns him (H-15).

    With `Accept: text/event-stream` it goes on for as long as the caller stays, and after a break
    from his `Last-Event-ID`.
    """
    caller = auth.caller()
    if request.method == "GET" and request.accept_mimetypes.best == stream.CONTENT_TYPE:
        return stream.events(caller, gig_id, query["after"])
    found = gigs.history(caller, gig_id, query["after"], query["limit"])
    gig = gigs.get(gig_id)
    rows = [views.event_view(one, caller, gig) for one in found]
    return {"events": rows, "next_after": found[-1].seq if found else query["after"]}
