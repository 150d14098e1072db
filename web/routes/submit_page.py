"""The page of a share link: a task as its mailbox may see it, and the form that hands in (R-07).

The token in the address is all that it takes. Buttons call the public API with it.
"""

from __future__ import annotations

from flask import Blueprint, Response

from engine import in_hand, share_links
from engine.errors import Refused
from engine.handing_in import MAX_NOTE_CHARACTERS
from engine.models.task import Task
from engine.own_work import MAX_NAME_CHARACTERS
from engine.rules import times
from engine.share_links import Link
from engine.violations import MAX_CHARACTERS
from web import errors, rendering, share_views, shares
from web.rendering import Page

routes = Blueprint("submit_page", __name__, template_folder="../templates")

_REJECTED = "Your proof of this task was rejected, and you cannot hand in another."
_OVER = {
    "submitted": "A proof of this task is handed in and waits for its review.",
    "approved": "The proof of this task was approved.",
    "rejected": _REJECTED,
}
_TIME_OVER = "The time for this task ran out, so it is no longer yours."
_READ_ONLY = "This task is for reading only; nobody can take it."
_OWN_COPY = "Each worker has a copy of this task. Open yours, by the id that came with it."
_GIVEN = "Nobody can take this task: the gig gives it to a worker by itself."
_WAITS = "This task waits. Handing in a proof takes it, if nobody was quicker."


@routes.route("/submit/<token>")
def submit(token: str) -> Response:
    """Where the link of a mailbox leads, and with `?task=` that task."""
    return rendering.answer("submit.html", "A share link", lambda: _page(token))


def _page(token: str) -> Page:
    keyless = {"keyless": True}
    try:
        link = _followed(token)
    except Refused as refusal:
        status = errors.status_of(refusal.code)
        return {**keyless, "notice": refusal.message, "status": status}
    task_id = rendering.parameter("task")
    page: Page = {
        **keyless,
        "link": link,
        "gig_price": rendering.price(link.gig.price_units),
        "task_id": task_id,
        "most_name": MAX_NAME_CHARACTERS,
        "most_note": MAX_NOTE_CHARACTERS,
        "most_violation": MAX_CHARACTERS,
        "takes_files": rendering.store() is not None,
        "file_body": {"share_token": token},
        "task_body": {"share_token": token, "task": task_id},
        "proof_body": {"share_token": token, "task_identifier": task_id},
    }
    if link.own_names:
        return {**page, "proves": True, "proof_body": {"share_token": token}}
    if task_id is None:
        return {**page, "notice": "Say which task it is: its id is all that is missing."}
    try:
        task = share_links.read_task(link, task_id)
    except Refused as refusal:
        status = errors.status_of(refusal.code)
        return {**page, "notice": refusal.message, "status": status}
    return {**page, **_shown(link, task)}


def _followed(token: str) -> Link:
    mailbox = shares.opened(token[: shares.MAX_TOKEN_CHARACTERS + 1])
    try:
        return share_links.follow(mailbox)
    except Refused as refusal:
        if refusal.code != "mailbox_inactive":
            raise
        raise Refused(refusal.code, rendering.not_active(mailbox)) from None


def _shown(link: Link, task: Task) -> Page:
    view = share_views.shared_task_view(link, task)
    rejected = share_links.rejected_proof(link, task)
    refusal = _over(link, task) if rejected is None else _REJECTED
    return {
        **rendering.body(task),
        "task": view,
        "rejected": rejected,
        "price": rendering.price(view.get("shown_price_units")),
        "until": times.iso_ms_or_none(view["expires_at"]),
        "notice": _WAITS if refusal is None and task.status == "queued" else refusal,
        "proves": refusal is None,
        "accept_by": times.iso_ms_or_none(task.accept_by),
        **_leaves(link, rejected is None and (task.status == "queued" or in_hand.has_now(task))),
    }


def _leaves(link: Link, may: bool) -> Page:
    """Which ways out of the task there are: to pass on it, and to report it."""
    return {
        "passes": may and not link.refuses("queue.decline"),
        "reports": may and not link.refuses("queue.violation"),
    }


def _over(link: Link, task: Task) -> str | None:
    """Why no proof of it can be handed in now, as far as that is plain beforehand."""
    if task.status == "claimed":
        return _TIME_OVER if in_hand.has_run_out(task) else link.refuses("proof.submit")
    if task.status != "queued":
        return _OVER[task.status]
    if task.availability == "view_only":
        return _READ_ONLY
    if not link.copies and not link.takes:
        return _GIVEN
    return _OWN_COPY if link.copies else share_links.why_lost(link, task)
