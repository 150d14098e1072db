"""What was sent to the chain, and what is meant to be."""

from __future__ import annotations

import peewee

from engine.models.base import Table, in_states, references


class Signer(Table):
    """The next nonce of an address. The row's lock is the queue of its senders."""

    address = peewee.TextField(primary_key=True)
    next_nonce = peewee.BigIntegerField()
    # As last looked at, for the gas alarm. In text: a balance may have more than 64 bits.
    balance_wei = peewee.TextField(null=True)
    balance_at = peewee.BigIntegerField(null=True)


class ChainTransaction(Table):
    """One intent. Its key was made before anything was signed, and is spent once."""

    id = peewee.TextField(primary_key=True)
    intent = peewee.TextField(unique=True)
    signer = peewee.TextField(constraints=[references("signer", "address")])
    nonce = peewee.BigIntegerField()
    status = peewee.TextField()
    to_address = peewee.TextField()
    data = peewee.TextField()
    gas = peewee.BigIntegerField()
    block_number = peewee.BigIntegerField(null=True)
    # Of the block that it was mined in, to notice when the chain takes that back.
    block_hash = peewee.TextField(null=True)
    # Which of its signed forms that was.
    tx_hash = peewee.TextField(null=True)
    failure = peewee.TextField(null=True)
    created_at = peewee.BigIntegerField()
    finished_at = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = ((("signer", "nonce"), True),)


class ChainBlock(Table):
    """A block whose logs are booked, as it was then; the newest of them, to notice a reorg."""

    number = peewee.BigIntegerField(primary_key=True)
    hash = peewee.TextField()


class ChainAttempt(Table):
    """One signed form of a transaction, stored before it is sent."""

    tx_hash = peewee.TextField(primary_key=True)
    transaction_id = peewee.TextField(index=True, constraints=[references("chain_transaction")])
    raw_hex = peewee.TextField()
    max_fee_wei = peewee.TextField()
    priority_fee_wei = peewee.TextField()
    # The newest block when it was signed: only blocks after that can have left it lying.
    head_block = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()


UNDERWAY = in_states(ChainTransaction.status, "sent")
# The follower reads only what is not final.
ChainTransaction.add_index(
    ChainTransaction.index(
        ChainTransaction.created_at,
        name="chain_transaction_open",
        where=UNDERWAY,
    )
)
