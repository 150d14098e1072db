from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Time, text
from web.paging import Page


class SubjectView(Schema):
    """What it is about: a task, a proof, a rollup, a mailbox, …"""

    kind = fields.String(required=True)
    id = fields.String(required=True)


class NotificationView(Schema):
    id = fields.String(required=True)
    kind = fields.String(
        required=True,
        metadata={
            "description": "The type of the event, like `proof.approved` or `comment.posted`. More "
            "may come."
        },
    )
    title = fields.String(
        required=True,
        metadata={"description": "One line to show, of at most 120 characters."},
    )
    at = Time(required=True)
    gig_id = fields.String(required=True, allow_none=True)
    subject = fields.Nested(SubjectView, required=True)
    seen = fields.Boolean(required=True)


class NotificationList(Page):
    notifications = fields.List(fields.Nested(NotificationView), required=True)


class Summary(Schema):
    dot = fields.Boolean(
        required=True, metadata={"description": "There is something that is not seen yet."}
    )
    latest_at = Time(
        required=True,
        allow_none=True,
        metadata={"description": "The newest one, seen or not; null if there is none."},
    )
    latest_title = fields.String(required=True, allow_none=True)
    seen_at = Time(
        required=True,
        allow_none=True,
        metadata={"description": "When you last said that you have seen them; null if never."},
    )


class Seen(Schema):
    up_to = text(
        100,
        1,
        load_default=None,
        metadata={
            "description": "The newest one that you have shown: it and all before it are marked, "
            "whatever came after stays. Without it all that there are now."
        },
    )
