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
