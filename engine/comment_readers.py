"""Who reads what is said about a task, and who may say something (T-09).

Whoever may read a task reads its comments, but a private one only its author and the one other
account that is stored with it. So a list, a count, a deletion and a reply all ask the same
condition, and a change of policy neither opens nor closes what was said before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import peewee

from engine import parties, shelf
from engine.errors import Refused, not_found
from engine.models.comment import Comment
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.operations import Caller

PUBLIC, PRIVATE, OFF = POLICIES = ("public", "private", "off")
# Whoever reads without an account.
NOBODY = ""


@contextmanager
def members_only() -> Iterator[None]:
    """What `permit` says to whoever has no active mailbox is here 403 `not_a_member`."""
    try:
        yield
    except Refused as refusal:
        if refusal.code in ("not_joined", "mailbox_inactive"):
            raise Refused("not_a_member", refusal.message) from refusal
        raise


@dataclass(frozen=True)
class Conversation:
    """A task's comments, as one account may read them; `owner`: it is the gig's owner.

    Whoever follows an order's public link is `NOBODY`.
    """

    gig: Gig
    task: Task
    account_id: str
    owner: bool

    @property
    def policy(self) -> str:
        return policy_of(self.gig, self.task)

    @property
    def takes_part(self) -> bool:
        """Is he one of those who talk: of an order only its two sides?"""
        ordered = self.task.client_id is not None
        return not ordered or parties.is_party(self.gig, self.task, self.account_id)

    @property
    def can_post(self) -> bool:
        return self.policy != OFF and self.takes_part

    def comments(self) -> Any:
        """The query of all that this account reads: the one condition of access.

        Of an order all that is not private is for both sides, whatever the policy, and for others
        while it is public; what is private is for its two readers.
        """
        own = Comment.select().where(Comment.task_id == self.task.id)
        if self.takes_part:
            return own.where(
                Comment.reader_id.is_null()
                | (Comment.author_id == self.account_id)
                | (Comment.reader_id == self.account_id)
            )
        if self.policy != PUBLIC:
            return own.where(peewee.SQL("1 = 0"))
        return own.where(Comment.reader_id.is_null())

    def find(self, comment_id: str) -> Comment:
        """One of them; 404 for one that is not there, or not for this account to read."""
        found: list[Comment] = list(self.comments().where(Comment.id == comment_id))
        if not found:
            raise not_found("comment")
        return found[0]


def enter(caller: Caller, gig: Gig, has: frozenset[str], task_id: str) -> Conversation:
    """The conversation about a task that the caller, in these roles, can see; 404 otherwise."""
    seen = shelf.find(caller, gig, has, task_id)
    return Conversation(gig, seen.task, caller.account_id, seen.owner)


def policy_of(gig: Gig, task: Task) -> str:
    """Who reads and writes what is said about a task from now on: its own word, or the gig's.

    Who reads an order its buyer says: until he does, a vendor who opens the talk about his gig
    opens no order's.
    """
    own: str | None = task.comments_policy
    default: str = gig.default_comments_policy
    if own is None and task.client_id is not None and default == PUBLIC:
        return PRIVATE
    return own or default


def able_to_read(gig: Gig, task: Task, account_ids: set[str]) -> set[str]:
    """Those of these accounts that could read a comment which is for them, as things stand."""
    if task.client_id is not None:
        # Neither side loses its part in an order with its place in the gig.
        return account_ids & {gig.owner_id, task.client_id}
    able = account_ids & {gig.owner_id}
    places: dict[str, list[Mailbox]] = {}
    for mailbox in Mailbox.select().where(
        Mailbox.gig_id == gig.id, Mailbox.account_id.in_(account_ids - able)
    ):
        places.setdefault(mailbox.account_id, []).append(mailbox)
    for account_id, own in places.items():
        active = any(mailbox.status == "active" for mailbox in own)
        if active and shelf.is_shown(gig, task, {mailbox.id for mailbox in own}):
            able.add(account_id)
    return able
