"""Tasks by mail."""

from __future__ import annotations

from typing import Any

from flask import request

from engine import commands, mailed_tasks
from web import outcome, waiting
from web.blueprint import Routes, body_of
from web.schemas import inbound as schemas
from web.schemas.accounts import Accepted

routes = Routes("inbound_email", "Sending tasks by mail.")


@routes.route(
    "/inbound/email",
    methods=["POST"],
    key=None,
    payload=True,
    body_is="The letter as it came, of the type message/rfc822 or any other.",
    refuses=[402, 403, 502],
)
@routes.arguments(schemas.MailQuery, location="query")
@routes.response(200, schemas.MailTaken)
@routes.alt_response(202, schema=Accepted)
def take(query: dict[str, Any]) -> Any:
    """Take in a letter as a task; a mail server calls this for each recipient.

    The address is the `inbound_email` of a gig, whose token is in it. The task's subject is the
    letter's, its payload the plain text, or else the HTML; attachments are not kept. `mail:` and
    the Message-ID are its `external_id`, so a letter that is delivered twice makes one task.

    Automatic replies and bounces are ignored, as is another letter under a Message-ID that has been
    seen, and mail to a gig whose mode takes none: 200 with `ignored` and the reason.
    Everything else is answered as by the gig's webhook. 404 where none of the recipients is a gig;
    503 where the install takes no mail.
    """
    seconds = outcome.wait_seconds()
    command_id = waiting.resumed()
    if command_id is None:
        taken = mailed_tasks.submit(body_of(request), query["to"])
        if taken.command is None:
            return taken.answer
        command_id = outcome.recorded(taken.command)
    return outcome.under_way(command_id, seconds) or commands.result_of(command_id)
