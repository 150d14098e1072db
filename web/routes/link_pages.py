"""The pages that links open: a task to take, a task to read, a gig to join.

Each is rendered here for whoever asks. Without a key it asks for one, which its script keeps in the
browser's session and sends in the header `x-api-key`: it is in no address and no cookie. With it
the same address answers what this visitor may see; buttons call the API. Nothing is loaded from
elsewhere, and what a task says is text, or sanitised HTML in a frame where nothing runs.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import nh3
from flask import Blueprint, Response, make_response, render_template, request

from engine import gigs, invites, mailboxes, named_claims, shelf
from engine.errors import Refused, not_found
from engine.operations import Caller
from engine.shelf import Seen
from web import auth, errors, limits, views

routes = Blueprint("link_pages", __name__, template_folder="../templates")

# Pictures would be fetched from elsewhere, which the page forbids.
TAGS = nh3.ALLOWED_TAGS - {"img"}
MAX_INVITE_CHARACTERS = 100
Page = dict[str, Any]


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
    units = view["shown_price_units"]
    is_html = seen.task.content_type.partition(";")[0].strip().lower() == "text/html"
    return {
        "gig": seen.gig,
        "task": view,
        "price": None if units is None else views.dollars(units),
        "html": nh3.clean(seen.task.payload, tags=TAGS) if is_html else None,
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
    gig, token = gigs.get(gig_id), _invite()
    page: Page = {"gig": gig, "gig_price": views.dollars(gig.price_units)}
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


def _invite() -> str | None:
    return request.args.get("invite", "")[:MAX_INVITE_CHARACTERS] or None


def _answer(title: str, shown: Callable[[Caller], Page]) -> Response:
    """The page for whoever asks; a refusal is a sentence on it, with its status."""
    page: Page
    try:
        if any("\0" in text for text in (*(request.view_args or {}).values(), _invite() or "")):
            raise not_found("page")
        caller = auth.caller_if_any()
        page = {"asks_key": True} if caller is None else shown(caller)
    except Refused as refusal:
        status = errors.status_of(refusal.code)
        page = {"notice": refusal.message, "status": status, "asks_key": status == 401}
    nonce = secrets.token_urlsafe(16)
    answer = make_response(
        render_template("link.html", title=title, nonce=nonce, **page), page.get("status", 200)
    )
    answer.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    answer.headers["X-Content-Type-Options"] = "nosniff"
    # An invite may be in the address.
    answer.headers["Referrer-Policy"] = "no-referrer"
    answer.headers["Cache-Control"] = "no-store"
    answer.headers["Vary"] = "x-api-key, authorization"
    return answer
