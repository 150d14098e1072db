"""The pages that links open: a task to take, a task to read, a gig to join.

Each is rendered here for whoever asks. Without a key it tells what an invite in its address is to,
and asks for a key, or an address of mail to send a code to. Its script keeps the key in the
browser's session and sends it in the header `x-api-key`: it is in no address and no cookie. With it
the same address answers what this visitor may see; buttons call the API.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from urllib.parse import quote

from flask import Blueprint, Response, redirect
from werkzeug.wrappers import Response as Redirect

from engine import (
    available_work,
    copies,
    gigs,
    in_hand,
    install,
    mailboxes,
    named_claims,
    order_standing,
    shelf,
)
from engine.db import db
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import ask, takes_orders
from engine.operations import Caller
from engine.rules import times
from engine.shelf import Seen
from web import auth, errors, fund_views, joining, rendering, views
from web.rendering import Page

routes = Blueprint("link_pages", __name__, template_folder="../templates")
routes.add_app_template_filter(rendering.linked, "linked")
_NOT_SENT = "This order is in your shop. Its buyer has not sent it, so there is nothing to do yet."


@routes.route("/")
def front() -> Redirect:
    """Whoever has the bare address alone reads what there is."""
    return redirect("/docs")


@routes.route("/claim/<gig_id>/<task_id>")
@routes.route("/task/<gig_id>/<task_id>")
@routes.route("/gigs/<gig_id>/order/<task_id>")
def task(gig_id: str, task_id: str) -> Response:
    """One task, and the button that takes it; each address shows the same (C-01, T-06).

    The last is what a shop's people keep as the address of an order (O-01).
    """
    return _answer("A task", gig_id, lambda caller: _task(caller, gig_id, task_id))


@routes.route("/join/<gig_id>")
def join(gig_id: str) -> Response:
    """A gig, and the button that joins it (G-05, M-01)."""
    return _answer("A gig", gig_id, lambda caller: _gig(caller, gig_id))


def _task(caller: Caller, gig_id: str, task_id: str) -> Page:
    gig = gigs.get(gig_id)
    if takes_orders(gig):
        return _order(caller, gig_id, task_id)
    if "queue.claim" in _refuses(gig):
        return _given(caller, gig, task_id)
    outlook = named_claims.look(caller, gig_id, task_id)
    refusal = outlook.refusal
    page: Page = {"notice": None if refusal is None else _sentence(caller, outlook.gig, refusal)}
    try:
        seen = shelf.read(caller, gig_id, task_id if outlook.held is None else outlook.held.id)
    except Refused as unseen:
        if refusal is None or refusal.code == "not_found":
            status = errors.status_of(unseen.code)
            return {"notice": unseen.message, "status": status, **_way_in(caller, outlook.gig)}
        if refusal.code == "not_joined":
            return {**page, **joining.page(gig_id), "status": errors.status_of(refusal.code)}
        return page
    page |= _shown(seen)
    if refusal is not None and seen.owner and refusal.code == "not_joined":
        page["notice"] = "This gig is yours. Workers who have joined it take the task here."
    elif outlook.held is not None:
        mailbox = mailboxes.get(seen.gig.id, str(outlook.held.mailbox_id))
        page["notice"] = "This task is yours."
        page["held"] = outlook.held.id
        page["submit_path"] = _submit_path(mailbox, outlook.held.id)
    elif refusal is None:
        page["claim_path"] = f"/api/gigs/{seen.gig.id}/queue/{seen.task.id}/claim"
    return page


def _given(caller: Caller, gig: Gig, task_id: str) -> Page:
    """A task of a gig in which nobody takes any by its link: who has it was given it."""
    try:
        seen = shelf.read(caller, gig.id, _own_copy(caller, gig, task_id) or task_id)
    except Refused as refusal:
        if refusal.code != "not_joined":
            raise
        return {**joining.page(gig.id), "status": errors.status_of(refusal.code)}
    page, task = _shown(seen), seen.task
    if task.mailbox_id not in seen.mailbox_ids or not in_hand.has_now(task):
        own = "This gig is yours. " if seen.owner else ""
        return {**page, "notice": own + _refuses(gig)["queue.claim"]}
    page |= {"held": task.id, "notice": "This task is yours."}
    if task.accept_by is not None:
        act = f"/api/gigs/{gig.id}/tasks/{task.id}"
        until = times.iso_ms_or_none(task.accept_by)
        page |= {"accept_path": f"{act}/accept", "reject_path": f"{act}/reject", "until": until}
        return {**page, "notice": "This task is offered to you."}
    desk = ask(gig.distribution).info.desk
    if desk is not None:
        return {**page, "desk_path": f"/api{desk.path}"}
    mailbox = mailboxes.get(gig.id, str(task.mailbox_id))
    return {**page, "submit_path": _submit_path(mailbox, task.id)}


def _own_copy(caller: Caller, gig: Gig, task_id: str) -> str | None:
    """The caller's copy of a task of which each worker has one."""
    with db.reading():
        task = Task.get_or_none(Task.id == task_id, Task.gig_id == gig.id)
        copy = None if task is None else copies.copy_of(caller.account_id, task)
        return None if copy is None else str(copy.id)


