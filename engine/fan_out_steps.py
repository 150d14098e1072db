"""The command that gives many workers a copy each of one task (`fan_out.py`)."""

from __future__ import annotations

from engine import (
    arrivals,
    commands,
    entries,
    events,
    fan_out,
    freeing,
    gigs,
    giving,
    spending,
    tasks,
    turns,
)
from engine.apply import placed
from engine.db import db
from engine.errors import Refused
from engine.fan_out import Copied
from engine.models.command import Command
from engine.models.event import Event
from engine.models.gig import Gig
from engine.models.task import Task
from engine.moves import move

# Copies that one transaction makes.
CHUNK = 100
# The command came to no end, however often it was tried.
FAILED = "task.copies_failed"


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
    """The command has failed for good, so its task waits again, for those who have no copy of it.

    Where that has happened to it before, it would hold up the gig for ever: it ends with the copies
    that there are, or is dropped if there are none. Its owner hears of it each time.
    """

    def write() -> None:
        command = Command.get(Command.id == command_id)
        task = Task.get(Task.id == command.arguments["task_id"])
        gig = gigs.held(task.gig_id)
        spending.hold(gig)
        if not turns.end(gig.id, command.id):
            # Somebody else has done all this.
            return
        template = _looked_at_again(gig, task)
        if template.status != "queued":
            return
        told = fan_out.forwarded(template)
        again = not _has_failed(template)
        if again:
            entries.put_again(gig, template)
        elif told["targets"]:
            fan_out.close(template)
        else:
            entries.withdraw(template)
            move(template, "drop")
            spending.take_back(gig, template)
        events.append(
            FAILED,
            events.Subject("task", template.id),
            actor=giving.ACTOR,
            gig_id=gig.id,
            data={"message_id": template.id, "targets": told["targets"], "tried_again": again},
        )

    db.write(write)


def _has_failed(template: Task) -> bool:
    of_task = Event.select().where(
        Event.gig_id == template.gig_id, Event.type == FAILED, Event.subject_id == template.id
    )
    return bool(of_task.exists())


def _let_others(gig: Gig, command: Command, task: Task) -> Task:
    """The gig's turns are everybody's again from this transaction on; the template is locked."""
    spending.hold(gig)
    turns.end(gig.id, command.id)
    return _looked_at_again(gig, task)


def _looked_at_again(gig: Gig, task: Task) -> Task:
    freeing.look_again(gig.id)
    (template,) = tasks.hold(task.number)
    return template
