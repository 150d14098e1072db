"""The public link of an order: who has it reads the order and its talk, without an account.

The link lives as long as its buyer's word `public` does (`commenting.set_policy`), also once the
order is paid for. Reading one is all that it allows.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace

from engine import comments, drafts, gigs, pages
from engine.comment_readers import NOBODY, PUBLIC, Conversation
from engine.comments import Shown
from engine.db import db
from engine.errors import Refused
from engine.ids import new_share_token
from engine.models.account import Account
from engine.models.task import Task
from engine.parties import CLIENT, GIGWORKER

# Compared with where there is no link, so that there is one way through.
_NONE = new_share_token()
# What is told of an author who has chosen no name.
_SIDES = {CLIENT: "Buyer", GIGWORKER: "Vendor"}


@dataclass(frozen=True)
class SharedOrder:
    """An order, whole, as whoever has its link may read it."""

    conversation: Conversation

    @property
    def task(self) -> Task:
        return self.conversation.task

    @property
    def unsent(self) -> bool:
        return self.task.status in (*drafts.UNSENT, "unfunded")


def unknown() -> Refused:
    """One answer for a wrong token, for no such order, and for one that is not shared."""
    return Refused(
        "not_found",
        "This link opens nothing, or its buyer shares the order no more. Ask for a new one.",
    )


def find(gig_id: str, task_id: str, token: str) -> SharedOrder | None:
    """The order, if it is shared by this very link."""
    with db.reading():
        task = Task.get_or_none(Task.id == task_id, Task.gig_id == gig_id)
        wanted = None if task is None else _token_of(task)
        fits = hmac.compare_digest((wanted or _NONE).encode(), token.encode())
        if task is None or wanted is None or not fits:
            return None
        return SharedOrder(Conversation(gigs.get(gig_id), task, NOBODY, False))


def _token_of(task: Task) -> str | None:
    """What opens it now; None for an order that is deleted, or that nobody shares."""
    is_shared = task.status != "cancelled" and task.comments_policy == PUBLIC
    token: str | None = task.public_token
    return token if is_shared else None


def talk(order: SharedOrder, limit: int, after: pages.Position) -> list[Shown]:
    """What was said that is not private, oldest first; what was deleted keeps its place.

    A name that nobody chose is the beginning of an address of mail, which is nobody's to know here.
    """
    said = comments.listed(order.conversation, limit, after)
    authors = {one.comment.author_id for one in said}
    with db.reading():
        found = Account.select(Account.id, Account.email).where(Account.id.in_(authors))
        unchosen = {one.id: one.email.partition("@")[0] for one in found}
    return [
        replace(one, author_name=_SIDES[one.comment.role])
        if one.author_name == unchosen[one.comment.author_id]
        else one
        for one in said
    ]
