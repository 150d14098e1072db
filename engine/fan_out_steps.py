"""The command that gives many workers a copy each of one task (`fan_out.py`)."""

from __future__ import annotations

from engine import arrivals, commands, entries, fan_out, freeing, gigs, tasks
from engine.apply import placed
from engine.db import db
from engine.errors import Refused
from engine.models.command import Command
from engine.models.task import Task

# Copies that one transaction makes.
CHUNK = 100


def step(command: Command) -> commands.Outcome:
    """Give each of them his copy, some at a time, and then answer as if all had been at once.

    It may be run again, from its beginning, after it was killed anywhere, and twice at once: nobody
    is given a second copy. Deleting the task meanwhile stops it: 409 `task_cancelled` if nobody has
    one.
    """
    with db.reading():
        task = Task.get(Task.id == command.arguments["task_id"])
    ids = command.arguments["mailbox_ids"]
    for first in range(0, len(ids), CHUNK):
        some = ids[first : first + CHUNK]
        db.write(lambda some=some: _copy_to(task, some))  # type: ignore[misc]
    return commands.Done(db.write(lambda: _close(task)))


def _copy_to(task: Task, mailbox_ids: list[str]) -> None:
    gig = gigs.get(task.gig_id)
    gigs.share(gig.id)
    fan_out.copy_to(gig, task, mailbox_ids, placed)


def _close(task: Task) -> dict[str, object]:
    gig = gigs.held(task.gig_id)
    (template,) = tasks.hold(task.number)
    told = fan_out.forwarded(template)
    if not told["targets"]:
        if template.status != "queued":
            raise Refused(
                "task_cancelled", "This task was deleted before anybody had a copy of it."
            )
        # All of them were paused or full when their turn came.
        entries.put_again(gig, template)
        freeing.look_again(gig.id)
        told = {"status": "waiting"}
    elif template.status == "queued":
        # Not where its owner has deleted it, or another has just closed it.
        fan_out.close(template)
    return arrivals.told(task.id, told)
