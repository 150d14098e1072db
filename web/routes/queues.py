"""Taking what is next, and what waits."""

from __future__ import annotations

from typing import Any

from engine import aliases, polls, queue_list, topics, violations
from web import auth, paging, task_modes, views, waiting
from web.blueprint import Routes
from web.schemas import queues as schemas

routes = Routes("queues", "The queues.")


@routes.route("/gigs/<gig_id>/queue/poll", methods=["POST"], refuses=[429], does="queue.poll")
@routes.arguments(schemas.PollQuery, location="query")
@routes.arguments(schemas.Poll)
@routes.response(200, schemas.Polled)
def poll(query: dict[str, Any], body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Claim the next tasks, each for this worker alone; with `wait`, once there are any (Q-06).

    What is reserved for him comes first, whatever he filters by. Fewer come when a limit leaves
    room for fewer; 429 `rate_limit_reached` or `open_tasks_reached` when it leaves none (M-05).
    """
    topic = topics.queue(gig_id)
    polled = polls.poll(
        auth.caller(),
        gig_id,
        body["count"],
        body["mailbox_id"],
        body["wanted"],
        still_there=lambda: waiting.still_there(topic),
    )
    if not polled.tasks:
        waiting.offer([topic], query["wait"])
    if waiting.slot().resumed:
        waiting.slot().exhausted = polls.nothing_waits(polled.gig)
    own = frozenset({polled.mailbox.id})
    names = aliases.of(auth.caller(), polled.tasks) if polled.tasks else {}
    return {
        "tasks": [
            views.task_view(polled.gig, task, mailbox_ids=own, alias=names.get(task.id))
            for task in polled.tasks
        ],
        "count": len(polled.tasks),
        "mailbox_id": polled.mailbox.id,
        "scan_exhausted": False,
        "filter_applied": body["wanted"].filters,
        **polled.allowance.view(),
    }


@routes.route("/gigs/<gig_id>/queue")
@routes.arguments(schemas.QueueQuery, location="query")
@routes.response(200, schemas.QueueList)
def queue(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """What is offered to all, in the queue's order. Reading claims nothing."""
    caller, wanted = auth.caller(), query["wanted"]
    found, cursor = paging.page(
        f"queue:{gig_id}",
        query,
        lambda limit, after: queue_list.page(caller, gig_id, limit, after, wanted),
        lambda one: (one.sort_key, one.task.number),
    )
    names = aliases.of(caller, [one.task for one in found])
    reports = violations.counts([one.task for one in found])
    modes = {}
    if found:
        first = found[0]
        modes = task_modes.of(
            first.gig,
            [one.task for one in found],
            owner=first.owner,
            mailbox_ids=first.mailbox_ids,
        )
    shown = []
    for one in found:
        view = views.task_view(
            one.gig,
            one.task,
            owner=one.owner,
            mailbox_ids=one.mailbox_ids,
            preview=True,
            alias=names.get(one.task.id),
            of_mode=modes.get(one.task.id),
        )
        if one.declined_count is not None:
            view["declined_count"] = one.declined_count
        if one.owner:
            view["violation_count"] = reports.get(one.task.number, 0)
        shown.append(view)
    return {"tasks": shown, "next_cursor": cursor}
