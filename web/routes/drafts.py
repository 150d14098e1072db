"""Drafts: what the owner of a gig keeps to himself until he publishes it (T-05)."""

from __future__ import annotations

from typing import Any

from engine import commands, drafts, order_publishing
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask
from engine.rules import money
from web import auth, outcome, paging, views, waiting
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import drafts as schemas
from web.schemas.accounts import Accepted
from web.schemas.forms import TBD, with_payload
from web.schemas.gigs import Success
from web.schemas.inbound import Submitted
from web.schemas.orders import Publish

routes = Routes("drafts", "Drafts.")


def view(gig: Gig, task: Task, *, preview: bool = False) -> dict[str, Any]:
    """A draft as its form: what its mode does not take, and what nobody said, is null."""
    shown: dict[str, Any] = dict(task.__data__)
    shown["price"] = None if task.price_units is None else money.to_dollars(task.price_units)
    if task.price_tbd:
        shown["price"] = TBD
    takes = ask(gig.distribution).info.query
    for name in ("priority", "availability"):
        if name not in takes:
            shown[name] = None
    if task.assignee_id is not None:
        shown["priority"] = None
    return shown | views.payload_view(task.payload, preview=preview)


@routes.route("/gigs/<gig_id>/drafts")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.DraftList)
def list_drafts(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's drafts, for its owner; also what its token may not spend (G-04)."""
    gig = drafts.gig_of(auth.caller(), gig_id)
    found, cursor = paging.page(
        f"drafts:{gig_id}",
        query,
        lambda limit, after: drafts.listed(gig, limit, after),
        lambda one: (one.created_at, one.id),
    )
    return {"drafts": [view(gig, one, preview=True) for one in found], "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/draft", methods=["PATCH"])
@routes.arguments(schemas.DraftPatch)
@routes.response(200, schemas.DraftSaved)
def change(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Change any part of a draft's form."""
    caller = auth.caller()
    gig, task = drafts.read(caller, gig_id, task_id)
    if "payload" in body or "content_type" in body:
        body = with_payload({"payload": task.payload, **body}, task.content_type)
    task = drafts.edit(caller, gig_id, task_id, body)
    return {**drafts.answer(task, updated=True), "draft": view(gig, task)}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/draft", methods=["DELETE"])
@routes.response(200, Success)
def delete(gig_id: str, task_id: str) -> dict[str, Any]:
    """Delete a draft for good."""
    drafts.delete(auth.caller(), gig_id, task_id)
    return {"success": True}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/publish", methods=["POST"], refuses=[402, 502])
@routes.arguments(Publish)
@routes.response(200, Submitted)
@routes.alt_response(202, schema=Accepted)
def publish(body: dict[str, Any], gig_id: str, task_id: str) -> Any:
    """Send a draft, under its own id: answers what the webhook would (T-02).

    In a `task_escrow` gig it is funded first (Y-07). Where it cannot be, or where nobody could be
    given it, it stays a draft, and the refusal says `draft_kept`.
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed()
    if command_id is None:
        taken = order_publishing.publish_any(auth.caller(), gig_id, task_id, body)
        if taken.command is None:
            return taken.answer
        command_id = outcome.recorded(taken.command)
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)
