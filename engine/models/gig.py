"""Gigs and the invites into them."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, references


class Gig(Table):
    id = peewee.TextField(primary_key=True)
    owner_id = peewee.TextField(index=True, constraints=[references("account")])
    status = peewee.TextField()
    title = peewee.TextField()
    terms = peewee.TextField()
    notes = peewee.TextField()
    price_units = peewee.BigIntegerField()
    distribution = peewee.TextField()
    queue_order = peewee.TextField()
    join_policy = peewee.TextField()
    requires_approval = peewee.BooleanField()
    tags = JsonField()
    review_timeout_seconds = peewee.BigIntegerField()
    min_payout_units = peewee.BigIntegerField()
    location = peewee.TextField()
    icon_url = peewee.TextField()
    owner_wallet = peewee.TextField(null=True)
    proof_webhook_url = peewee.TextField(null=True)
    join_webhook_url = peewee.TextField(null=True)
    # Sealed; see engine/webhook_secrets.py.
    webhook_secret = peewee.TextField()
    # [[sealed, signs until], …], the newest first.
    old_webhook_secrets = JsonField(null=True)
    token = peewee.TextField()
    created_at = peewee.BigIntegerField()


class Invite(Table):
    token = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(index=True, constraints=[references("gig")])
    label = peewee.TextField()
    email = peewee.TextField(null=True)
    max_uses = peewee.BigIntegerField(null=True)
    used = peewee.BigIntegerField()
    revoked_at = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()
