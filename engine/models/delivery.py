"""Outgoing webhooks: where to, what, and every try (W-09)."""

from __future__ import annotations

import peewee

from engine.models.base import Table, in_states, references


class Endpoint(Table):
    """One URL that somebody registered. `kind` and `owner_id` say whose: a gig's or a mailbox's."""

    id = peewee.TextField(primary_key=True)
    kind = peewee.TextField()
    owner_id = peewee.TextField()
    account_id = peewee.TextField(constraints=[references("account")])
    # None once it was removed.
    url = peewee.TextField(null=True)
    status = peewee.TextField()
    # Why it is disabled, and since when.
    reason = peewee.TextField(null=True)
    disabled_at = peewee.BigIntegerField(null=True)
    # When it was enabled or its URL set for the last time.
    enabled_at = peewee.BigIntegerField()
    created_at = peewee.BigIntegerField()

    class Meta:
        indexes = (
            (("kind", "owner_id"), True),
            (("account_id", "created_at", "id"), False),
        )


class Delivery(Table):
    """One event to one endpoint. `body` is kept as sent, so that every try signs the same bytes.

    `attempts` is the number of the last try. Those up to `tries_before` belong to earlier rounds:
    sending it again begins a new one.
    """

    id = peewee.TextField(primary_key=True)
    endpoint_id = peewee.TextField(constraints=[references("endpoint")])
    # The endpoint's, for the log's index.
    account_id = peewee.TextField(constraints=[references("account")])
    event = peewee.TextField()
    status = peewee.TextField()
    body = peewee.TextField()
    attempts = peewee.BigIntegerField()
    tries_before = peewee.BigIntegerField()
    next_attempt_at = peewee.BigIntegerField(null=True)
    lease_until = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()

    class Meta:
        indexes = (
            (("endpoint_id", "created_at", "id"), False),
            (("account_id", "created_at", "id"), False),
        )


class Attempt(Table):
    """One try of a delivery; `response_excerpt` is the first bytes of the answer."""

    delivery_id = peewee.TextField(constraints=[references("delivery")])
    number = peewee.BigIntegerField()
    at = peewee.BigIntegerField()
    status_code = peewee.BigIntegerField(null=True)
    error = peewee.TextField(null=True)
    latency_ms = peewee.BigIntegerField()
    response_excerpt = peewee.TextField()

    class Meta:
        primary_key = peewee.CompositeKey("delivery_id", "number")


OPEN = in_states(Delivery.status, "pending", "delivering")
# The delivery loop reads only what is due.
Delivery.add_index(
    Delivery.index(
        Delivery.next_attempt_at,
        name="delivery_due",
        where=OPEN,
    )
)

WAITING = in_states(Delivery.status, "pending", "delivering", "paused")
# What waits for an endpoint is counted, held back and sent on, however much it has been sent.
Delivery.add_index(
    Delivery.index(
        Delivery.endpoint_id,
        name="delivery_waiting",
        where=WAITING,
    )
)
