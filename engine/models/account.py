"""Accounts and their keys."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, references


class Account(Table):
    number = peewee.BigAutoField()
    id = peewee.TextField(unique=True)
    email = peewee.TextField(unique=True)
    display_name = peewee.TextField()
    status = peewee.TextField()
    created_at = peewee.BigIntegerField()
    # A name of the IANA database.
    timezone = peewee.TextField(default="UTC", constraints=[peewee.SQL("DEFAULT 'UTC'")])
    # Its planning schedule: pairs of `HH:MM` by day, in that zone. NULL: never said.
    working_hours = JsonField(null=True)
    # When its holder last said that he has seen his notifications.
    notifications_seen_at = peewee.BigIntegerField(null=True)


class ApiKey(Table):
    """A key as its SHA-256 only: the key itself has 190 random bits and is shown once (H-02)."""

    id = peewee.TextField(primary_key=True)
    account_id = peewee.TextField(index=True, constraints=[references("account")])
    hash = peewee.TextField(unique=True)
    label = peewee.TextField()
    scopes = JsonField()
    expires_at = peewee.BigIntegerField(null=True)
    revoked_at = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()
