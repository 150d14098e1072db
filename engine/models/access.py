"""Short-lived rows around requests: stored answers, counters, one-time passwords."""

from __future__ import annotations

import peewee

from engine.models.base import Table


class StoredAnswer(Table):
    """The answer to a keyed request (H-07). It commits with the effect that it tells of."""

    # SHA-256 of principal, method, path and key.
    id = peewee.TextField(primary_key=True)
    fingerprint = peewee.TextField()
    command_id = peewee.TextField(null=True)
    # Status, headers and body, encrypted: some answers carry secrets. NULL with a command.
    encrypted_answer = peewee.TextField(null=True)
    created_at = peewee.BigIntegerField(index=True)


class Counter(Table):
    """How often something was done in a window that ends at `until` (H-12)."""

    key = peewee.TextField(primary_key=True)
    count = peewee.BigIntegerField()
    until = peewee.BigIntegerField(index=True)


class OneTimePassword(Table):
    """The newest code of an address, as a keyed hash (H-14)."""

    email = peewee.TextField(primary_key=True)
    hash = peewee.TextField()
    tries = peewee.BigIntegerField()
    expires_at = peewee.BigIntegerField()
