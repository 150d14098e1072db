"""A copy of a task to each of a gig's workers, who do not poll for it (U-01, `everyone`).

The task itself is the template: it ends `forwarded`, and each account has one copy at most, by the
key of `copy_holder`. Few copies are made in the transaction of whoever sent the task; many by a
command, some at a time (`fan_out_steps.py`), which a crash does not repeat: whoever has his copy is
passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from engine import commands, copies, entries, giving, push_candidates, rows, tasks
from engine.db import db
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.mailbox import Mailbox
from engine.models.task import CopyHolder, Task
from engine.moves import move
from engine.push_candidates import Candidate

KIND = "task.fan_out"
# So many copies are made at once; each costs some milliseconds.
INLINE = 100

Placed = Callable[[Gig, Task], None]

_COPIES = "SELECT id FROM task WHERE template_number = ? ORDER BY number"


def to_all(
    gig: Gig,
    template: Task,
    candidates: Sequence[Candidate],
    placed: Placed,
    command_id: str | None = None,
) -> list[Mailbox] | Command:
    """Give a copy of a queued task to each of the candidates who can be given one now.

    Answers who has one, nobody where all are full; or the command that gives them out, under this
    id, where there may be many. The gig's turns are held.
    """
    some = list(islice(push_candidates.able(gig, candidates), INLINE + 1))
    if len(some) > INLINE:
        # It leaves the shelf, so that nobody gives it out a second time.
        entries.withdraw(template)
        arguments = {"task_id": template.id, "mailbox_ids": [one.id for one in candidates]}
        return commands.record(
            KIND, arguments, account_id=gig.owner_id, gig_id=gig.id, command_id=command_id
        )
    served = copy_to(gig, template, [one.id for one in some], placed)
    if served:
        close(template)
    return served


def copy_to(gig: Gig, template: Task, mailbox_ids: Sequence[str], placed: Placed) -> list[Mailbox]:
    """Give a copy to each of these who can be given it now and has none; answers to whom.

    The mailboxes are locked, and then the template, so nobody else makes copies of it, and it stays
    what it is. Only inside `db.write`.
    """
    able = push_candidates.hold(gig, template, mailbox_ids)
    held = tasks.hold(template.number)
    if not held or held[0].status != "queued":
        return []
    having = CopyHolder.select(CopyHolder.account_id)
    had = {row.account_id for row in having.where(CopyHolder.template_number == template.number)}
    served = []
    for mailbox in able:
        if mailbox.account_id in had:
            continue
        had.add(mailbox.account_id)
        served.append(mailbox)
        copy = _copy(gig, mailbox, template)
        giving.tell(gig, mailbox, copy)
        placed(gig, copy)
    return served


def _copy(gig: Gig, mailbox: Mailbox, template: Task) -> Task:
    values = copies.values_of(gig, mailbox, template) | giving.terms(gig, template)
    ((number,),) = rows.insert(Task, values, tail="RETURNING number")
    holder = {
        "account_id": mailbox.account_id,
        "template_number": template.number,
        "copy_number": number,
    }
    rows.insert(CopyHolder, holder)
    return Task(number=number, **values)


def forwarded(template: Task) -> dict[str, Any]:
    """What whoever sent the task is told once everybody has his copy (T-02)."""
    ids = [row[0] for row in db.rows(_COPIES, (template.number,))]
    return {"status": "forwarded", "targets": len(ids), "message_ids": ids}


def close(template: Task) -> None:
    """Everybody has his copy, so the template, which is locked, is over."""
    entries.withdraw(template)
    move(template, "forward")
