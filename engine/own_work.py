"""Work that a worker names himself, in a gig whose mode hands out none (U-03).

There is one task for each name that a mailbox uses, made by its first proof of it, so that
everything which is about a task is about such work too. It waits on no shelf, since nobody else
could do it.
"""

from __future__ import annotations

import unicodedata
from typing import Any

from engine import allowances, clock, gigs, holding, in_hand, rows, taking_by_proof, tasks
from engine.errors import Refused, invalid
from engine.ids import new_id
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from engine.moves import move
from engine.rules.queue_order import DEFAULT_PRIORITY
from engine.states import target

MAX_NAME_CHARACTERS = 200
# Control and format characters, and breaks of lines and paragraphs.
_UNSEEN = ("Cc", "Cf", "Zl", "Zp")


def clean_name(name: str) -> str:
    """A name as it is kept: without blanks around it, and each letter in its one form (NFC).

    400 naming `task_identifier` for one that nothing, or nothing that is seen, tells from another.
    """
    cleaned = unicodedata.normalize("NFC", name).strip()
    if not cleaned or any(unicodedata.category(one) in _UNSEEN for one in cleaned):
        raise invalid("task_identifier", "give a name of visible characters, in one line")
    return cleaned


def held(gig: Gig, mailbox: Mailbox, given: str) -> Task:
    """The task of what this mailbox calls so, in its hands; only inside `db.write`.

    A proof of it is a take, within the limits (M-05). Gig and mailbox are held, so that of two who
    come with one name the second finds what the first has made.
    """
    name = clean_name(given)
    found = Task.get_or_none(Task.named_by == mailbox.id, Task.named_as == name)
    if found is None:
        return _make(gig, mailbox, name)
    task = tasks.locked(gig, found.id)
    if in_hand.holds(mailbox, task):
        return task
    if taking_by_proof.may_resume(gig, mailbox, task):
        return taking_by_proof.resume(gig, mailbox, task)
    if task.status != "queued":
        raise Refused(
            "already_proven",
            "You have already handed in a proof under this task_identifier. "
            "Give other work another one.",
        )
    _require_free(gig, mailbox)
    move(task, "claim", mailbox_id=mailbox.id, **holding.terms(gig, task))
    return taking_by_proof.taken(mailbox, task)


def _make(gig: Gig, mailbox: Mailbox, name: str) -> Task:
    _require_free(gig, mailbox)
    values: dict[str, Any] = {
        "id": new_id("TASK"),
        "gig_id": gig.id,
        "subject": name,
        "payload": "",
        "content_type": "text/plain",
        "tags": [],
        "price_tbd": False,
        "priority": DEFAULT_PRIORITY,
        "created_at": clock.now(),
        "mailbox_id": mailbox.id,
        "named_by": mailbox.id,
        "named_as": name,
    }
    values |= {"status": target("task", "claim"), **holding.terms(gig, Task(**values))}
    ((number,),) = rows.insert(Task, values, tail="RETURNING number")
    return taking_by_proof.taken(mailbox, Task(number=number, **values))


def _require_free(gig: Gig, mailbox: Mailbox) -> None:
    gigs.require_open(gig)
    allowances.require(gig, mailbox)
