"""Wallets: an address, and for a hot one its encrypted key (Y-06)."""

from __future__ import annotations

import peewee

from engine.models.base import Table, references


class Wallet(Table):
    id = peewee.TextField(primary_key=True)
    account_id = peewee.TextField(index=True, constraints=[references("account")])
    label = peewee.TextField()
    evm_address = peewee.TextField(index=True)
    is_hot_wallet = peewee.BooleanField()
    encrypted_key = peewee.TextField(null=True)
    created_at = peewee.BigIntegerField()
    # When its account proved by a signature that the address is his (M-01); for a hot wallet, when
    # it was made.
    verified_at = peewee.BigIntegerField(null=True)
    # A deleted wallet is shown no more; its key is kept, for what may still arrive there.
    deleted_at = peewee.BigIntegerField(null=True)


# An address is proven by one account at a time.
Wallet.add_index(
    Wallet.index(
        Wallet.evm_address,
        unique=True,
        name="wallet_proven",
        where=Wallet.verified_at.is_null(False) & Wallet.deleted_at.is_null(),
    )
)


class WalletChallenge(Table):
    """The text that a wallet's key is to sign; the newest alone counts, once."""

    wallet_id = peewee.TextField(primary_key=True, constraints=[references("wallet")])
    message = peewee.TextField()
    expires_at = peewee.BigIntegerField()
