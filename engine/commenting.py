"""Saying something about a task, and taking it back (T-09).

Who speaks about one task does so one at a time, under the task's lock, so that each comment comes
after all that could be read before it: whoever pages through them misses none. Once it is answered
that a task has another policy, or that a member is none, nothing is said against that. A gig's new
default counts for who speaks after it: its row is not locked against changes, since many who talk
at once would leave its owner no gap to make one.

Talking goes on in a gig that is closed or cancelled: what is open there has to be settled.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine import (
    clock,
    comment_news,
    counters,
    events,
    gigs,
    mailboxes,
    parties,
    rows,
    upload_uses,
)
from engine.comment_readers import PUBLIC, Conversation, enter, members_only
from engine.comments import Shown, named
from engine.counters import Limit
from engine.db import db
from engine.errors import Refused, not_found
from engine.ids import new_id, new_share_token
from engine.models.comment import Comment
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.modes import takes_orders
from engine.operations import OWNER, Caller, permit

MAX_CHARACTERS = 4000
# Of one account, about all tasks together.
AT_MOST = Limit("comments", 60, 60)

_HAVING = "SELECT coalesce(mailbox_id, reserved_for) FROM task WHERE id = ? AND gig_id = ?"
_NEWEST = "SELECT max(created_at) FROM comment WHERE task_id = ?"


@dataclass(frozen=True)
class Given:
    """What is said: in reply to which comment, if any, and whether to one reader only."""

    body: str
    parent_id: str | None = None
    private: bool = False


def post(caller: Caller, gig_id: str, task_id: str, given: Given) -> tuple[Conversation, Shown]:
    """Say something about a task that the caller can see.

    403 `not_a_member` without an active mailbox, and `not_a_party` to an order of others; 404 for a
    task or a parent that he cannot read; 409 `comments_off`, or `no_reader` where the owner speaks
    to one who is not there; 429 `rate_limited` past `AT_MOST`, which counts what was said and no
    refusals.
    """

    def write() -> tuple[Conversation, Shown]:
        gig = gigs.get(gig_id)
        with members_only():
            has = permit("comment.write", caller, gig)
            gigs.share(gig.id)
            mailbox = None if OWNER in has else _place(caller, gig, task_id)
        conversation = _hold(caller, gig, has, task_id)
        if not conversation.takes_part:
            parties.require_party(caller, gig, conversation.task)
        if not conversation.can_post:
            raise Refused(
                "comments_off",
                "Comments on this task are off. Its owner can allow them with comments-policy.",
            )
        parent = None if given.parent_id is None else conversation.find(given.parent_id)
        reader_id = _reader(conversation, parent, given.private)
        counters.check(counters.hit(AT_MOST, caller.account_id))
        comment = _add(conversation, mailbox, parent, reader_id, given.body)
        upload_uses.of_comment(comment.id, caller.account_id, given.body)
        (made,) = named(conversation, [comment])
        comment_news.log("comment.posted", comment, caller)
        comment_news.notify(conversation, made)
        return conversation, made

    return db.write(write)


def delete(caller: Caller, gig_id: str, task_id: str, comment_id: str) -> None:
    """Empty a comment for good; its place and the replies to it stay. Again changes nothing.

    Its author may, and the gig's owner where he can read it, but neither side of an order the
    other's; 403 for other readers, 404 for whoever cannot read it.
    """

    def write() -> None:
        gig = gigs.get(gig_id)
        with members_only():
            has = permit("comment.write", caller, gig)
        conversation = enter(caller, gig, has, task_id)
        comment = conversation.find(comment_id)
        owners = conversation.owner and conversation.task.client_id is None
        if comment.author_id != caller.account_id and not owners:
            or_owner = "" if takes_orders(gig) else " or the gig's owner"
            raise Refused("not_permitted", f"Only its author{or_owner} may delete it.")
        emptied = Comment.update(body="", deleted_at=clock.now())
        if emptied.where(Comment.id == comment.id, Comment.deleted_at.is_null()).execute():
            upload_uses.forget(upload_uses.COMMENT, comment.id, (comment.body,))
            comment_news.log("comment.deleted", comment, caller)

    db.write(write)


@dataclass(frozen=True)
class Policy:
    """What holds now. Of an order also whether a link opens it; the link's token where it has just
    been made."""

    policy: str
    public_link: bool | None = None
    public_token: str | None = None


def set_policy(caller: Caller, gig_id: str, task_id: str, policy: str | None) -> Policy:
    """Say who reads and writes from now on; None: as the gig has it.

    An order's is its buyer's to say, before he pays and after it: 403 `not_draft_writer` for the
    vendor, 404 for others (O-07). `public` makes the token of a link, which stays the same until
    any other policy takes it away.
    """

    def write() -> Policy:
        gig = gigs.get(gig_id)
        has = permit("comment.policy", caller, gig)
        gigs.share(gig.id)
        conversation = _hold(caller, gig, has, task_id)
        task, before = conversation.task, conversation.task.comments_policy
        ordered = task.client_id is not None
        if ordered:
            parties.require_client(caller, gig, task, "task", "not_draft_writer")
        sets: dict[str, str | None] = {"comments_policy": policy}
        if ordered and policy != PUBLIC:
            sets["public_token"] = None
        made = new_share_token() if ordered and policy == PUBLIC and not task.public_token else None
        if made is not None:
            sets["public_token"] = made
        if any(getattr(task, name) != value for name, value in sets.items()):
            Task.update(**sets).where(Task.id == task.id).execute()
            for name, value in sets.items():
                setattr(task, name, value)
            events.append(
                "task.changed",
                events.Subject("task", task.id),
                actor=caller.account_id,
                gig_id=gig.id,
                data={"fields": ["comments_policy"], "from": before, "to": policy},
            )
        if not ordered:
            return Policy(conversation.policy)
        return Policy(conversation.policy, task.public_token is not None, made)

    return db.write(write)


def _place(caller: Caller, gig: Gig, task_id: str) -> Mailbox:
    """The mailbox that a member speaks from. A buyer keeps his part in his orders without an
    active one, so where members order it is not held, and need not be active."""
    if not takes_orders(gig):
        return _hold_place(caller, gig, task_id)
    where = "gig_id = ? AND account_id = ? ORDER BY ordinal"
    places = rows.find(Mailbox, where, gig.id, caller.account_id)
    return next((one for one in places if one.status == "active"), places[0])


def _hold_place(caller: Caller, gig: Gig, task_id: str) -> Mailbox:
    """The active mailbox that a worker speaks from, held: that which has the task, or the first."""
    where = "gig_id = ? AND account_id = ? ORDER BY ordinal"
    places = rows.find(Mailbox, where, gig.id, caller.account_id)
    having = db.scalar(_HAVING, (task_id, gig.id))
    speaking = any(one.id == having and one.status == "active" for one in places)
    mailbox = mailboxes.choose(places, having if speaking else None)
    mailboxes.hold(mailbox)
    return mailbox


def _hold(caller: Caller, gig: Gig, has: frozenset[str], task_id: str) -> Conversation:
    """The conversation about a task, which is locked: of those who speak, one at a time."""
    if not db.lock(Task.select(Task.id).where(Task.id == task_id, Task.gig_id == gig.id)):
        raise not_found("task")
    return enter(caller, gigs.get(gig.id), has, task_id)


def _reader(conversation: Conversation, parent: Comment | None, private: bool) -> str | None:
    """The one account that reads a new comment beside its author; None: all who see the task.

    `private` narrows and never widens: a private thread stays between its two, and where the policy
    is private every word is.
    """
    gig, task = conversation.gig, conversation.task
    me, client = conversation.account_id, parties.client_of(gig, task)
    if parent is not None and parent.reader_id is not None:
        other: str = parent.author_id if parent.reader_id == me else parent.reader_id
        return other
    worker = parties.worker_of(gig, task)
    if task.client_id is not None:
        # Of an order its two sides read all but what they tell each other alone.
        return None if not private else worker if me == client else client
    public = conversation.policy == PUBLIC
    if public and not private:
        return None
    if parent is not None and parent.author_id != me and (public or me == client):
        return str(parent.author_id)
    if me != client:
        return client
    if worker is None or worker == me:
        raise Refused(
            "no_reader",
            "Nobody has this task, so there is nobody to tell this in private. Reply to a comment, "
            "or say it to all under the policy public.",
        )
    return worker


def _add(
    conversation: Conversation,
    mailbox: Mailbox | None,
    parent: Comment | None,
    reader_id: str | None,
    body: str,
) -> Comment:
    comment_id = new_id("COMMENT")
    newest = db.scalar(_NEWEST, (conversation.task.id,))
    # Later than all others of this task, also where several come within one millisecond.
    at = clock.now() if newest is None else max(clock.now(), int(newest) + 1)
    return Comment.create(
        id=comment_id,
        gig_id=conversation.gig.id,
        task_id=conversation.task.id,
        author_id=conversation.account_id,
        mailbox_id=None if mailbox is None else mailbox.id,
        role=parties.side_of(conversation.gig, conversation.task, conversation.account_id),
        body=body,
        parent_id=None if parent is None else parent.id,
        thread_id=comment_id if parent is None else parent.thread_id,
        reader_id=reader_id,
        created_at=at,
    )
