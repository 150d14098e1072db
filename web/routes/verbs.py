"""What a mode lets be done with a task beside what every gig does."""

from __future__ import annotations

from typing import Any

import marshmallow

from engine import acting
from web import auth
from web.blueprint import Routes
from web.schemas import verbs as schemas

routes = Routes("verbs", "Verbs of a gig's mode.")


@routes.route("/gigs/<gig_id>/tasks/<task_id>/do/<verb>", methods=["POST"], refuses=[410])
@routes.arguments(schemas.Use, unknown=marshmallow.INCLUDE)
@routes.alt_response(200, schema=schemas.USED)
def use(body: dict[str, Any], gig_id: str, task_id: str, verb: str) -> dict[str, Any]:
    """Use a verb of the gig's mode on a task; `GET /api/modes` lists them, with their members.

    409 `wrong_stage` for one that does not start from the task's stage, 410 `claim_lost` for what
    was in your hands and is no more, 404 for a verb that the mode does not have.
    """
    mailbox_id = body.pop("mailbox_id")
    return acting.act(auth.caller(), gig_id, task_id, verb, body, mailbox_id=mailbox_id)
