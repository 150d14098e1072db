"""Comments, as they are asked and answered (T-09)."""

from __future__ import annotations

from marshmallow import Schema, fields

from engine.comment_readers import POLICIES
from engine.commenting import MAX_CHARACTERS
from engine.parties import CLIENT, GIGWORKER
from web.fields import Flag, Time, one_of, text
from web.paging import Page


class CommentPost(Schema):
    body = text(MAX_CHARACTERS, 1, required=True)
    parent_id = text(
        100,
        1,
        load_default=None,
        allow_none=True,
        metadata={"description": "The comment that this one replies to."},
    )
    private = Flag(
        load_default=False,
        metadata={
            "description": "Say it to one reader only. False widens nothing: what is private by "
            "the task's policy or by its thread stays so."
        },
    )


class CommentView(Schema):
    id = fields.String(required=True)
    thread_id = fields.String(
        required=True,
        metadata={"description": "The comment that the thread begins with; its own id then."},
    )
    parent_id = fields.String(required=True, allow_none=True)
    body = fields.String(
        required=True, metadata={"description": "As it was sent; empty once it is deleted."}
    )
    author_display_name = fields.String(required=True)
    author_role = one_of(CLIENT, GIGWORKER, required=True)
    is_mine = fields.Boolean(required=True)
    author_mailbox_id = fields.String(
        allow_none=True,
        metadata={"description": "For the gig's owner only; null where he wrote it himself."},
    )
    private = fields.Boolean(
        required=True, metadata={"description": "Only its author and one other account read it."}
    )
    private_to_display_name = fields.String(required=True, allow_none=True)
    deleted = fields.Boolean(required=True)
    created_at = Time(required=True)


class CommentAnswer(Schema):
    comment = fields.Nested(CommentView, required=True)


class CommentList(Page):
    policy = one_of(*POLICIES, required=True)
    can_post = fields.Boolean(
        required=True, metadata={"description": "Does the policy let this reader write?"}
    )
    total = fields.Integer(
        required=True, metadata={"description": "How many comments this reader may read."}
    )
    comments = fields.List(fields.Nested(CommentView), required=True)


class PolicyChange(Schema):
    policy = one_of(
        *POLICIES,
        required=True,
        allow_none=True,
        metadata={"description": "Null: the gig's `default_comments_policy`."},
    )


class PolicyChanged(Schema):
    success = fields.Boolean(required=True)
    policy = one_of(
        *POLICIES, required=True, metadata={"description": "What holds for the task now."}
    )
    public_link = fields.Boolean(
        metadata={"description": "Of an order: does a link open it to whoever has that?"}
    )
    public_token = fields.String(
        metadata={
            "description": "Of that link: `GET /public/order?gig=&task=&token=`. Only where this "
            "call has made it."
        }
    )
    public_url = fields.String(
        metadata={"description": "The page that shows the order to whoever has this link."}
    )
