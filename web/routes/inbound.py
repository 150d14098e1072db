"""Sending tasks."""

from __future__ import annotations

from typing import Any

from flask import request
from webargs import core

from engine import commands, submissions
from engine.errors import invalid
from engine.forms import Form
from web import auth, outcome, strict_json, waiting
from web.blueprint import Routes, body_of
from web.schemas import inbound as schemas
from web.schemas.accounts import Accepted

routes = Routes("inbound", "Sending tasks.")
DEFAULT_CONTENT_TYPE = "application/octet-stream"


@routes.route(
    "/inbound/webhook/<gig_id>",
    methods=["POST"],
    key=None,
    payload=True,
    refuses=[401, 402, 403, 502],
)
@routes.arguments(schemas.SubmitQuery, location="query")
@routes.response(200, schemas.Submitted)
@routes.alt_response(202, schema=Accepted)
def submit(query: dict[str, Any], gig_id: str) -> Any:
    """Send a task: the body is the payload, the query shapes it (T-01).

    A gig's mode may take more parameters than those below, or others under the same names: `fields`
    of `GET /api/modes`, also whether they may be members of a JSON body instead.

    With `draft` it is kept for the gig's owner to publish (T-05), as is what the token may not
    spend (G-04). In a `task_escrow` gig a task is funded first, and handed to workers once that is
    final (Y-07).

    In a shop this door only saves draft orders, `draft` is needed, and so is the buyer's own key:
    401 without one, 403 `not_a_member` without an active mailbox, and 409 with the mode's name for
    what no buyer may say of an order.
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed()
    if command_id is not None:
        return outcome.under_way(command_id, seconds) or commands.result_of(command_id)
    token, draft_id = query.pop("token"), query.pop("draft_id")
    content_type = request.content_type or DEFAULT_CONTENT_TYPE
    sent = Form(payload=_payload(), content_type=content_type[:200], **query)
    taken = submissions.submit(gig_id, token, sent, draft_id, auth.caller_if_any)
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
