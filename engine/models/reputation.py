"""What became of the work paid to a wallet: rows that are only ever added (R-09)."""

from __future__ import annotations

import peewee

from engine.models.base import Table


class ReputationEvent(Table):
    number = peewee.BigAutoField()
    id = peewee.TextField(unique=True)
    # With the checksum of EIP-55.
    wallet = peewee.TextField()
    type = peewee.TextField()
    # The side that the wallet was on: `client` pays and approves, `gigworker` does the work.
    role = peewee.TextField()
    at = peewee.BigIntegerField()
    gig_id = peewee.TextField()
    proof_id = peewee.TextField(null=True)
    rollup_id = peewee.TextField(null=True)
    units = peewee.BigIntegerField(null=True)
    rejection_tag = peewee.TextField(null=True)
    # It takes the place of an earlier verdict on the same proof.
    revised = peewee.BooleanField()
    tx_hash = peewee.TextField(null=True)
    # Who undid the order: as in task.order_withdrawn_by.
    withdrawn_by = peewee.TextField(null=True)

    class Meta:
        indexes = ((("wallet", "number"), False),)
