"""What an owner changes about tasks, one at a time or many (P-01, R-02, T-06, A-01, A-02)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine import (
    assigning,
    availability,
    bulk_changes,
    deletions,
    order_briefs,
    task_changes,
)
from engine.bulk_changes import Applied
from engine.task_changes import Changed
from web import auth
from web.blueprint import Routes
from web.schemas import changes as schemas
from web.schemas.gigs import Success

routes = Routes("changes", "What an owner changes about tasks.")


def _priority(changed: Changed) -> dict[str, Any]:
    return {"id": changed.task.id, "priority": changed.task.priority}


def _tags(changed: Changed) -> dict[str, Any]:
    return {"id": changed.task.id, "tags": changed.task.tags}


def _price(changed: Changed) -> dict[str, Any]:
    units, source = task_changes.own_price(changed.gig, changed.task)
    return {
        "id": changed.task.id,
        "price_units": units,
        "price_tbd": changed.task.price_tbd,
        "price_source": source,
        "proof_updated": changed.proof_updated,
    }


@routes.route("/gigs/<gig_id>/tasks/<task_id>/priority", methods=["PATCH"], does="task.priority")
@routes.arguments(schemas.PriorityChange)
@routes.response(200, schemas.PriorityChanged)
def priority(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Move one waiting task; lower goes first (P-01)."""
    changed = task_changes.one(
        task_changes.PRIORITY, auth.caller(), gig_id, task_id, body["priority"]
    )
    return {"success": True, **_priority(changed)}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/price", methods=["PATCH"], does="task.price")
@routes.arguments(schemas.PriceChange)
@routes.response(200, schemas.PriceChanged)
def price(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Set what one task pays. Its holder is never paid less than when he took it (R-02)."""
    changed = task_changes.one(task_changes.PRICE, auth.caller(), gig_id, task_id, body["price"])
    return {"success": True, **_price(changed)}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/tags", methods=["PATCH"])
@routes.arguments(schemas.TagsChange)
@routes.response(200, schemas.TagsChanged)
def tags(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Replace the tags of one task."""
    changed = task_changes.one(task_changes.TAGS, auth.caller(), gig_id, task_id, body["tags"])
    return {"success": True, **_tags(changed)}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/private-details", methods=["PATCH"])
@routes.arguments(schemas.PrivateDetailsChange)
@routes.response(200, schemas.PrivateDetailsChanged)
def private_details(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Write the part of the brief that only the task's holder reads; null clears it.

    Of an order its buyer writes it, for the vendor, until he has paid: 403 `not_draft_writer` for
    the vendor, and 409 with the mode's name for everybody after that.
    """
    task = order_briefs.set_private_details(auth.caller(), gig_id, task_id, body["private_details"])
    return {"success": True, "id": task.id, "private_details": task.private_details}


@routes.route(
    "/gigs/<gig_id>/tasks/<task_id>/availability", methods=["PATCH"], does="task.availability"
)
@routes.arguments(schemas.AvailabilityChange)
@routes.response(200, schemas.AvailabilityChanged)
def change_availability(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Say who a waiting task is for; it keeps its place in the queue (T-06)."""
    task = availability.change(
        auth.caller(), gig_id, task_id, body["availability"], body["reserved_for"]
    )
    return {
        "success": True,
        "id": task.id,
        "availability": task.availability,
        "reserved_for": task.reserved_for,
    }


@routes.route("/gigs/<gig_id>/tasks/<task_id>/assign", methods=["POST"], does="task.assign")
@routes.arguments(schemas.Assignment)
@routes.response(200, schemas.Assigned)
def assign(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Give a task to one named worker, whoever has it now (A-01)."""
    given = assigning.assign(auth.caller(), gig_id, task_id, body["assign_to"])
    return {
        "success": True,
        "status": "assigned",
        "message_id": given.task.id,
        "mailbox_id": given.mailbox.id,
        "unchanged": given.unchanged,
    }


@routes.route("/gigs/<gig_id>/tasks/<task_id>", methods=["DELETE"], does="task.delete")
@routes.response(200, Success)
def delete(gig_id: str, task_id: str) -> dict[str, Any]:
    """Delete a task that nobody has in hand; its deposit goes back (A-02)."""
    deletions.delete(auth.caller(), gig_id, task_id)
    return {"success": True}


@routes.route("/gigs/<gig_id>/queue/<task_id>", methods=["DELETE"], does="task.delete")
@routes.response(200, Success)
def delete_one(gig_id: str, task_id: str) -> dict[str, Any]:
    """The same, by the task's place in the queue (A-02)."""
    deletions.delete(auth.caller(), gig_id, task_id)
    return {"success": True}


@routes.route("/gigs/<gig_id>/queue/all", methods=["DELETE"], does="queue.clear")
@routes.response(200, schemas.QueueDeleted)
def delete_queued(gig_id: str) -> dict[str, Any]:
    """Delete all that waits in the queue, also what is reserved (A-02)."""
    deleted, is_all = bulk_changes.delete_queued(auth.caller(), gig_id)
    return {"success": True, "deleted": deleted, "more": not is_all}


@routes.route("/gigs/<gig_id>/inbound/all", methods=["DELETE"], does="inbound.clear")
@routes.response(200, schemas.QueueDeleted)
def delete_inbound(gig_id: str) -> dict[str, Any]:
    """Delete all that came in and waits: the same as of the queue (A-02)."""
    deleted, is_all = bulk_changes.delete_inbound(auth.caller(), gig_id)
    return {"success": True, "deleted": deleted, "more": not is_all}


def _done(applied: Applied, view: Callable[[Changed], dict[str, Any]]) -> dict[str, Any]:
    return {
        "success": True,
        "updated": len(applied.changed),
        "applied": [view(changed) for changed in applied.changed.values()],
        "skipped": [{"id": name, "reason": why} for name, why in applied.skipped.items()],
    }


def _updates(body: dict[str, Any], field: str) -> dict[str, Any]:
    return {update["id"]: update[field] for update in body["updates"]}


@routes.route("/gigs/<gig_id>/queue/priorities", methods=["PATCH"], does="task.priority")
@routes.arguments(schemas.Priorities)
@routes.response(200, schemas.PrioritiesDone)
def priorities(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Move up to 100 waiting tasks in one call (P-01)."""
    applied = bulk_changes.apply(
        task_changes.PRIORITY,
        auth.caller(),
        gig_id,
        _updates(body, "priority"),
    )
    return _done(applied, _priority)


@routes.route("/gigs/<gig_id>/queue/prices", methods=["PATCH"])
@routes.arguments(schemas.Prices)
@routes.response(200, schemas.PricesDone)
def prices(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Price up to 100 tasks in one call."""
    applied = bulk_changes.apply(task_changes.PRICE, auth.caller(), gig_id, _updates(body, "price"))
    return _done(applied, _price)


@routes.route("/gigs/<gig_id>/queue/tags", methods=["PATCH"])
@routes.arguments(schemas.TagsOfMany)
@routes.response(200, schemas.TagsOfManyDone)
def tags_of_many(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Retag up to 100 tasks in one call."""
    applied = bulk_changes.apply(task_changes.TAGS, auth.caller(), gig_id, _updates(body, "tags"))
    return _done(applied, _tags)
