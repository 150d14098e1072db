"""What scenes are made of: a task that comes into somebody's hands, is done, and goes on."""

from __future__ import annotations

from engine.conformance.play import Play
from engine.conformance.site import Person
from engine.db import db
from engine.errors import Refused
from engine.models.proof import Proof
from engine.models.task import Task
from engine.operations import OWNER

# Bells that are waited for before a task counts as one that nobody gets.
BELLS = 3


def take(play: Play, task_id: str) -> tuple[Person, Task] | None:
    """Who comes to hold the task, by whichever way the mode gives: a push, polls, verbs, bells."""
    found = play.in_hands(task_id)
    for worker in play.workers:
        if found is None:
            play.poll(worker)
            found = play.in_hands(task_id)
    for verb in play.mode.info.verbs:
        for worker in play.workers:
            if found is None and not verb.holder:
                play.act(worker, task_id, verb.name, play.body(verb.name))
                found = play.in_hands(task_id)
    for _ in range(BELLS):
        if found is None and wait_for_bell(play, task_id):
            found = play.in_hands(task_id)
    return found


def wait_for_bell(play: Play, task_id: str) -> bool:
    item = play.item(task_id)
    if item is None or item.bell_at is None:
        return False
    play.wait(max(1, (item.bell_at - play.now()) // 1000 + 1))
    return True


def begin(play: Play, *, to: Person | None = None) -> tuple[Person, Task] | None:
    """A new task in somebody's hands; None where the mode hands out none in this way."""
    task_id = play.send(to=to)
    found = None if task_id is None else take(play, task_id)
    play.held += to is None and found is not None
    return found


def finish(play: Play, worker: Person, task: Task) -> Proof | None:
    """Its holder does the work: by a proof, or by the mode's verbs where those do it."""
    proof = play.hand_in(worker, task.id)
    for verb in (*play.mode.info.verbs, *play.mode.info.verbs):
        now = play.in_hands(task.id)
        if proof is None and now is not None and OWNER not in verb.by:
            play.act(now[0], task.id, verb.name, play.body(verb.name))
    if proof is None:
        with db.reading():
            proof = Proof.get_or_none(Proof.task_id == task.id, Proof.status == "pending")
    return proof


def gone_from(play: Play, worker: Person, task: Task, got: object, hook: str) -> None:
    """What was taken from a worker is not his any more."""
    now = play.task(task.id)
    same = (now.status, now.mailbox_id, now.claimed_at)
    if not isinstance(got, Refused) and same == ("claimed", worker.mailbox_id, task.claimed_at):
        play.fail(f"{worker.name} still has the task. {hook}() says where it goes")
