"""How many more tasks a worker may take (M-05), as answers and refusals show it."""

from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import one_of


class RateLimit(Schema):
    """So many takes in so many minutes; each counts until its minutes are over."""

    count = fields.Integer(required=True)
    minutes = fields.Integer(required=True)
    source = one_of("gig", "mailbox", required=True)
    used = fields.Integer(required=True)
    remaining = fields.Integer(required=True)
    retry_at = fields.String(
        required=True,
        allow_none=True,
        metadata={
            "format": "date-time",
            "description": "When the next may be taken; null while one may be taken now.",
        },
    )


class OpenTasks(Schema):
    """So many tasks held without a proof at the same time."""

    max_open_tasks = fields.Integer(required=True)
    source = one_of("gig", "mailbox", required=True)
    open = fields.Integer(required=True)
    remaining = fields.Integer(required=True)


class Standing(Schema):
    """How the mailbox's limits stand after what was done; null where there is none."""

    rate_limit = fields.Nested(RateLimit, required=True, allow_none=True)
    open_tasks = fields.Nested(OpenTasks, required=True, allow_none=True)
