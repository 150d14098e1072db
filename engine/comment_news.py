"""What follows from a comment: the event, and whom it is told to (T-09).

What was said is in neither, since its author may take it back.
"""

from __future__ import annotations

from engine import events, notifications, parties
from engine.comment_readers import Conversation, able_to_read
from engine.comments import Shown
from engine.models.comment import Comment
from engine.operations import Caller

# Characters of a notification's title, and of the name in it.
_TITLE, _NAME = 120, 40


def log(kind: str, comment: Comment, caller: Caller) -> None:
    """Append what happened, never what was said; that two talk is in no list of others."""
    private = comment.reader_id is not None
    events.append(
        kind,
        events.Subject("comment", comment.id),
        actor=caller.account_id,
        gig_id=None if private else comment.gig_id,
        mailbox_id=comment.mailbox_id,
        data={
            "comment_id": comment.id,
            "thread_id": comment.thread_id,
            "task_id": comment.task_id,
            "private": private,
        },
    )


def notify(conversation: Conversation, made: Shown) -> None:
    """Tell those whom it is for, of those who could read it now."""
    comment, gig, task = made.comment, conversation.gig, conversation.task
    if comment.reader_id is not None:
        wanted = {comment.reader_id}
    else:
        spoken = Comment.select(Comment.author_id).where(
            Comment.task_id == task.id, Comment.thread_id == comment.thread_id
        )
        wanted = {gig.owner_id, *(one.author_id for one in spoken.distinct())}
        sides = (parties.client_of(gig, task), parties.worker_of(gig, task))
        wanted |= {one for one in sides if one is not None}
    notifications.tell(
        able_to_read(gig, task, wanted - {comment.author_id}),
        "comment.posted",
        _title(made, task.subject),
        events.Subject("task", task.id),
        gig.id,
    )


def _title(made: Shown, subject: str) -> str:
    """Who spoke, and about what. What he said is in no title, since he may take it back."""
    verb = "wrote about" if made.comment.reader_id is None else "wrote to you about"
    about = _short(subject, _TITLE - _NAME - len(verb) - 2) or "a task"
    return f"{_short(made.author_name, _NAME)} {verb} {about}"


def _short(text: str, most: int) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
