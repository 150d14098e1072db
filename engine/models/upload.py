"""Uploads: files that people put beside their words, and which rows name them (R-08)."""

from __future__ import annotations

import peewee

from engine.models.base import Table, in_states, references


class Upload(Table):
    """One file. `id` is its key: the last part of the address that people write into their texts.

    `account_id` uploaded it, by himself or, with `mailbox_id`, through that mailbox's share link.
    """

    id = peewee.TextField(primary_key=True)
    account_id = peewee.TextField(constraints=[references("account")])
    mailbox_id = peewee.TextField(null=True, constraints=[references("mailbox")])
    # `waiting` for its bytes, `stored`, or `removing`.
    status = peewee.TextField()
    filename = peewee.TextField()
    content_type = peewee.TextField()
    content_length = peewee.BigIntegerField()
    created_at = peewee.BigIntegerField()
    # Until when its bytes may be put.
    expires_at = peewee.BigIntegerField()
    stored_at = peewee.BigIntegerField(null=True)
    # Since when no row has named it. NULL: one does.
    unnamed_since = peewee.BigIntegerField(null=True)


# What the sweep looks for.
UNSTORED = in_states(Upload.status, "waiting")
UNNAMED = in_states(Upload.status, "stored") & Upload.unnamed_since.is_null(False)
REMOVING = in_states(Upload.status, "removing")
Upload.add_index(Upload.index(Upload.expires_at, name="upload_waiting", where=UNSTORED))
Upload.add_index(Upload.index(Upload.unnamed_since, name="upload_unnamed", where=UNNAMED))
Upload.add_index(Upload.index(Upload.id, name="upload_removing", where=REMOVING))


class UploadUse(Table):
    """A row whose text names an upload of whoever wrote that text.

    `kind` is `task`, `proof` or `comment`; or `feedback` or `report`, of the proof with that id.
    """

    upload_id = peewee.TextField(constraints=[references("upload")])
    kind = peewee.TextField()
    row_id = peewee.TextField()

    class Meta:
        primary_key = peewee.CompositeKey("upload_id", "kind", "row_id")
        indexes = ((("kind", "row_id"), False),)
