"""Rollups: proofs of one mailbox that one payout carries."""

from __future__ import annotations

import peewee

from engine.models.base import Table, in_states, references


class Rollup(Table):
    id = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    mailbox_id = peewee.TextField(index=True, constraints=[references("mailbox")])
    command_id = peewee.TextField(index=True, constraints=[references("command")])
    status = peewee.TextField()
    wallet_address = peewee.TextField()
    gross_units = peewee.BigIntegerField()
    fee_units = peewee.BigIntegerField()
    fee_bps = peewee.BigIntegerField()
    # Whose order it pays for, out of his deposit: there the fee is not on top. NULL: the owner's.
    client_id = peewee.TextField(null=True, constraints=[references("account")])
    # The hash of rollup.id, spent on chain at most once (Y-03).
    payout_key = peewee.TextField(unique=True)
    # The named deposit that pays it, where it is not the pot.
    deposit_id = peewee.TextField(null=True, index=True)
    chain_transaction_id = peewee.TextField(null=True, index=True)
    tx_hash = peewee.TextField(null=True)
    failure = peewee.TextField(null=True)
    # How often it failed since it was made, and when it is tried again by itself.
    failures = peewee.BigIntegerField(default=0, constraints=[peewee.SQL("DEFAULT 0")])
    retry_at = peewee.BigIntegerField(null=True)
    settled_by_reconciliation = peewee.BooleanField(default=False)
    created_at = peewee.BigIntegerField()
    paid_at = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = ((("gig_id", "created_at", "id"), False),)


UNPAID = in_states(Rollup.status, "pending", "sent", "failed")
# What a pot still has to pay out.
Rollup.add_index(
    Rollup.index(
        Rollup.gig_id,
        name="rollup_unpaid",
        where=UNPAID,
    )
)
Rollup.add_index(
    Rollup.index(
        Rollup.client_id,
        Rollup.gig_id,
        Rollup.created_at,
        Rollup.id,
        name="rollup_client",
        where=Rollup.client_id.is_null(False),
    )
)
# What a settlement of its own tries again.
FAILED = in_states(Rollup.status, "failed")
Rollup.add_index(Rollup.index(Rollup.retry_at, name="rollup_retry", where=FAILED))
