"""Drafts: what the owner of a gig keeps to himself until he publishes it (T-05)."""

from __future__ import annotations

from typing import Any

from engine import commands, drafts, order_briefs, order_publishing, own_fields
from engine.errors import Refused
from engine.models.gig import Gig
from engine.models.task import Task
from engine.modes import ask
from engine.rules import money
from web import auth, order_views, outcome, paging, views, waiting
from web.blueprint import Routes
from web.order_views import Reader
from web.paging import PageQuery
from web.schemas import drafts as schemas
from web.schemas.accounts import Accepted
from web.schemas.forms import TBD, TEXT_TYPE, with_payload
from web.schemas.gigs import Success
from web.schemas.inbound import Submitted
from web.schemas.orders import Publish

routes = Routes("drafts", "Drafts.")
# What a draft shows of its row; what its two sides see of an order comes from `order_views`.
_COLUMNS = (
    "id",
    "gig_id",
    "status",
    "subject",
    "payload",
    "content_type",
    "tags",
    "priority",
    "assignee_id",
    "availability",
    "reserved_for",
    "not_before",
    "external_id",
    "created_at",
    "draft_saved_at",
)


def view(
    gig: Gig, task: Task, *, preview: bool = False, reader: Reader | None = None
) -> dict[str, Any]:
    """A draft as its form: what its mode does not take, and what nobody said, is null.

    An order as its two sides see it, for `reader`, who is one of them.
    """
    shown: dict[str, Any] = {name: getattr(task, name) for name in _COLUMNS}
    shown["price"] = None if task.price_units is None else money.to_dollars(task.price_units)
    if task.price_tbd:
        shown["price"] = TBD
    takes = ask(gig.distribution).info.query
    for name in ("priority", "availability"):
        if name not in takes:
            shown[name] = None
    if task.assignee_id is not None:
        shown["priority"] = None
    if task.mode_fields is not None:
        shown["fields_of_mode"] = own_fields.shown(gig, task.mode_fields)
    if task.client_id is not None and reader is not None:
        shown |= order_views.sides(task, reader)
        owed = shown.pop("shown_price_units")
        shown["price"] = None if owed is None else money.to_dollars(owed)
    return shown | views.payload_view(task.payload, preview=preview)


@routes.route("/gigs/<gig_id>/drafts")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.DraftList)
def list_drafts(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's drafts, for its owner; also what its token may not spend (G-04).

    In a shop the orders that are not sent, as they can be published, also those that were undone:
    all of them for its vendor, and for a member his own.
    """
    caller = auth.caller()
    gig = drafts.gig_of(caller, gig_id)
    found, cursor = paging.page(
        f"drafts:{gig_id}",
        query,
        lambda limit, after: drafts.listed(caller, gig, limit, after),
        lambda one: (one.created_at, one.id),
    )
    reader = order_views.reader(caller, found)
    shown = [view(gig, one, preview=True, reader=reader) for one in found]
    return {"drafts": shown, "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/payload", methods=["PATCH"])
@routes.arguments(schemas.PayloadChange)
@routes.response(200, schemas.DraftSaved)
def rewrite(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Rewrite the body of a draft, its subject, or both; its content type follows the body.

    The gig's owner rewrites a draft of his, and the buyer of an order that one until he has paid
    for it: 403 `not_draft_writer` for the vendor, 409 with the mode's name for all once it is paid.
    """
    caller = auth.caller()

    def change(task: Task) -> dict[str, Any]:
        if "payload" not in body:
            return body
        try:
            return with_payload(body, task.content_type)
        except Refused:
            # What was JSON may be said in plain words now.
            return with_payload(body, TEXT_TYPE)

    gig, task = order_briefs.rewrite(caller, gig_id, task_id, change)
    shown = view(gig, task, reader=order_views.reader(caller, [task]))
    return {**drafts.answer(task, updated=True), "draft": shown}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/draft", methods=["PATCH"], does="draft.edit")
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
    """Delete a draft for good.

    A draft order its buyer may delete, while it was never sent and no deposit was tried for it:
    403 `not_draft_writer` for the vendor, 409 with the mode's name for what was (O-06).
    """
    order_briefs.delete(auth.caller(), gig_id, task_id)
    return {"success": True}


@routes.route("/gigs/<gig_id>/tasks/<task_id>/publish", methods=["POST"], refuses=[402, 429, 502])
@routes.arguments(Publish)
@routes.response(200, Submitted)
@routes.alt_response(202, schema=Accepted)
def publish(body: dict[str, Any], gig_id: str, task_id: str) -> Any:
    """Send a draft, under its own id: answers what the webhook would (T-02).

    In a `task_escrow` gig it is funded first (Y-07). Where it cannot be, or where nobody could be
    given it, it stays a draft, and the refusal says `draft_kept`.

    An order its buyer sends by paying for it: `amount` is deposited from his hot wallet, or from
    another one by what it has signed (`authorization`), and once that is final the order is the
    vendor's (O-01, O-02). A transaction's hash is never taken for a payment. Meanwhile a second
    call is 409 `in_progress`, afterwards 409 `not_draft`. Each refusal says whether money moved:
    with `funded` it did, and publishing again, with no amount, finishes the order and charges
    nothing. Nothing was charged at 402 `insufficient_funds` (`short` says what lacks), 503
    `balance_unreadable`, `chain_unreadable`, `fee_rate_unreadable`, 409 `residue_too_large`,
    `contract_mismatch`, `authorization_cancelled` (ask for another quote) and
    `deposit_id_squatted` (publish again), 400 `contract_wallet`, `amount_required`,
    `fractional_cents` and `below_list_price`, 502 `deposit_failed`; nor at 409 `no_quote`,
    `quote_expired` and `fee_moved`, where another quote is to be signed, nor while the shop takes
    no orders: `shop_closed`, `vendor_away`. `deposit_unreconciled` means that an earlier attempt
    has yet to end. `state_mismatch` and `ledger_missing` are for the operator.
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed()
    if command_id is None:
        taken = order_publishing.publish_any(auth.caller(), gig_id, task_id, body)
        if taken.command is None:
            return taken.answer
        command_id = outcome.recorded(taken.command)
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)
