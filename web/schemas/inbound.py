from __future__ import annotations

from marshmallow import Schema, fields

from engine.forms import AVAILABILITIES
from web.fields import Raw, one_of, text
from web.schemas.forms import TextForm


class SubmitQuery(TextForm):
    """The query of a gig's webhook; the body is the payload (T-01)."""

    # The mode of the gig in the path may take more names.
    by_mode = True

    token = text(100, 1, required=True, metadata={"description": "As in the gig's `webhook`."})


class MailQuery(Schema):
    to = text(
        998,
        1,
        load_default=None,
        metadata={
            "description": "The envelope's recipient, bare or with a name and angle brackets; "
            "without it, the first address of a gig in "
            "the headers Delivered-To, X-Original-To, To and Cc."
        },
    )


class Submitted(Schema):
    """What became of it (T-02). A mode may answer a status of its own."""

    status = fields.String(
        required=True,
        metadata={
            "description": "`queued`, `reserved`, `view_only`, `assigned`, `forwarded`, "
            "`waiting`, `dropped`, `draft`, or what the "
            "gig's mode says; `unassigned` where the worker has left before it was funded."
        },
    )
    message_id = fields.String(required=True)
    priority = fields.Integer()
    availability = one_of(*AVAILABILITIES)
    reserved_for = fields.String(
        allow_none=True, metadata={"description": "A mailbox; null: whoever opens the link."}
    )
    mailbox_id = fields.String(metadata={"description": "Who was given it."})
    targets = fields.Integer(
        metadata={"description": "To how many workers it was pushed (U-01); each `message_ids`."}
    )
    message_ids = fields.List(fields.String())
    active_mailboxes = fields.Integer(
        metadata={"description": "This and what follows of a task that was dropped (U-04)."}
    )
    matched = fields.Integer(
        metadata={"description": "Active mailboxes whose standing filters it passes."}
    )
    evaluated = fields.Dict(
        metadata={"description": "The `tags` and the `price` that were held against the filters."}
    )
    updated = fields.Boolean(metadata={"description": "Of a draft: was there one before?"})
    draft_saved_at = fields.String(metadata={"format": "date-time"})
    reason = fields.String(
        metadata={
            "description": "Why it was kept as a draft: `over_max_price` or `over_daily_spend` "
            "(G-04); or why nobody was given it."
        }
    )
    escrow_funded = fields.Boolean(
        metadata={"description": "This and what follows of a `task_escrow` gig only (Y-07)."}
    )
    escrow_amount = Raw(metadata={"type": "number", "format": "decimal"})
    escrow_fee_bps = fields.Integer()
    escrowed_at = fields.String(metadata={"format": "date-time"})
    deposit_id = fields.String()
    # Of an order that its buyer has sent.
    draft_id = fields.String(metadata={"description": "An order keeps its id: the same."})
    published = fields.Boolean()
    free = fields.Boolean(metadata={"description": "The shop takes no money."})
    tx_hash = fields.String(metadata={"description": "Of the deposit."})
    funded_total = Raw(metadata={"type": "number", "format": "decimal"})
    funded_minimum = Raw(
        metadata={
            "type": "number",
            "format": "decimal",
            "description": "The shop's price now; what was paid beyond it is the `tip`.",
        }
    )
    tip = Raw(metadata={"type": "number", "format": "decimal"})
    price = Raw(
        metadata={
            "type": "number",
            "format": "decimal",
            "description": "What the vendor is owed: the deposit less the fee, in whole cents.",
        }
    )
    fee_bps = fields.Integer(metadata={"description": "The rate of this deposit."})


class MailTaken(Submitted):
    """What became of a letter. One that was ignored has `status` and `reason` alone."""

    message_id = fields.String()
    reason = fields.String(
        metadata={
            "description": "As for the webhook; or why it was ignored: `auto_submitted`, `bounce`, "
            "`external_id_mismatch` (another letter has come under its "
            "Message-ID), or the name of a mode that takes no mail."
        }
    )
