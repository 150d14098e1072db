"""A verb of a gig's mode, as it is used."""

from __future__ import annotations

from typing import Any

from marshmallow import INCLUDE, fields

from web.schemas.holding import OfMailbox


class Use(OfMailbox):
    """Beside `mailbox_id` the verb's own members; `GET /api/modes` tells which (G-03)."""

    class Meta:
        unknown = INCLUDE

    mailbox_id = fields.String(
        load_default=None,
        metadata={
            "description": "Which of your mailboxes; by default the one that has the task, or your "
            "first one."
        },
    )


USED: dict[str, Any] = {
    "type": "object",
    "description": "What the mode answers; without an answer of its own `success`, and the `stage` "
    "that the task is at now.",
}
