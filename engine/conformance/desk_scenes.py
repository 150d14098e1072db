"""What workers do at the desk of a mode that has one, which is no more than they may elsewhere."""

from __future__ import annotations

from engine.conformance.play import Play
from engine.conformance.site import advance
from engine.conformance.steps import begin, finish
from engine.errors import Refused
from engine.models.task import Task


def on_time(play: Play) -> None:
    """What each worker finds there, and does with it."""
    if play.mode.info.desk is None:
        return
    found = begin(play)
    if found is None:
        return
    _no_more_than_elsewhere(play, found[1])
    for worker in play.workers:
        play.read_desk(worker)
        for verb in play.mode.info.verbs:
            for task in play.tasks():
                if task.status == "claimed" and task.mailbox_id == worker.mailbox_id:
                    play.act_at_desk(worker, task.id, verb)
        play.read_desk(worker)


def too_late(play: Play) -> None:
    """What is done there once the time has run out, before anybody looks, or it is handed in."""
    if play.mode.info.desk is None:
        return
    found = begin(play)
    if found is not None:
        finish(play, *found)
        _no_more_than_elsewhere(play, found[1])
    found = begin(play)
    if found is not None and found[1].expires_at is not None:
        advance((found[1].expires_at - play.now()) // 1000 + 1)
        _no_more_than_elsewhere(play, found[1])
        play.wait(1)


def _no_more_than_elsewhere(play: Play, task: Task) -> None:
    """What is refused to a worker in the gig is refused to him at his desk as well."""
    for worker in play.workers:
        for verb in play.mode.info.verbs:
            elsewhere = play.act(worker, task.id, verb.name, play.body(verb.name))
            if not isinstance(elsewhere, Refused):
                continue
            if not isinstance(play.act_at_desk(worker, task.id, verb), Refused | None):
                play.fail(
                    f"the verb {verb.name!r} is refused to {worker.name} in his gig, and done at "
                    "his desk"
                )
