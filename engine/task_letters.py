"""The letter that a worker gets when a task is pushed or assigned to him (U-02)."""

from __future__ import annotations

import unicodedata

from engine import clock, install, letters
from engine.db import db
from engine.models.gig import Gig
from engine.models.task import Task
from engine.rules import times

# After this a server that takes no letters is given up.
USEFUL_SECONDS = 6 * 3600
MAX_SUBJECT, MAX_LINE = 150, 500

_EMAIL = "SELECT email FROM mailbox WHERE id = ?"


def write(gig: Gig, mailbox_id: str, task: Task) -> None:
    """Record the letter to the mailbox's address, in the transaction that gives him the task.

    It tells the gig's title, the task's subject and where to read it. Neither the payload nor its
    private details are in it: nobody has proven that the address is his. Without
    `MUSTER_SMTP_URL` there is none.
    """
    if not letters.can_send():
        return
    to = db.scalar(_EMAIL, (mailbox_id,))
    if not to:
        return
    title, subject = one_line(gig.title, MAX_LINE), one_line(task.subject, MAX_LINE)
    until = clock.now() + USEFUL_SECONDS * clock.SECOND
    ends = task.expires_at
    letters.record(
        letters.NOTICE,
        to,
        one_line(f"New task: {subject or title}", MAX_SUBJECT),
        _body(gig, task, title, subject),
        until if ends is None else min(until, ends),
        gig.id,
    )


def _body(gig: Gig, task: Task, title: str, subject: str) -> str:
    what = f"You were given a task in the gig “{title}”."
    link = f"{install.current().settings.PUBLIC_URL.rstrip('/')}/task/{gig.id}/{task.id}"
    parts = [what, subject, link]
    if task.accept_by is not None:
        until = times.iso_ms(task.accept_by)
        parts.append(f"Accept it there before {until}, or it goes to somebody else.")
    elif task.expires_at is not None:
        parts.append(f"It is yours until {times.iso_ms(task.expires_at)}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def one_line(text: str, most: int) -> str:
    """Text of others as it may stand in a header or on a line: without breaks or controls."""
    blank = {ord(c): " " for c in set(text) if unicodedata.category(c)[0] in "CZ"}
    # What joins letters of some scripts.
    for joiner in "\u200c\u200d":
        blank.pop(ord(joiner), None)
    line = " ".join(text.translate(blank).split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"
