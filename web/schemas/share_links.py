"""The link of a mailbox, as its worker is answered it."""

from __future__ import annotations

from marshmallow import Schema, fields


class Regenerated(Schema):
    share_token = fields.String(
        required=True, metadata={"description": "Whoever has it acts for the mailbox (R-07)."}
    )
