"""The command that gives many workers a copy each of one task (`fan_out.py`)."""

from __future__ import annotations

from engine import arrivals, commands, entries, fan_out, freeing, gigs, spending, tasks, turns
from engine.apply import placed
from engine.db import db
from engine.errors import Refused
from engine.fan_out import Copied
from engine.models.command import Command
from engine.models.gig import Gig
from engine.models.task import Task

# Copies that one transaction makes.
CHUNK = 100


def step(command: Command) -> commands.Outcome:
    """Give each of them his copy, some at a time, and then answer as if all had been at once.

    It may be run again, from its beginning, after it was killed anywhere, and twice at once: nobody
    is given a second copy. Deleting the task meanwhile stops it: 409 `task_cancelled` if nobody has
    one. Closing the gig stops it too: who has a copy keeps it, and the task waits for the others
    until the gig is open again.
    """
    with db.reading():
        task = Task.get(Task.id == command.arguments["task_id"])
    ids = command.arguments["mailbox_ids"]
    too_much = False
    for first in range(0, len(ids), CHUNK):
        some = ids[first : first + CHUNK]
        copied = db.write(lambda some=some: _copy_to(task, some))  # type: ignore[misc]
        too_much = copied is not None and copied.too_much
        if copied is None or too_much:
            break
    told = db.write(lambda: _end(command, task, too_much))
    if told is None:
        raise Refused("task_cancelled", "This task was deleted before anybody had a copy of it.")
    return commands.Done(told)


def _copy_to(task: Task, mailbox_ids: list[str]) -> Copied | None:
    """None where the gig hands out nothing more by now."""
    gigs.share(task.gig_id)
    gig = gigs.get(task.gig_id)
    if gig.status != "active":
        return None
    spending.hold(gig)
    return fan_out.copy_to(gig, task, mailbox_ids, placed)


def _end(command: Command, task: Task, too_much: bool) -> dict[str, object] | None:
    """Let others have their turns, and answer what became of the task; None if it is deleted."""
    gig = gigs.held(task.gig_id)
    template = _let_others(gig, command, task)
    told = fan_out.forwarded(template)
    if template.status == "queued":
        if not told["targets"] or gig.status != "active":
            # All of them were paused or full when their turn came, or the gig has been closed.
            entries.put_again(gig, template)
            return arrivals.told(task.id, {"status": "waiting"})
        # Another that ran at the same time may have closed it before.
        fan_out.close(template, too_much=too_much)
    return arrivals.told(task.id, told) if told["targets"] else None


def give_up(command_id: str) -> None:
    """The command has failed for good: its task waits again, for those who have no copy of it."""

    def write() -> None:
        command = Command.get(Command.id == command_id)
        task = Task.get(Task.id == command.arguments["task_id"])
        gig = gigs.held(task.gig_id)
        template = _let_others(gig, command, task)
        if template.status == "queued":
            entries.put_again(gig, template)

    db.write(write)


def _let_others(gig: Gig, command: Command, task: Task) -> Task:
    """The gig's turns are everybody's again from this transaction on; the template is locked."""
    spending.hold(gig)
    turns.end(gig.id, command.id)
    freeing.look_again(gig.id)
    (template,) = tasks.hold(task.number)
    return template
