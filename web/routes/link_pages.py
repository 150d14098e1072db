"""The pages that links open: a task to take, a task to read, a gig to join.

Each is rendered here for whoever asks. Without a key it asks for one, which its script keeps in the
browser's session and sends in the header `x-api-key`: it is in no address and no cookie. With it
the same address answers what this visitor may see; buttons call the API.
"""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, Response

from engine import gigs, invites, mailboxes, named_claims, shelf
from engine.errors import Refused
from engine.operations import Caller
from engine.shelf import Seen
from web import auth, errors, limits, rendering, views
from web.rendering import Page

routes = Blueprint("link_pages", __name__, template_folder="../templates")


@routes.route("/claim/<gig_id>/<task_id>")
@routes.route("/task/<gig_id>/<task_id>")
def task(gig_id: str, task_id: str) -> Response:
    """One task, and the button that takes it; either address shows the same (C-01, T-06)."""
    return _answer("A task", lambda caller: _task(caller, gig_id, task_id))


@routes.route("/join/<gig_id>")
def join(gig_id: str) -> Response:
    """A gig, and the button that joins it (G-05, M-01)."""
    return _answer("A gig", lambda caller: _gig(caller, gig_id))


def _task(caller: Caller, gig_id: str, task_id: str) -> Page:
    outlook = named_claims.look(caller, gig_id, task_id)
    refusal = outlook.refusal
    page: Page = {"notice": None if refusal is None else refusal.message}
    try:
        seen = shelf.read(caller, gig_id, task_id if outlook.held is None else outlook.held.id)
    except Refused:
        if refusal is None or refusal.code == "not_found":
            raise
        if refusal.code == "not_joined":
            return {**page, **_joining(gig_id), "status": errors.status_of(refusal.code)}
        return page
    page |= _shown(seen)
    if refusal is not None and seen.owner and refusal.code == "not_joined":
        page["notice"] = "This gig is yours. Workers who have joined it take the task here."
    elif outlook.held is not None:
        page["notice"] = "This task is yours."
        page["held"] = outlook.held.id
    elif refusal is None:
        page["claim_path"] = f"/api/gigs/{seen.gig.id}/queue/{seen.task.id}/claim"
    return page


def _shown(seen: Seen) -> Page:
    """What the page tells of a task, all of it as text but for a body of HTML."""
    view = views.task_view(seen.gig, seen.task, owner=seen.owner, mailbox_ids=seen.mailbox_ids)
    return {
        "gig": seen.gig,
        "task": view,
        "price": rendering.price(view["shown_price_units"]),
        "html": rendering.sanitised(seen.task),
        "private_details": view.get("private_details"),
    }


def _gig(caller: Caller, gig_id: str) -> Page:
    gig = gigs.get(gig_id)
    try:
        mailbox = mailboxes.active_of(caller, gig)
    except Refused as refusal:
        page = _joining(gig_id)
        return page if refusal.code == "not_joined" else {**page, "notice": refusal.message}
    return {
        "gig": gig,
        "notice": f"You have a place in this gig: {mailbox.id}.",
        "poll_path": f"/api/gigs/{gig.id}/queue/poll",
    }


def _joining(gig_id: str) -> Page:
    """What somebody who has not joined may see of a gig, and what he joins with."""
    gig, token = gigs.get(gig_id), rendering.parameter("invite")
    page: Page = {"gig": gig, "gig_price": rendering.price(gig.price_units)}
    page |= {"join_path": f"/api/gigs/{gig.id}/mailboxes", "notice": "You have not joined yet."}
    if token is not None:
        unknown = Refused("not_found", "There is no such invite to this gig. Ask for another link.")
        invited = invites.read(limits.public_token(token, invites.find, unknown))
        if invited.gig.id != gig.id:
            raise unknown
        return {**page, "owner_name": invited.owner_name, "join_body": {"invite": token}}
    if gig.join_policy == "open":
        return {**page, "join_body": {}}
    return {"notice": "This gig is by invite. Ask its owner for a link with an invite."}


def _answer(title: str, shown: Callable[[Caller], Page]) -> Response:
    """The page for whoever asks; without a key it asks for one."""

    def seen() -> Page:
        caller = auth.caller_if_any()
        return {"asks_key": True} if caller is None else shown(caller)

    return rendering.answer("link.html", title, seen)
