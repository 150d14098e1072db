from __future__ import annotations

from marshmallow import Schema, fields

from web.fields import Money, text


class InviteQuery(Schema):
    token = text(100, 1, required=True)


class InviteInfo(Schema):
    """A gig as somebody sees it who was sent an invite, before he has a key."""

    gig_id = fields.String(required=True)
    title = fields.String(required=True)
    terms = fields.String(required=True)
    status = fields.String(required=True)
    price = Money(attribute="price_units", required=True)
    distribution = fields.String(required=True)
    join_policy = fields.String(required=True)
    requires_approval = fields.Boolean(required=True)
    owner_name = fields.String(required=True)
    label = fields.String(required=True)
    email_bound = fields.Boolean(
        required=True, metadata={"description": "Only the account of one address may join with it."}
    )
    uses_left = fields.Integer(
        required=True, allow_none=True, metadata={"description": "null: as many as you like."}
    )


class InviteInfoAnswer(Schema):
    invite = fields.Nested(InviteInfo, required=True)
