"""A mailbox: one worker's place in one gig."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, references


class Mailbox(Table):
    id = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    account_id = peewee.TextField(index=True, constraints=[references("account")])
    status = peewee.TextField()
    name = peewee.TextField()
    email = peewee.TextField()
    wallet_address = peewee.TextField()
    # Where its tasks are told, and where what becomes of its proofs.
    webhook = peewee.TextField(null=True)
    events_webhook_url = peewee.TextField(null=True)
    # Sealed; see engine/webhook_secrets.py.
    webhook_secret = peewee.TextField()
    # [[sealed, signs until], …], the newest first.
    old_webhook_secrets = JsonField(null=True)
    notes = peewee.TextField()
    tags = JsonField()
    # The account's first mailbox in a gig is 1; joining again finds it by this number (M-01).
    ordinal = peewee.BigIntegerField()
    joined_at = peewee.BigIntegerField()
    # The owner's settings (M-02). A limit that is NULL is the gig's.
    priority = peewee.BigIntegerField(default=5, constraints=[peewee.SQL("DEFAULT 5")])
    rate_limit_count = peewee.BigIntegerField(null=True)
    rate_limit_minutes = peewee.BigIntegerField(null=True)
    max_open_tasks = peewee.BigIntegerField(null=True)
    # The worker's settings. The standing filters steer what is pushed to him, never his polls.
    paused = peewee.BooleanField(default=False, constraints=[peewee.SQL("DEFAULT FALSE")])
    filter_tags = JsonField(default=[], constraints=[peewee.SQL("DEFAULT '[]'")])
    filter_tag_match = peewee.TextField(
        default="substring", constraints=[peewee.SQL("DEFAULT 'substring'")]
    )
    filter_price_min_units = peewee.BigIntegerField(null=True)
    filter_price_max_units = peewee.BigIntegerField(null=True)
    filter_accept_tbd = peewee.BooleanField(default=True, constraints=[peewee.SQL("DEFAULT TRUE")])
    # Nothing at or before this key of the gig's shelf is left for this worker, but for what was
    # put there at or after the position `cursor_as_of`; see engine/claims.py. NULL: begin anew.
    cursor_key = peewee.BigIntegerField(null=True)
    cursor_as_of = peewee.BigIntegerField(null=True)
    # When it was last given its turn, as counted by its gig's `rotation` (U-01).
    turn = peewee.BigIntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])
    # When its worker left. An inactive mailbox without it was closed by somebody else, and only
    # the owner opens it again.
    left_at = peewee.BigIntegerField(null=True)
    # Whoever has it hands in for this mailbox without a key.
    share_token = peewee.TextField(null=True, unique=True)

    class Meta:
        indexes = ((("gig_id", "account_id", "ordinal"), True),)
