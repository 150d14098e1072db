"""What anybody may read who was sent a link: the token in it is the key (H-12)."""

from __future__ import annotations

from typing import Any

from engine import invites
from engine.errors import Refused
from web import limits, views
from web.blueprint import Routes
from web.schemas import public as schemas

routes = Routes("public", "What the links open that people are sent. No key is needed.")


@routes.route("/public/invite-info", key=None, refuses=[404, 410, 429])
@routes.arguments(schemas.InviteQuery, location="query")
@routes.response(200, schemas.InviteInfoAnswer)
def invite_info(query: dict[str, Any]) -> dict[str, Any]:
    """What an invite is to. Reading it uses nothing up (G-05)."""
    invite = limits.public_token(
        query["token"],
        invites.find,
        Refused(
            "not_found",
            "This invite does not exist, or was revoked. Check the link, or ask who sent it for "
            "another.",
        ),
    )
    return {"invite": views.invitation_view(invites.read(invite))}
