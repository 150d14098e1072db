"""Sending tasks, taking them, handing in proofs, reviewing them."""

from __future__ import annotations

from typing import Any

from flask import request
from webargs import core

from engine import commands, evidence, proofs, shelf, tasks, topics
from engine.errors import invalid
from engine.proofs import HandIn, Verdict
from engine.tasks import Submission
from web import auth, outcome, paging, strict_json, views, waiting
from web.blueprint import Routes, body_of
from web.paging import PageQuery
from web.schemas import tasks as schemas
from web.schemas.accounts import Accepted
from web.schemas.gigs import Success

routes = Routes("work", "Tasks and proofs.")
DEFAULT_CONTENT_TYPE = "application/octet-stream"


@routes.route(
    "/inbound/webhook/<gig_id>",
    methods=["POST"],
    key=None,
    payload=True,
    refuses=[402, 403, 502],
)
@routes.arguments(schemas.SubmitQuery, location="query")
@routes.response(200, schemas.Submitted)
@routes.alt_response(202, schema=Accepted)
def submit(query: dict[str, Any], gig_id: str) -> Any:
    """Send a task: the body is the payload, the query shapes it (T-01).

    In a `task_escrow` gig it is funded first, and handed to workers once that is final (Y-07).
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed()
    if command_id is not None:
        return outcome.under_way(command_id, seconds) or commands.result_of(command_id)
    token = query.pop("token")
    content_type = request.content_type or DEFAULT_CONTENT_TYPE
    sent = Submission(payload=_payload(), content_type=content_type[:200], **query)
    taken = tasks.submit(gig_id, token, sent)
    if taken.command is None:
        return taken.answer
    command_id = outcome.recorded(taken.command)
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)


def _payload() -> str:
    """The body to the byte; refused only for what cannot be kept so (H-11)."""
    raw = body_of(request)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise invalid("payload", f"not UTF-8 at byte {error.start}") from error
    if "\0" in text:
        raise invalid("payload", "a NUL character is not allowed")
    if text and core.is_json(request.mimetype):
        strict_json.check_parses(text)
    return text


@routes.route("/gigs/<gig_id>/queue/poll", methods=["POST"])
@routes.arguments(schemas.PollQuery, location="query")
@routes.arguments(schemas.Poll)
@routes.response(200, schemas.Polled)
def poll(query: dict[str, Any], body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Claim the next tasks, each for this worker alone; with `wait`, once there are any (Q-06)."""
    topic = topics.queue(gig_id)
    gig, mailbox, taken = tasks.poll(
        auth.caller(),
        gig_id,
        body["count"],
        body["mailbox_id"],
        still_there=lambda: waiting.still_there(topic),
    )
    if not taken:
        waiting.offer([topic], query["wait"])
    if waiting.slot().resumed:
        waiting.slot().exhausted = tasks.nothing_waits(gig)
    return {
        "tasks": [views.task_view(gig, task) for task in taken],
        "count": len(taken),
        "mailbox_id": mailbox.id,
        "scan_exhausted": False,
        "filter_applied": False,
        "rate_limit": None,
        "open_tasks": None,
    }


@routes.route("/gigs/<gig_id>/queue/<task_id>/decline", methods=["POST"])
@routes.arguments(schemas.Decline)
@routes.response(200, Success)
def decline(body: dict[str, Any], gig_id: str, task_id: str) -> dict[str, Any]:
    """Pass on a task, for this worker only (D-01)."""
    tasks.decline(auth.caller(), gig_id, task_id, body["mailbox_id"])
    return {"success": True}


@routes.route("/gigs/<gig_id>/queue")
@routes.arguments(PageQuery, location="query")
@routes.response(200, schemas.QueueList)
def queue(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """What waits, in the queue's order. Reading claims nothing."""
    found, cursor = paging.page(
        f"queue:{gig_id}",
        query,
        lambda limit, after: shelf.queued(auth.caller(), gig_id, limit, after),
        lambda one: (one.sort_key, one.task.number),
    )
    shown = []
    for one in found:
        view = views.task_view(one.gig, one.task, preview=True)
        if one.for_owner:
            view["declined_count"] = one.declined_count
            view["external_id"] = one.task.external_id
        shown.append(view)
    return {"tasks": shown, "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/tasks/<task_id>")
@routes.response(200, schemas.TaskAnswer)
def read(gig_id: str, task_id: str) -> dict[str, Any]:
    """One task with its whole body; its holder for the owner."""
    gig, task, owner = shelf.read(auth.caller(), gig_id, task_id)
    view = views.task_view(gig, task)
    if owner:
        view["mailbox_id"] = task.mailbox_id
        view["external_id"] = task.external_id
    return {"task": view}


@routes.route("/gigs/<gig_id>/proofs", methods=["POST"])
@routes.arguments(schemas.ProofSubmit)
@routes.response(201, schemas.ProofAnswer)
def hand_in(body: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """Hand in a proof of a task (R-01)."""
    given = HandIn(
        task_id=body["task_identifier"],
        mailbox_id=body["mailbox_id"],
        evidence=body["proofs"],
        tags=body["tags"],
        private_note=body["private_note"],
    )
    proof = proofs.submit(auth.caller(), gig_id, given)
    return {"proof": views.proof_view(proof, frozenset({"submitter"}))}


@routes.route("/gigs/<gig_id>/proofs")
@routes.arguments(schemas.ProofsQuery, location="query")
@routes.response(200, schemas.ProofList)
def list_proofs(query: dict[str, Any], gig_id: str) -> dict[str, Any]:
    """The gig's proofs for its owner, his own for a worker; oldest first."""
    found, cursor = paging.page(
        f"proofs:{gig_id}",
        query,
        lambda limit, after: evidence.listed(auth.caller(), gig_id, limit, after, query),
        lambda row: (row[0].submitted_at, row[0].id),
    )
    shown = [views.proof_view(proof, seen_as) for proof, seen_as in found]
    return {"proofs": shown, "next_cursor": cursor}


@routes.route("/gigs/<gig_id>/proofs/<proof_id>")
@routes.response(200, schemas.ProofAnswer)
def read_proof(gig_id: str, proof_id: str) -> dict[str, Any]:
    """One proof; the private note opens to the reviewer once it is paid (R-06)."""
    proof, seen_as = evidence.read(auth.caller(), gig_id, proof_id)
    return {"proof": views.proof_view(proof, seen_as)}


@routes.route("/gigs/<gig_id>/proofs/<proof_id>", methods=["PATCH"])
@routes.arguments(schemas.Review)
@routes.response(200, schemas.Reviewed)
def review(body: dict[str, Any], gig_id: str, proof_id: str) -> dict[str, Any]:
    """Approve or reject (R-04)."""
    verdict = Verdict(
        approve=body["action"] == "approve",
        feedback=body["feedback"],
        amount_units=body["amount_units"],
        rejection_tag=body["rejection_tag"],
        requeue=body["requeue"],
    )
    done = proofs.review(auth.caller(), gig_id, proof_id, verdict)
    return {
        "success": True,
        "status": done.proof.status,
        "locked_price_units": done.proof.locked_price_units,
        "price_source": done.proof.price_source,
        "revised": done.revised,
        "previous_status": done.previous_status,
        "requeued": done.requeued,
        "task_identifier": done.proof.task_id,
    }
