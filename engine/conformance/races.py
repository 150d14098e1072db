"""The same, where two do it at once: of two who take one task, one has it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from engine import declining, handing_in, holds, polls, proofs, submissions
from engine.conformance.play import TIMEOUT_SECONDS, Play
from engine.conformance.site import Person, advance
from engine.conformance.steps import begin, finish
from engine.db import db
from engine.errors import Refused
from engine.forms import Form
from engine.models.proof import Proof
from engine.models.task import Task
from engine.operations import Caller
from engine.proofs import Verdict

ROUNDS = 3
Act = Callable[[], Any]


def at_once(play: Play, what: str, *acts: Act) -> None:
    """Do these at the same time; each may be refused. The books are read once all are done."""
    barrier = threading.Barrier(len(acts))
    errors: list[BaseException] = []

    def run(act: Act) -> None:
        barrier.wait()
        try:
            act()
        except Refused as refusal:
            play.refusals.append(refusal)
        except Exception as error:
            errors.append(error)

    def all_of_them() -> None:
        threads = [threading.Thread(target=run, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    play.do(f"at once: {what}", all_of_them)


def play_all(play: Play) -> None:
    for _ in range(ROUNDS):
        many_are_sent(play)
        all_poll(play)
        one_hands_in_twice(play)
        one_names_twice(play)
        it_is_taken_back(play)
        it_runs_out(play)


def many_are_sent(play: Play) -> None:
    if play.mode.info.orders:
        play.send()
        return
    before = {task.id for task in play.tasks()}
    form = Form("Do this.", "text/plain", own=play.said)
    send: Act = partial(submissions.submit, play.gig.id, play.gig.token, form)
    at_once(play, "four tasks are sent", send, send, send, send)
    play.sent += [
        task.id for task in play.tasks() if task.id not in before and task.template_number is None
    ]


def all_poll(play: Play) -> None:
    every = [*play.workers, *play.workers]
    ways: list[Act] = [partial(polls.poll, one.caller, play.gig.id, count=1) for one in every]
    at_once(play, "every worker polls twice", *ways)


def one_hands_in_twice(play: Play) -> None:
    found = begin(play)
    if found is None:
        return
    worker, task = found
    play.over(task.id)
    at_once(play, f"{worker.name} hands in twice", *[_hand_in(play, worker, task)] * 2)
    with db.reading():
        count = Proof.select().where(Proof.task_id == task.id).count()
    if count > 1:
        play.fail(f"{count} proofs of one task were taken in")
    proof = _proof(task) or finish(play, worker, task)
    if proof is not None:
        client = play.client().caller
        at_once(
            play,
            "the work is approved and rejected",
            _review(play, client, proof, Verdict(True)),
            _review(play, client, proof, Verdict(False)),
        )


def one_names_twice(play: Play) -> None:
    """Work of a worker's own naming, where the mode has that."""
    given = handing_in.HandIn(f"work-{len(play.steps)}", None, ["done"], [], "")
    way: Act = partial(handing_in.submit, play.workers[0].caller, play.gig.id, given)
    at_once(play, f"{play.workers[0].name} hands in {given.task_id} twice", way, way)


def it_is_taken_back(play: Play) -> None:
    for what, way in (("passes on it", _decline), ("hands it in", _hand_in)):
        found = begin(play)
        if found is None:
            return
        worker, task = found
        recycle = partial(holds.recycle, play.owner.caller, play.gig.id, task.id)
        at_once(
            play,
            f"the owner takes back a task, and {worker.name} {what}",
            recycle,
            way(play, worker, task),
        )


def it_runs_out(play: Play) -> None:
    found = begin(play)
    if found is None:
        return
    worker, task = found
    advance(TIMEOUT_SECONDS + 1)
    at_once(
        play,
        f"a claim runs out in two processes, and {worker.name} hands in",
        holds.expire,
        holds.expire,
        _hand_in(play, worker, task),
    )


def _hand_in(play: Play, worker: Person, task: Task) -> Act:
    given = handing_in.HandIn(task.id, None, ["done"], [], "")
    return partial(handing_in.submit, worker.caller, play.gig.id, given)


def _decline(play: Play, worker: Person, task: Task) -> Act:
    return partial(declining.decline, worker.caller, play.gig.id, task.id)


def _review(play: Play, client: Caller, proof: Proof, verdict: Verdict) -> Act:
    return partial(proofs.review, client, play.gig.id, proof.id, verdict)


def _proof(task: Task) -> Proof | None:
    with db.reading():
        return Proof.get_or_none(Proof.task_id == task.id)
