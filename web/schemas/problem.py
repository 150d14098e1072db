"""The one shape of every error (H-04)."""

from __future__ import annotations

from marshmallow import Schema, fields


class Problem(Schema):
    """RFC 9457, with `error` and `reason` beside it."""

    error = fields.String(required=True)
    reason = fields.String(required=True)
    type = fields.String(required=True)
    title = fields.String(required=True)
    status = fields.Integer(required=True)
    detail = fields.String(required=True)
    errors = fields.Dict(keys=fields.String(), values=fields.String())
