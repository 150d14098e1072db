"""A copy of a task to each of a gig's workers, who do not poll for it (U-01, `everyone`).

The task itself is the template: it ends `forwarded`, and each account has one copy at most, by the
key of `copy_holder`. Few copies are made in the transaction of whoever sent the task; many by a
command, some at a time (`fan_out_steps.py`), which a crash does not repeat: whoever has his copy is
passed over. Until the command ends, all that comes after it in the gig waits.

Each copy is paid, so as many are made as the token that sent the task may still spend (G-04); the
owner is told where those are not all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from engine import (
    commands,
    copies,
    entries,
    events,
    giving,
    push_candidates,
    rows,
    spending,
    tasks,
    turns,
)
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

# Fewer have a copy than could have been given one, since the day's limit was reached.
TOO_MUCH = "task.copies_held_back"

_COPIES = "SELECT id FROM task WHERE template_number = ? ORDER BY number"


@dataclass(frozen=True)
class Copied:
    """Who has been given a copy, and whether others were not since that would cost too much."""

    served: list[Mailbox] = field(default_factory=list)
    too_much: bool = False


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
    if not spending.covers_one(gig, template):
        # Its price has been raised since it was sent. Another day it may be within the limit.
        return []
    some = list(islice(push_candidates.able(gig, candidates), INLINE + 1))
    if len(some) > INLINE:
        # It leaves the shelf, so that nobody gives it out a second time.
        entries.withdraw(template)
        arguments = {"task_id": template.id, "mailbox_ids": [one.id for one in candidates]}
        command = commands.record(
            KIND, arguments, account_id=gig.owner_id, gig_id=gig.id, command_id=command_id
        )
        turns.keep_for(gig.id, command.id)
        return command
    copied = copy_to(gig, template, [one.id for one in some], placed)
    # Where a command came to an end half-way, the others of those who are free now have had theirs.
    if copied.served or (some and forwarded(template)["targets"]):
        close(template, too_much=copied.too_much)
    return copied.served


def copy_to(gig: Gig, template: Task, mailbox_ids: Sequence[str], placed: Placed) -> Copied:
    """Give a copy to each of these who can be given it now and has none.

    The mailboxes are locked, and then the template, so nobody else makes copies of it, and it stays
    what it is. Only inside `db.write`.
    """
    able = push_candidates.hold(gig, template, mailbox_ids)
    held = tasks.hold(template.number)
    if not held or held[0].status != "queued":
        return Copied()
    having = CopyHolder.select(CopyHolder.account_id)
    had = {row.account_id for row in having.where(CopyHolder.template_number == template.number)}
    # An account with several mailboxes has its copy in the first of them.
    first = {one.account_id: one for one in reversed(able) if one.account_id not in had}
    wanted = [one for one in able if first.get(one.account_id) is one]
    served = wanted[: spending.cover(gig, template, len(wanted))]
    for mailbox in served:
        copy = _copy(gig, mailbox, template)
        giving.tell(gig, mailbox, copy)
        placed(gig, copy)
    return Copied(served, too_much=len(served) < len(wanted))


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


def close(template: Task, *, too_much: bool = False) -> None:
    """No more copies are made of the template, which is locked, so it is over.

    What its copies did not cost may be spent again, and its owner hears of those that would have
    been `too_much`.
    """
    entries.withdraw(template)
    move(template, "forward")
    spending.give_back_unused(template)
    if too_much:
        events.append(
            TOO_MUCH,
            events.Subject("task", template.id),
            actor=giving.ACTOR,
            gig_id=template.gig_id,
            data={
                "message_id": template.id,
                "reason": spending.OVER_DAILY_SPEND,
                "targets": forwarded(template)["targets"],
            },
        )
