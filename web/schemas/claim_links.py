from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Raw
from web.schemas.tasks import TaskView


class Claim(Schema):
    mailbox_id = fields.String(
        load_default=None,
        allow_none=True,
        metadata={"description": "Which of your mailboxes in the gig; or else the first active."},
    )


class Claimed(Schema):
    success = fields.Boolean(required=True)
    mailbox_id = fields.String(required=True)
    already_held = fields.Boolean(
        required=True, metadata={"description": "You had it already: nothing was taken now."}
    )
    task = fields.Nested(TaskView, required=True)
    rate_limit = Raw(required=True, allow_none=True, metadata={"type": "object"})
    open_tasks = Raw(required=True, allow_none=True, metadata={"type": "object"})
