"""A worker's planning: his schedule, and to whom he may pass on what is routed to him."""

from __future__ import annotations

from typing import Any

from engine import desks, schedules
from engine.schedules import Schedule
from web import auth, paging
from web.blueprint import Routes
from web.paging import PageQuery
from web.schemas import planning as schemas

routes = Routes("planning", "Schedules, and who else takes planned work.")


@routes.route("/v1/me/schedule", key=auth.reads_tasks)
@routes.response(200, schemas.ScheduleView)
def schedule() -> Schedule:
    """Your time zone and working hours (I-04); needs the scope `tasks:read` or `all`."""
    return schedules.read(auth.reads_tasks())


@routes.route("/v1/me/schedule", methods=["PATCH"], key=auth.updates_tasks)
@routes.arguments(schemas.SchedulePatch)
@routes.response(200, schemas.ScheduleView)
def change_schedule(body: dict[str, Any]) -> Schedule:
    """Change them; needs the scope `tasks:update` or `all`.

    In another zone what you have planned stays at its moment, and is shown by its clocks.
    """
    return schedules.change(auth.updates_tasks(), body)


@routes.route("/v1/assignees", key=auth.reads_tasks)
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.AssigneeList)
def assignees(query: dict[str, Any]) -> dict[str, Any]:
    """To whom you may pass on what is routed to you (I-03): active workers of your gigs.

    Of those that are active, and of closed ones in which you have work in hand. An item can be
    passed within its own gig only; in one that is cancelled, 409 `gig_closed`, it is finished by
    whoever has it. Needs the scope `tasks:read` or `all`.
    """
    caller = auth.reads_tasks()
    found, cursor = paging.page(
        f"assignees:{caller.account_id}",
        query,
        lambda limit, after: desks.colleagues(caller, limit, after),
        lambda one: (one.number,),
    )
    return {"assignees": found, "next_cursor": cursor}
