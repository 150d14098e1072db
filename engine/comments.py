"""Reading what is said about a task (T-09)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine import accounts, gigs, pages
from engine.comment_readers import Conversation, enter, members_only
from engine.db import db
from engine.models.comment import Comment
from engine.models.mailbox import Mailbox
from engine.operations import Caller, permit

# Of an account's several places that which it has spoken from here comes last, and so counts.
_READERS = """
SELECT mailbox.account_id, mailbox.name FROM mailbox
WHERE mailbox.gig_id = ? AND mailbox.account_id IN ({marks})
ORDER BY EXISTS (
    SELECT 1 FROM comment WHERE comment.task_id = ? AND comment.mailbox_id = mailbox.id
), mailbox.id = ?, mailbox.ordinal DESC
"""


@dataclass(frozen=True)
class Shown:
    """A comment, the name of who said it, and of a private one the name of whom it is for."""

    comment: Comment
    author_name: str
    reader_name: str | None


def read(caller: Caller, gig_id: str, task_id: str) -> Conversation:
    """The conversation about a task, for the gig's owner or a member whose mailbox is active.

    403 `not_a_member` for anybody else; 404 for a task that he cannot see.
    """
    with db.reading():
        gig = gigs.get(gig_id)
        with members_only():
            has = permit("comment.read", caller, gig)
        return enter(caller, gig, has, task_id)


def listed(conversation: Conversation, limit: int, after: pages.Position) -> list[Shown]:
    """What the reader may read, oldest first; what was deleted keeps its place."""
    columns = (Comment.created_at, Comment.id)
    with db.reading():
        return named(conversation, pages.page(conversation.comments(), columns, limit, after))


def total(conversation: Conversation) -> int:
    """How many comments the reader may read."""
    with db.reading():
        return int(conversation.comments().count())


def named(conversation: Conversation, comments: Sequence[Comment]) -> list[Shown]:
    """Comments with the names of their people: a mailbox's, and for the owner his account's."""
    if not comments:
        return []
    owner_id = conversation.gig.owner_id
    owner = accounts.get(owner_id).display_name
    places = {one.mailbox_id for one in comments if one.mailbox_id is not None}
    authors = {one.id: one.name for one in Mailbox.select().where(Mailbox.id.in_(places))}
    readers = {**_reader_names(conversation, comments), owner_id: owner}
    return [
        Shown(
            comment,
            owner if comment.mailbox_id is None else authors[comment.mailbox_id],
            None if comment.reader_id is None else readers[comment.reader_id],
        )
        for comment in comments
    ]


def _reader_names(conversation: Conversation, comments: Sequence[Comment]) -> dict[str, str]:
    """What those are called whom private comments are for, by account; but for the owner."""
    ids = {one.reader_id for one in comments if one.reader_id is not None}
    ids.discard(conversation.gig.owner_id)
    if not ids:
        return {}
    task = conversation.task
    statement = _READERS.format(marks=", ".join("?" for _ in ids))
    found = db.rows(statement, (conversation.gig.id, *sorted(ids), task.id, task.mailbox_id or ""))
    return {str(account_id): str(name) for account_id, name in found}