def _order(caller: Caller, gig_id: str, task_id: str) -> Page:
    """An order, which nobody takes: its vendor delivers it, its buyer pays and decides."""
    try:
        seen = shelf.read(caller, gig_id, task_id)
    except Refused as refusal:
        if refusal.code != "not_joined":
            raise
        return {**joining.page(gig_id), "status": errors.status_of(refusal.code)}
    page, gig = {**_shown(seen), **fund_views.words(seen.task)}, seen.gig
    if seen.owner and seen.task.status in order_standing.PRIVATE:
        return {**page, "notice": _NOT_SENT}
    if seen.owner:
        vendor = mailboxes.get(gig.id, str(gig.owner_mailbox_id))
        submit_path = _submit_path(vendor, seen.task.id)
        return {**page, "notice": "This order is in your shop.", "submit_path": submit_path}
    if seen.party:
        fund_path = f"/fund/{gig.id}/{seen.task.id}"
        return {**page, "notice": "This order is yours.", "fund_path": fund_path}
    return {**page, "notice": "This is an order of another member of this shop."}


def _shown(seen: Seen) -> Page:
    """What the page tells of a task, all of it as text but for a body of HTML."""
    view = views.task_view(seen.gig, seen.task, owner=seen.owner, mailbox_ids=seen.mailbox_ids)
    return {
        **rendering.body(seen.task),
        "gig": seen.gig,
        "task": view,
        "price": rendering.price(view.get("shown_price_units")),
        "private_details": view.get("private_details"),
    }


def _way_in(caller: Caller, gig: Gig) -> Page:
    """To the page of a gig that somebody who is not in it can join, where there is no task."""
    token = rendering.parameter("invite")
    with db.reading():
        is_in = gig.owner_id == caller.account_id or mailboxes.ids_of(caller, gig)
    if is_in or (token is None and gig.join_policy != "open"):
        return {}
    return {"gig_path": f"/join/{gig.id}" + ("" if token is None else f"?invite={quote(token)}")}


def _gig(caller: Caller, gig_id: str) -> Page:
    gig = gigs.get(gig_id)
    try:
        mailbox = mailboxes.active_of(caller, gig)
    except Refused as refusal:
        if refusal.code == "not_joined":
            is_owner = gig.owner_id == caller.account_id
            return _own_gig(gig) if is_owner else joining.page(gig_id)
        sentence = _sentence(caller, gig, refusal)
        if all(place.left_at is not None for place in _places(caller, gig)):
            return {**joining.page(gig_id), "notice": sentence}
        return {"gig": gig, "notice": sentence}
    if takes_orders(gig):
        return _shop(caller, gig, mailbox)
    page: Page = {
        "gig": gig,
        "notice": f"You have a place in this gig: {mailbox.id}.",
        "submit_path": _submit_path(mailbox),
    }
    if joining.own_names(gig):
        return {**page, "prove_path": f"/api/gigs/{gig.id}/proofs"}
    if available_work.polls(gig):
        return {**page, "poll_path": f"/api/gigs/{gig.id}/queue/poll"}
    desk = ask(gig.distribution).info.desk
    if desk is not None:
        return {**page, "submit_path": None, "desk_path": f"/api{desk.path}"}
    return {**page, "inbound_path": f"/api/mailboxes/{mailbox.id}/inbound"}


def _own_gig(gig: Gig) -> Page:
    """For the owner, who has no place in it; with an invite, or where it is open, he may join."""
    page = {**joining.terms(gig), "owns": True}
    if gig.status == "active" and (rendering.parameter("invite") or gig.join_policy == "open"):
        page |= joining.page(gig.id)
    return {**page, "notice": "This gig is yours. Workers join it by its invite."}


def _refuses(gig: Gig) -> Mapping[str, str]:
    return ask(gig.distribution).refuses(gigs.facts(gig))


def _shop(caller: Caller, gig: Gig, mailbox: Mailbox) -> Page:
    """How a member orders; and where orders land, for the vendor."""
    if gig.owner_id == caller.account_id:
        notice = f"This shop is yours. Orders land in {mailbox.id}."
        return {**joining.terms(gig), "notice": notice, "vendor": True}
    door = f"{views.public_url()}/api/inbound/webhook/{gig.id}?token={gig.token}&draft=true"
    notice = f"You may order in this shop: {mailbox.id}."
    return {**joining.terms(gig), "notice": notice, "order_url": door}


def _submit_path(mailbox: Mailbox, task_id: str | None = None) -> str | None:
    """The worker's own page, where he hands in; None while his place has no share link."""
    if mailbox.share_token is None:
        return None
    return f"/submit/{mailbox.share_token}" + ("" if task_id is None else f"?task={task_id}")


def _places(caller: Caller, gig: Gig) -> list[Mailbox]:
    with db.reading():
        return [mailboxes.get(gig.id, one) for one in mailboxes.ids_of(caller, gig)]


def _sentence(caller: Caller, gig: Gig, refusal: Refused) -> str:
    """A refusal as people read it."""
    if refusal.code != "mailbox_inactive":
        return refusal.message
    waits = [one for one in _places(caller, gig) if one.status == "pending_approval"]
    return rendering.not_active(waits[0]) if waits else refusal.message


def _keyless(gig_id: str) -> Page:
    """What somebody without a good key is shown: what his invite is to, and how to sign in."""
    mails = bool(install.current().settings.SMTP_URL)
    page: Page = {"asks_key": True, "mails": mails}
    token = rendering.parameter("invite")
    if token is None:
        return page
    try:
        return {**page, **joining.invited(gig_id, token)}
    except Refused as refusal:
        return {**page, "notice": refusal.message, "status": errors.status_of(refusal.code)}


def _answer(title: str, gig_id: str, shown: Callable[[Caller], Page]) -> Response:
    """The page for whoever asks; without a good key it asks for one."""

    def seen() -> Page:
        try:
            caller = auth.caller_if_any()
        except Refused as refusal:
            status = errors.status_of(refusal.code)
            return {**_keyless(gig_id), "notice": refusal.message, "status": status}
        return _keyless(gig_id) if caller is None else shown(caller)

    return rendering.answer("link.html", title, seen)
