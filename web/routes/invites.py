"""Invites into a gig."""

from __future__ import annotations

from typing import Any

from engine import invites
from web import auth, paging, views
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import gigs as schemas

routes = Routes("invites", "The invites into a gig.")


@routes.route("/gigs/<gig_id>/invites", methods=["POST"])
@routes.arguments(schemas.InviteCreate)
@routes.response(201, schemas.InviteAnswer)
def add(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """A new invite: for one, for N, or without limit (G-05)."""
    made = invites.add(auth.caller(), gig_id, body["max_uses"], body["email"], body["label"])
    return {"invite": views.invite_view(made)}


@routes.route("/gigs/<gig_id>/invites")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.InviteList)
def listed(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's invites that are not revoked, oldest first."""
    found, cursor = paging.page(
        f"invites:{gig_id}",
        query,
        lambda limit, after: invites.listed(auth.caller(), gig_id, limit, after),
        lambda one: (one.created_at, one.token),
    )
    return {"invites": [views.invite_view(one) for one in found], "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/invites/<token>", methods=["DELETE"])
@routes.response(200, schemas.Success)
def revoke(gig_id: str, token: str) -> dict[str, Any]:
    """Revoke an invite. Who has joined with it stays."""
    invites.revoke(auth.caller(), gig_id, token)
    return {"success": True}
