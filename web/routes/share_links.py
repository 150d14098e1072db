"""The link of one's own mailbox; what it opens is in `web/routes/public.py` (R-07)."""

from __future__ import annotations

from typing import Any

from engine import share_links
from web import auth
from web.blueprint import Routes
from web.schemas import share_links as schemas

routes = Routes("share_links", "The links of one's own mailboxes.")


@routes.route("/gigs/<gig_id>/mailboxes/<mailbox_id>/regenerate-token", methods=["POST"])
@routes.response(200, schemas.Regenerated)
def regenerate(gig_id: str, mailbox_id: str) -> dict[str, Any]:
    """A new share token; whoever has the old one is shut out at once (R-07)."""
    return {"share_token": share_links.regenerate(auth.caller(), gig_id, mailbox_id)}
