"""Gigs and the invites into them."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, in_states, references


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
    # Raised by every change that the owner makes; see engine/gigs.py.
    revision = peewee.BigIntegerField(default=1, constraints=[peewee.SQL("DEFAULT 1")])
    # Each task is funded when it is sent, by a deposit of its own (Y-07).
    task_escrow = peewee.BooleanField(default=False, constraints=[peewee.SQL("DEFAULT FALSE")])
    # The most that a task sent with the token may cost, and all of a day's together (G-04).
    webhook_max_price_units = peewee.BigIntegerField(null=True)
    webhook_daily_spend_units = peewee.BigIntegerField(null=True)
    # The hash of the id, by which the contract names it; 0x hex.
    chain_key = peewee.TextField(null=True, unique=True)
    # How long a task may be held without a sign of life, and at most. NULL: for ever.
    task_timeout_seconds = peewee.BigIntegerField(null=True)
    max_hold_seconds = peewee.BigIntegerField(null=True)
    # So many workers get a copy of each task, where the mode hands out copies. NULL: all.
    max_claims_per_task = peewee.BigIntegerField(null=True)
    # A waiting task gains one step of priority in so many seconds. NULL: none.
    queue_aging_seconds = peewee.BigIntegerField(null=True)
    default_task_tags = JsonField(default=[], constraints=[peewee.SQL("DEFAULT '[]'")])
    # Both or neither (M-05). A mailbox's own come before them.
    default_rate_limit_count = peewee.BigIntegerField(null=True)
    default_rate_limit_minutes = peewee.BigIntegerField(null=True)
    default_max_open_tasks = peewee.BigIntegerField(null=True)
    # May a worker ask for another price with his proof?
    allow_price_offers = peewee.BooleanField(
        default=False, constraints=[peewee.SQL("DEFAULT FALSE")]
    )
    # `public`, `private` or `off`; a task's own comes before it (T-09).
    default_comments_policy = peewee.TextField(
        default="private", constraints=[peewee.SQL("DEFAULT 'private'")]
    )
    # Where members order and the owner does the work: what an order costs at least, the owner's
    # own mailbox, in which orders land (a mailbox refers to its gig, so this is no reference), and
    # the contract that holds the deposits. NULL elsewhere.
    list_price_units = peewee.BigIntegerField(null=True)
    owner_mailbox_id = peewee.TextField(null=True)
    treasury_address = peewee.TextField(null=True)
    # How long a worker has to accept what is pushed to him (U-04). NULL: it is his at once.
    accept_timeout_seconds = peewee.BigIntegerField(null=True)


# What is cancelled is looked at now and then, for tasks that came in at the last moment.
Gig.add_index(Gig.index(Gig.id, name="gig_cancelled", where=in_states(Gig.status, "cancelled")))


class Invite(Table):
    token = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(index=True, constraints=[references("gig")])
    label = peewee.TextField()
    email = peewee.TextField(null=True)
    max_uses = peewee.BigIntegerField(null=True)
    used = peewee.BigIntegerField()
    revoked_at = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()
