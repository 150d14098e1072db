"""Reading one task, and what is kept back from the queue; a name of one's own for a task."""

from __future__ import annotations

from typing import Any

from engine import aliases, availability, shelf, violations
from web import auth, order_views, paging, task_modes, views
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import changes as change_schemas
from web.schemas import tasks as schemas

routes = Routes("tasks", "Tasks.")


@routes.route("/gigs/<gig_id>/tasks/<task_id>")
@routes.response(200, schemas.TaskAnswer)
def read(gig_id: str, task_id: str) -> dict[str, Any]:
    """One task with its whole body; for its holder and the owner with the private details.

    Of an order its buyer and its vendor are shown those and its money; other members of the shop
    see one that was sent, without the fields that say so, and no draft.
    """
    caller = auth.caller()
    seen = shelf.read(caller, gig_id, task_id)
    view = views.task_view(
        seen.gig,
        seen.task,
        owner=seen.owner,
        mailbox_ids=seen.mailbox_ids,
        alias=aliases.of(caller, [seen.task]).get(seen.task.id),
        reader=order_views.reader(caller, [seen.task]),
        of_mode=task_modes.of(
            seen.gig, [seen.task], owner=seen.owner, mailbox_ids=seen.mailbox_ids
        ).get(seen.task.id),
    )
    if seen.owner:
        view["violation_count"] = violations.counts([seen.task]).get(seen.task.number, 0)
    return {"task": view}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/alias", methods=["PATCH"])
@routes.arguments(change_schemas.AliasChange)
@routes.response(200, change_schemas.AliasGiven)
def give_alias(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Call a task by a name that only you are shown; null takes it away."""
    task = aliases.give(auth.caller(), gig_id, task_id, body["alias"])
    return {"success": True, "id": task.id, "alias": body["alias"]}


@routes.route("/gigs/<gig_id>/reserved")
@routes.arguments(PageQuery, location="query")
@routes.response(200, change_schemas.ReservedList)
def reserved(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """What is kept back from the queue: all of it for the owner, his own for a worker (T-06)."""
    caller = auth.caller()
    found, cursor = paging.page(
        f"reserved:{gig_id}",
        query,
        lambda limit, after: availability.kept_back(caller, gig_id, limit, after),
        lambda seen: (seen.task.created_at, seen.task.id),
    )
    names = aliases.of(caller, [seen.task for seen in found])
    reports = violations.counts([seen.task for seen in found])
    shown = []
    for seen in found:
        view = views.task_view(
            seen.gig,
            seen.task,
            owner=seen.owner,
            mailbox_ids=seen.mailbox_ids,
            preview=True,
            alias=names.get(seen.task.id),
        )
        if seen.owner:
            view["violation_count"] = reports.get(seen.task.number, 0)
        shown.append(view)
    return {"tasks": shown, "next_cursor": cursor}
