"""Double entry: a transaction and its lines, which always sum to zero (Y-05)."""

from __future__ import annotations

import peewee

from engine.models.base import Table, references


class LedgerTransaction(Table):
    """`reference` is the fact that it books, so that no fact is booked twice."""

    id = peewee.TextField(primary_key=True)
    reference = peewee.TextField(unique=True)
    kind = peewee.TextField()
    block_number = peewee.BigIntegerField()
    tx_hash = peewee.TextField()
    booked_at = peewee.BigIntegerField()


class LedgerEntry(Table):
    """One line. `units` is positive where the account grows, in 10⁻⁶ USDC."""

    transaction_id = peewee.TextField(constraints=[references("ledger_transaction")])
    line = peewee.BigIntegerField()
    account = peewee.TextField()
    # The pot's key on chain; NULL for lines that belong to no gig.
    gig_key = peewee.TextField(null=True)
    units = peewee.BigIntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("transaction_id", "line")
        indexes = ((("account", "gig_key"), False),)
