"""What happens to tasks in any gig, scene by scene; a mode may refuse a step, and no more."""

from __future__ import annotations

from collections.abc import Callable

from engine.conformance import desk_scenes, schemas
from engine.conformance.play import ACCEPT_SECONDS, TIMEOUT_SECONDS, Play
from engine.conformance.site import Person
from engine.conformance.steps import begin, finish, gone_from, take, wait_for_bell
from engine.errors import Refused
from engine.plans import Verb


def approved(play: Play) -> None:
    found = begin(play)
    if found is None:
        return
    proof = finish(play, *found)
    for other in play.workers:
        play.hand_in(other, found[1].id)
    if proof is not None:
        play.review(proof, approve=True)
        play.review(proof, approve=True)
        play.review(proof, approve=False, requeue=True)
        play.review(proof, approve=True)


def rejected(play: Play) -> None:
    for requeue in (True, False):
        found = begin(play)
        proof = None if found is None else finish(play, *found)
        if found is None or proof is None:
            return
        play.review(proof, approve=False, requeue=requeue)
        if play.task(found[1].id).status == "submitted":
            play.fail("the rejected work is still under review. rejected() says where it goes")
        again = take(play, found[1].id)
        proof = finish(play, *again) if again is not None else None
        if proof is not None:
            play.review(proof, approve=True)


def named_by_worker(play: Play) -> None:
    """Work of a worker's own naming, handed in twice."""
    worker = play.workers[0]
    name = f"work-{len(play.steps)}"
    proof = play.hand_in(worker, name)
    if proof is not None:
        play.held += 1
        play.review(proof, approve=False, requeue=True)
        proof = play.hand_in(worker, name) or proof
        play.review(proof, approve=True)


def declined(play: Play) -> None:
    for way in (play.decline, play.report, play.turn_down):
        found = begin(play)
        if found is None:
            return
        worker, task = found
        for other in play.workers:
            if other is not worker:
                way(other, task.id)
        gone_from(play, worker, task, way(worker, task.id), "declined")
        way(worker, task.id)
        take(play, task.id)


def accepted(play: Play) -> None:
    found = begin(play)
    if found is None:
        return
    worker, task = found
    play.accept(worker, task.id)
    play.accept(worker, task.id)
    play.turn_down(worker, task.id)
    play.hand_in(worker, task.id)


def recycled(play: Play) -> None:
    found = begin(play)
    if found is None:
        return
    worker, task = found
    gone_from(play, worker, task, play.recycle(task.id), "released")
    play.hand_in(worker, task.id)
    take(play, task.id)


def ran_out(play: Play) -> None:
    found = begin(play)
    if found is None:
        return
    worker, task = found
    offered = task.accept_by is not None
    play.wait((ACCEPT_SECONDS if offered else TIMEOUT_SECONDS) + 1)
    if task.expires_at is not None:
        gone_from(play, worker, task, None, "released")
    play.hand_in(worker, task.id)
    take(play, task.id)


def assigned(play: Play) -> None:
    one, other = play.workers[-1], play.workers[-2]
    found = begin(play, to=one)
    task_id = found[1].id if found is not None else play.send()
    if task_id is None:
        return
    play.assign(one, task_id)
    play.assign(other, task_id)
    play.decline(other, task_id)
    play.assign(one, task_id)
    play.recycle(task_id)
    play.assign(one, task_id)
    play.hand_in(one, task_id)


def left(play: Play) -> None:
    found = begin(play)
    if found is None:
        return
    worker, task = found
    if worker not in play.workers or isinstance(play.leave(worker), Refused):
        return
    for one in play.tasks():
        if one.status == "claimed" and one.mailbox_id == worker.mailbox_id:
            play.fail(
                f"{worker.name} has left, and still has a task. released() says where it goes"
            )
    play.join(worker)
    take(play, task.id)


def paused(play: Play) -> None:
    """Nobody is there for a while; then everybody is again."""
    for worker in play.workers:
        play.pause(worker, True)
    task_id = play.send()
    for worker in play.workers:
        play.pause(worker, False)
    play.wait(1)
    if task_id is not None and take(play, task_id) is None and play.held:
        play.fail("the task came while everybody had paused, and nobody gets it now")


