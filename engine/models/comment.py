"""Comments: what is said about a task (T-09)."""

from __future__ import annotations

import peewee

from engine.models.base import Table, references


class Comment(Table):
    id = peewee.TextField(primary_key=True)
    gig_id = peewee.TextField(constraints=[references("gig")])
    task_id = peewee.TextField(constraints=[references("task")])
    author_id = peewee.TextField(constraints=[references("account")])
    # The author's place in the gig; NULL for the gig's owner.
    mailbox_id = peewee.TextField(null=True, constraints=[references("mailbox")])
    # The author's side: `client` pays and approves, `gigworker` does the work.
    role = peewee.TextField()
    # Empty once it is deleted.
    body = peewee.TextField()
    parent_id = peewee.TextField(null=True, constraints=[references("comment")])
    # The comment that the thread begins with: its own id if that is this one.
    thread_id = peewee.TextField()
    # The one account that reads it beside its author. NULL: whoever may read the task's comments.
    reader_id = peewee.TextField(null=True, constraints=[references("account")])
    created_at = peewee.BigIntegerField()
    deleted_at = peewee.BigIntegerField(null=True)

    class Meta:
        indexes = ((("task_id", "created_at", "id"), False),)
