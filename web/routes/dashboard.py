"""The owner's view of a whole gig."""

from __future__ import annotations

from typing import Any

from engine import aliases, dashboard, endpoints, evidence, payouts, receiving
from engine.models.gig import Gig
from web import auth, order_views, paging, task_modes, views
from web.blueprint import Routes
from web.mailbox_views import mailbox_view
from web.proof_views import proof_views
from web.schemas import dashboard as schemas

routes = Routes("dashboard", "The owner's view of a whole gig.")


@routes.route("/gigs/<gig_id>/dashboard")
@routes.arguments(schemas.DashboardQuery, location="query")
@routes.response(200, schemas.Dashboard)
def read(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """A gig at a glance: counts, and the newest of each list (G-07).

    For more of one list, give its cursor of `next` under the same name.
    """
    caller = auth.caller()
    gig = dashboard.gig_of(caller, gig_id)
    pages = {name: _page(gig, name, query) for name in schemas.LISTS}
    mailboxes, proofs, rollups, tasks = (pages[name][0] for name in schemas.LISTS)
    received, carried = receiving.of(mailboxes), payouts.proof_ids(rollups)
    names, reader = aliases.of(caller, tasks), order_views.reader(caller, tasks)
    modes = task_modes.of(gig, tasks, owner=True)
    disabled = dashboard.disabled_endpoints(gig)
    waiting = endpoints.waiting([one.id for one in disabled])
    return {
        "gig": views.gig_view(gig, owner=True),
        "counts": dashboard.counts(gig),
        "mailboxes": [
            mailbox_view(one, worker=False, received=received[one.id]) for one in mailboxes
        ],
        "proofs": proof_views(caller, evidence.seen_by_owner(gig, proofs)),
        "rollups": [views.rollup_view(one, carried[one.id]) for one in rollups],
        "tasks": [
            views.task_view(
                gig,
                one,
                owner=True,
                preview=True,
                alias=names.get(one.id),
                reader=reader,
                of_mode=modes.get(one.id),
            )
            for one in tasks
        ],
        "next": {f"{name}_cursor": cursor for name, (_, cursor) in pages.items()},
        "endpoints_disabled": [
            {**one.__data__, "waiting": waiting.get(one.id, 0)} for one in disabled
        ],
    }


def _page(gig: Gig, name: str, query: dict[str, Any]) -> tuple[list[Any], str | None]:
    _, columns = dashboard.LISTS[name]
    cursor = f"{name}_cursor"
    return paging.page(
        f"dashboard.{name}:{gig.id}",
        {"limit": query["limit"], "cursor": query[cursor]},
        lambda limit, before: dashboard.listed(gig, name, limit, before),
        lambda row: tuple(getattr(row, column.name) for column in columns),
        parameter=cursor,
    )