def deleted(play: Play) -> None:
    task_id = play.send()
    if task_id is None:
        return
    play.delete(task_id)
    play.delete(task_id)
    found = begin(play)
    if found is not None:
        play.delete(found[1].id)


def verbs(play: Play) -> None:
    """Each verb by each of them, in order and out of order, with bodies that fit and others."""
    for first in play.mode.info.verbs:
        task_id = play.send()
        if task_id is None:
            return
        for verb in (first, *play.mode.info.verbs):
            for who in play.people():
                bad_bodies(play, who, task_id, verb)
                play.act(who, task_id, verb.name, play.body(verb.name))
        wait_for_bell(play, task_id)


def gone(play: Play) -> None:
    """Whoever has used a verb may have left by the time that the mode names him."""
    if all(verb.holder for verb in play.mode.info.verbs):
        return
    ways: tuple[Callable[[Person, str], object], ...] = (
        lambda holder, task_id: play.decline(holder, task_id),
        lambda holder, task_id: play.recycle(task_id),
        lambda holder, task_id: _reject(play, holder, task_id),
    )
    for leavers in (play.workers[:1], play.workers):
        task_id = _by_all(play)
        if task_id is not None:
            for worker in leavers:
                play.leave(worker)
            for verb in play.mode.info.verbs:
                play.act(play.owner, task_id, verb.name, play.body(verb.name))
            wait_for_bell(play, task_id)
        for worker in leavers:
            play.join(worker)
    for way in ways:
        task_id = _by_all(play)
        found = None if task_id is None else take(play, task_id)
        if found is not None:
            others = [worker for worker in play.workers if worker is not found[0]]
            for worker in others:
                play.leave(worker)
            way(found[0], found[1].id)
            wait_for_bell(play, found[1].id)
            for worker in others:
                play.join(worker)


def _by_all(play: Play) -> str | None:
    """A new task on which each worker has used each verb that he may."""
    task_id = play.send()
    for verb in play.mode.info.verbs if task_id is not None else ():
        for worker in play.workers:
            play.act(worker, str(task_id), verb.name, play.body(verb.name))
    return task_id


def _reject(play: Play, holder: Person, task_id: str) -> None:
    proof = finish(play, holder, play.task(task_id))
    if proof is not None:
        play.review(proof, approve=False, requeue=True)


def bad_bodies(play: Play, who: Person, task_id: str, verb: Verb) -> None:
    good = play.body(verb.name)
    wrong = {"no_such_member": {**good, "no_such_member": 1}}
    wrong |= {name: {**good, name: schemas.MISFIT} for name in verb.fields}
    wrong |= {
        name: {key: value for key, value in good.items() if key != name} for name in verb.required
    }
    for name, body in wrong.items():
        got = play.act(who, task_id, verb.name, body)
        if not isinstance(got, Refused):
            play.fail(f"the verb {verb.name!r} was done with the body {body}")
        if got.code == "invalid" and name not in (got.errors or {}):
            play.fail(f"the verb {verb.name!r} does not name {name!r}, which is wrong in {body}")


def ended(play: Play) -> None:
    """The gig is over: what nobody has in hand ends, and the rest can be finished."""
    if isinstance(play.cancel(), Refused):
        return
    play.wait(1)
    for task in play.tasks():
        if task.status in ("queued", "unassigned"):
            play.fail(f"the gig is cancelled, and the task {task.id} still waits")
        found = play.in_hands(task.id) if task.status == "claimed" else None
        proof = finish(play, found[0], task) if found is not None else None
        if proof is not None:
            play.review(proof, approve=True)


SCENES: tuple[Callable[[Play], None], ...] = (
    approved,
    rejected,
    named_by_worker,
    declined,
    accepted,
    recycled,
    ran_out,
    assigned,
    left,
    paused,
    deleted,
    verbs,
    desk_scenes.on_time,
    desk_scenes.too_late,
)


def play_all(play: Play) -> None:
    """Every scene twice, in one gig, that of those who leave once, and then its end."""
    for scene in (*SCENES, *SCENES, gone):
        scene(play)
    ended(play)
    ended(play)
