"""Tasks, the narrow queue that they wait in, and who is not to be offered one again."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table, in_states, references


class Task(Table):
    # The order of arrival; the queue's key is built from it.
    number = peewee.BigAutoField()
    id = peewee.TextField(unique=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    status = peewee.TextField()
    subject = peewee.TextField()
    payload = peewee.TextField()
    content_type = peewee.TextField()
    tags = JsonField()
    # NULL means the gig's price, unless it is to be decided.
    price_units = peewee.BigIntegerField(null=True)
    price_tbd = peewee.BooleanField()
    priority = peewee.BigIntegerField()
    external_id = peewee.TextField(null=True)
    # SHA-256 of what came with the external id, to tell a repeat from another task.
    fingerprint = peewee.TextField(null=True)
    mailbox_id = peewee.TextField(null=True, constraints=[references("mailbox")])
    claimed_at = peewee.BigIntegerField(null=True)
    # What the holder saw when he claimed: NULL while nobody holds it or it is TBD.
    held_price_units = peewee.BigIntegerField(null=True)
    created_at = peewee.BigIntegerField()
    # Its named deposit, in a gig that funds each task by itself (Y-07).
    deposit_id = peewee.TextField(null=True, index=True)
    escrow_units = peewee.BigIntegerField(null=True)
    escrow_fee_bps = peewee.BigIntegerField(null=True)
    escrowed_at = peewee.BigIntegerField(null=True)
    # The newest command that puts that deposit in.
    command_id = peewee.TextField(null=True)
    # The day (UTC, counted from 1970) whose spending limit its price was counted against.
    counted_on = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = (
            (("gig_id", "external_id"), True),
            (("gig_id", "created_at", "id"), False),
            (("mailbox_id", "status"), False),
        )


UNFUNDED = in_states(Task.status, "unfunded")
Task.add_index(Task.index(Task.gig_id, name="task_unfunded", where=UNFUNDED))


class QueueEntry(Table):
    """A task that may be taken. The row is deleted by the claim, so the table stays narrow."""

    gig_id = peewee.TextField()
    sort_key = peewee.BigIntegerField()
    task_number = peewee.BigIntegerField(unique=True, constraints=[references("task", "number")])

    class Meta:
        primary_key = peewee.CompositeKey("gig_id", "sort_key", "task_number")


class Exclusion(Table):
    """A task that this mailbox declined, or has handed in before: it is not offered again."""

    mailbox_id = peewee.TextField(constraints=[references("mailbox")])
    task_number = peewee.BigIntegerField(index=True, constraints=[references("task", "number")])
    reason = peewee.TextField()
    at = peewee.BigIntegerField()

    class Meta:
        primary_key = peewee.CompositeKey("mailbox_id", "task_number")
