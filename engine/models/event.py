"""The append-only log of what happened (H-15)."""

from __future__ import annotations

import peewee

from engine.models.base import JsonField, Table


class Event(Table):
    """`seq` is a position that only grows; `engine/events.py` says how it is made."""

    seq = peewee.BigIntegerField(primary_key=True)
    id = peewee.TextField(unique=True)
    type = peewee.TextField()
    at = peewee.BigIntegerField()
    actor = peewee.TextField()
    gig_id = peewee.TextField(null=True)
    subject_kind = peewee.TextField()
    subject_id = peewee.TextField()
    # The one mailbox that the event concerns: what a member may see follows from it.
    mailbox_id = peewee.TextField(null=True)
    data = JsonField()

    class Meta:
        indexes = (
            (("gig_id", "seq"), False),
            (("subject_id", "seq"), False),
        )
