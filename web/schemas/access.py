from __future__ import annotations

from marshmallow import Schema, fields, validate

from engine.accounts import SCOPES
from web.fields import Instant, Time, name, one_of, text, time_zone
from web.paging import Page


class SendCode(Schema):
    email = text(255, 3, required=True)


class VerifyCode(Schema):
    email = text(255, 3, required=True)
    code = fields.String(
        required=True, validate=validate.Regexp(r"^[0-9]{6}$(?!\n)", error="give the six digits")
    )


class Key(Schema):
    user_id = fields.String(required=True)
    email = fields.String(required=True)
    api_key = fields.String(required=True, metadata={"description": "Shown this once."})


class MePatch(Schema):
    display_name = name(100, metadata={"description": "As others see you, on one line."})
    timezone = time_zone()


class KeyCreate(Schema):
    label = text(100, load_default="", metadata={"description": "To tell it from your others."})
    scopes = fields.List(
        one_of(*sorted(SCOPES)),
        load_default=lambda: ["all"],
        metadata={"description": "What it may be used for."},
        validate=validate.Length(min=1, max=len(SCOPES), error="give at least one scope"),
    )
    expires_at = Instant(
        load_default=None,
        allow_none=True,
        metadata={"description": "When it stops to open anything. Null: never."},
    )


class KeyView(Schema):
    id = fields.String(required=True)
    label = fields.String(required=True)
    scopes = fields.List(fields.String(), required=True)
    expires_at = Time(required=True, allow_none=True)
    created_at = Time(required=True)


class KeyMade(KeyView):
    key = fields.String(required=True, metadata={"description": "Shown this once."})


class KeyList(Page):
    keys = fields.List(fields.Nested(KeyView), required=True)
