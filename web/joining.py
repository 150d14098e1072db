"""What somebody who has not joined may see of a gig, and what he joins it with (G-05, M-01)."""

from __future__ import annotations

from engine import gigs, invites
from engine.errors import Refused
from engine.invites import Invitation
from engine.models.gig import Gig
from engine.modes import ask
from web import limits, rendering
from web.rendering import Page


def page(gig_id: str) -> Page:
    """For an account that has no place in it; raises Refused where its invite is none."""
    gig, token = gigs.get(gig_id), rendering.parameter("invite")
    joins: Page = {
        "join_path": f"/api/gigs/{gig.id}/mailboxes",
        "notice": "You have not joined yet.",
    }
    if gig.status != "active":
        closed = {"notice": f"This gig is {gig.status}, so nobody joins it now."}
        return closed if token is None else {**invited(gig.id, token), **closed, "closed": True}
    if token is not None:
        return {**joins, **invited(gig.id, token), "join_body": {"invite": token}}
    if gig.join_policy == "open":
        return {**joins, **terms(gig), "join_body": {}}
    return {"notice": "This gig is by invite. Ask its owner for a link with an invite."}


def invited(gig_id: str, token: str) -> Page:
    """What an invite tells whoever has it (G-05, H-12)."""
    unknown = Refused("not_found", "There is no such invite to this gig. Ask for another link.")
    found: Invitation = invites.read(limits.public_token(token, invites.find, unknown))
    if found.gig.id != gig_id:
        raise unknown
    return {**terms(found.gig), "invited": found}


def terms(gig: Gig) -> Page:
    """What the work pays or an order costs, in dollars, and the gig itself."""
    listed = gig.list_price_units
    return {
        "gig": gig,
        "gig_price": rendering.price(gig.price_units),
        "list_price": None if listed is None else rendering.price(listed),
        "own_names": own_names(gig),
    }


def own_names(gig: Gig) -> bool:
    """Do its workers name their work themselves (U-03)?"""
    return ask(gig.distribution).proving(gigs.facts(gig)).own_names
