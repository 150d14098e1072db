"""Double entry: a transaction and its lines, which always sum to zero (Y-05)."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, references


class LedgerTransaction(Table):
    """`reference` is the fact that it books, so that no fact is booked twice."""

    id = peewee.TextField(primary_key=True)
    reference = peewee.TextField(unique=True)
    kind = peewee.TextField()
    # 0 and empty for what no log of the chain says.
    block_number = peewee.BigIntegerField(index=True)
    tx_hash = peewee.TextField()
    booked_at = peewee.BigIntegerField()
    # The chain's event, to tell it again when a reorg takes it back.
    data = JsonField(null=True)


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


class LedgerBalance(Table):
    """The sum of an account's lines for one gig ('' for none), kept with every line."""

    account = peewee.TextField()
    gig_key = peewee.TextField()
    units = peewee.BigIntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("account", "gig_key")
