"""What an account is told of, until its holder has seen it (T-09)."""

from __future__ import annotations

import peewee

from engine.models.base import Table, references


class Notification(Table):
    number = peewee.BigAutoField()
    account_id = peewee.TextField(constraints=[references("account")])
    # The type of the event that it is about.
    kind = peewee.TextField()
    title = peewee.TextField()
    at = peewee.BigIntegerField()
    gig_id = peewee.TextField(null=True)
    subject_kind = peewee.TextField()
    subject_id = peewee.TextField()
    seen_at = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = ((("account_id", "number"), False),)


UNSEEN = Notification.seen_at.is_null()
Notification.add_index(
    Notification.index(Notification.account_id, name="notification_unseen", where=UNSEEN)
)
# What has been seen is deleted some time later.
SEEN = Notification.seen_at.is_null(False)
Notification.add_index(
    Notification.index(Notification.seen_at, name="notification_seen", where=SEEN)
)
