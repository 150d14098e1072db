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

    class Meta:
        indexes = ((("gig_id", "account_id", "ordinal"), True),)
