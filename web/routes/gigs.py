"""Gigs, invites, mailboxes."""

from __future__ import annotations

from typing import Any

from flask import Response, request

from engine import cancellation, commands, gigs, mailboxes, pot_refunds, webhook_secrets
from engine.errors import Refused
from web import auth, etags, outcome, paging, stream, views, waiting
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import gigs as schemas
from web.schemas.accounts import Accepted, Events
from web.schemas.money import Nothing

routes = Routes("gigs", "Gigs, the invites into them, and the workers' places in them.")


@routes.route("/gigs", methods=["POST"])
@routes.arguments(schemas.GigCreate)
@routes.response(201, schemas.GigCreated)
def create(body: dict[str, Any]) -> dict[str, Any]:
    """Open a gig (G-01)."""
    gig, invite = gigs.create(auth.caller(), body)
    view = views.gig_view(gig, owner=True)
    if invite is not None:
        view["invite_url"] = views.invite_view(invite)["invite_url"]
    return {"gig": view, "webhook_secret": webhook_secrets.of(gig)}


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
    """One gig; notes and the webhook's URL for its owner only (G-02).

    The ETag is the same for everybody, and stays while only the funds change.
    """
    gig, owner = gigs.read(auth.caller_if_any(), gig_id)
    return {"gig": views.gig_view(gig, owner=owner)}, etags.headers(gig.revision)


@routes.route("/gigs/<gig_id>", methods=["PATCH"], etag=True)
@routes.arguments(schemas.GigPatch)
@routes.response(200, schemas.GigAnswer)
def update(body: dict[str, Any], gig_id: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Change a gig; `status` closes and reopens it (G-08).

    With `If-Match` only if nobody has changed it since; without it in any case.
    """
    with etags.if_match() as revisions:
        gig = gigs.update(auth.caller(), gig_id, body, revisions)
    return {"gig": views.gig_view(gig, owner=True)}, etags.headers(gig.revision)


@routes.route("/gigs/<gig_id>/cancel", methods=["POST"])
@routes.arguments(Nothing)
@routes.response(200, schemas.GigCancelled)
@routes.alt_response(202, schema=Accepted)
def cancel(_: dict[str, Any], gig_id: str) -> Any:
    """Cancel a gig for good and give back what its pot does not owe (G-08).

    Called again it gives back what has become free since. 200 once the refunds are final; one that
    the token refuses is `failed`, stays owed, and is tried again by the next call.
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
@routes.response(200, schemas.GigAnswer)
def rotate_token(gig_id: str) -> dict[str, Any]:
    """A new token in the webhook's URL; the old one fails at once (G-04)."""
    return {"gig": views.gig_view(gigs.rotate_token(auth.caller(), gig_id), owner=True)}


@routes.route("/gigs/<gig_id>/invites", methods=["POST"])
@routes.arguments(schemas.InviteCreate)
@routes.response(201, schemas.InviteAnswer)
def invite(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """A new invite: for one, for N, or without limit (G-05)."""
    made = gigs.add_invite(auth.caller(), gig_id, body["max_uses"], body["email"], body["label"])
    return {"invite": views.invite_view(made)}


@routes.route("/gigs/<gig_id>/invites")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.InviteList)
def invites(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's invites that are not revoked, oldest first."""
    found, cursor = paging.page(
        f"invites:{gig_id}",
        query,
        lambda limit, after: gigs.invites(auth.caller(), gig_id, limit, after),
        lambda one: (one.created_at, one.token),
    )
    return {"invites": [views.invite_view(one) for one in found], "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/invites/<token>", methods=["DELETE"])
@routes.response(200, schemas.Success)
def revoke_invite(gig_id: str, token: str) -> dict[str, Any]:
    """Revoke an invite. Who has joined with it stays."""
    gigs.revoke_invite(auth.caller(), gig_id, token)
    return {"success": True}


@routes.route("/gigs/<gig_id>/mailboxes", methods=["POST"])
@routes.arguments(schemas.Join)
@routes.response(201, schemas.Joined)
@routes.alt_response(200, schema=schemas.Joined)
def join(body: dict[str, Any], gig_id: str) -> tuple[dict[str, Any], int]:
    """Join a gig; again gives the same mailbox (M-01)."""
    mailbox, made = mailboxes.join(auth.caller(), gig_id, body)
    answer: dict[str, Any] = {"mailbox": views.mailbox_view(mailbox, worker=True)}
    if made:
        answer["webhook_secret"] = webhook_secrets.of(mailbox)
    return answer, 201 if made else 200


@routes.route("/gigs/<gig_id>/mailboxes")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.MailboxList)
def list_mailboxes(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's workers for its owner, in the order in which they joined."""
    found, cursor = paging.page(
        f"mailboxes:{gig_id}",
        query,
        lambda limit, after: mailboxes.of_gig(auth.caller(), gig_id, limit, after),
        lambda one: (one.joined_at, one.id),
    )
    shown = [views.mailbox_view(one, worker=False) for one in found]
    return {"mailboxes": shown, "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/mailboxes/<mailbox_id>", methods=["PATCH"])
@routes.arguments(schemas.MailboxPatch)
@routes.response(200, schemas.MailboxAnswer)
def update_mailbox(body: dict[str, Any], gig_id: str, mailbox_id: str) -> dict[str, Any]:
    """Owner and worker each change their own fields (M-02)."""
    caller = auth.caller()
    mailbox = mailboxes.update(caller, gig_id, mailbox_id, body)
    own = mailbox.account_id == caller.account_id
    return {"mailbox": views.mailbox_view(mailbox, worker=own)}


@routes.route("/mailboxes/mine")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.MailboxList)
def my_mailboxes(query: dict[str, Any]) -> dict[str, Any]:
    """The caller's places in every gig, in the order in which he joined."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"mailboxes:{caller.account_id}",
        query,
        lambda limit, after: mailboxes.mine(caller, limit, after),
        lambda one: (one.joined_at, one.id),
    )
    shown = [views.mailbox_view(one, worker=True) for one in found]
    return {"mailboxes": shown, "next_cursor": cursor}


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
    rows = [views.event_view(one) for one in found]
    return {"events": rows, "next_after": found[-1].seq if found else query["after"]}
