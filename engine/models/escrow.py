"""Money held for one purpose: a task's named deposit, and what a pot gives back."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, in_states, references


class Escrow(Table):
    """A named deposit for one task (Y-07). Its terms are stored before anything is signed.

    `id` is the deposit's id on chain, 0x hex, which follows from the terms; `attempt` counts the
    ids that one task has had.
    """

    id = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    task_id = peewee.TextField(constraints=[references("task")])
    attempt = peewee.BigIntegerField()
    status = peewee.TextField()
    # The terms, as they are signed and hashed.
    depositor = peewee.TextField()
    # The zero address: whoever does the work, named when it is settled.
    payee = peewee.TextField()
    amount_units = peewee.BigIntegerField()
    fee_bps = peewee.BigIntegerField()
    reclaimer = peewee.TextField()
    salt = peewee.TextField()
    expires_at = peewee.BigIntegerField()
    wallet_id = peewee.TextField(null=True, constraints=[references("wallet")])
    # The depositor's signature, where the operator sends it for him: `{signature, valid_after,
    # valid_before}`, seconds since 1970.
    authorization = JsonField(null=True)
    command_id = peewee.TextField(index=True, constraints=[references("command")])
    # Of the newest transaction about it that is ours: opening, settling or giving it back.
    chain_transaction_id = peewee.TextField(null=True, index=True)
    tx_hash = peewee.TextField(null=True)
    failure = peewee.TextField(null=True)
    created_at = peewee.BigIntegerField()
    opened_at = peewee.BigIntegerField(null=True)
    ended_at = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = (
            (("task_id", "attempt"), True),
            (("gig_id", "created_at", "id"), False),
        )


# What has neither come to an end nor been given up.
LIVE = in_states(Escrow.status, "planned", "open", "refunding")
Escrow.add_index(Escrow.index(Escrow.created_at, name="escrow_live", where=LIVE))


class PotRefund(Table):
    """What goes back from a gig's pot to one who put it in (G-08)."""

    id = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(index=True, constraints=[references("gig")])
    command_id = peewee.TextField(index=True, constraints=[references("command")])
    status = peewee.TextField()
    funder = peewee.TextField()
    amount_units = peewee.BigIntegerField()
    # The hash of the id, spent on chain at most once.
    refund_key = peewee.TextField(unique=True)
    chain_transaction_id = peewee.TextField(null=True, index=True)
    tx_hash = peewee.TextField(null=True)
    failure = peewee.TextField(null=True)
    created_at = peewee.BigIntegerField()
    paid_at = peewee.BigIntegerField(null=True)
