"""However a task leaves its worker, what he had drafted of it goes with it (R-03)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine import clock, departures, holds
from engine.db import db
from engine.models.proof import Proof, ProofAlias
from tests.contract.scene import all_hold
from tests.engine.holding import TIMEOUT, act, assign, mailbox_id, poll, told
from tests.world import Gig, Person, World

ENGINE = Path(__file__).parents[2] / "engine"


def _expire(gig: Gig, worker: Person, other: Person, task_id: str) -> None:
    clock.advance(TIMEOUT)
    assert holds.expire() >= 1


def _given_to_another(gig: Gig, worker: Person, other: Person, task_id: str) -> None:
    assign(gig, other, task_id)


def _given_to_another_after_its_time(gig: Gig, worker: Person, other: Person, task_id: str) -> None:
    clock.advance(TIMEOUT)
    assign(gig, other, task_id)


def _closed(gig: Gig, worker: Person, other: Person, task_id: str) -> None:
    path = f"{gig.path}/mailboxes/{mailbox_id(worker)}"
    gig.owner.patch(path, {"status": "inactive"})


def _left(gig: Gig, worker: Person, other: Person, task_id: str) -> None:
    worker.call("DELETE", f"{gig.path}/mailboxes/{mailbox_id(worker)}").ok()


def _cancelled(then: Callable[..., Any]) -> Callable[..., None]:
    """A cancelled gig's task is over once it is let go of."""

    def leave(gig: Gig, worker: Person, other: Person, task_id: str) -> None:
        gig.owner.post(f"{gig.path}/cancel")
        with db.reading():
            assert Proof.select().where(Proof.task_id == task_id).count() == 1
        then(gig, worker, other, task_id)

    return leave


def _declined(gig: Gig, worker: Person, other: Person, task_id: str) -> None:
    act(gig, worker, task_id, "decline").ok()


# How it leaves him, and the state that it is in then; in a solo gig a copy is discarded.
WAYS: dict[str, tuple[Callable[[Gig, Person, Person, str], Any], str]] = {
    "expiry": (_expire, "queued"),
    "recycle": (
        lambda gig, worker, other, task: act(gig, gig.owner, task, "recycle").ok(),
        "queued",
    ),
    "decline": (_declined, "queued"),
    "violation": (
        lambda gig, worker, other, task: act(gig, worker, task, "violation").ok(),
        "queued",
    ),
    "given to another": (_given_to_another, "claimed"),
    "given to another after its time": (_given_to_another_after_its_time, "claimed"),
    "mailbox closed": (_closed, "queued"),
    "left": (_left, "queued"),
    "deactivated": (
        lambda gig, worker, other, task: departures.deactivate(worker.email),
        "queued",
    ),
    "declined in a cancelled gig": (_cancelled(_declined), "cancelled"),
    "expiry in a cancelled gig": (_cancelled(_expire), "cancelled"),
}
# Which of them end up elsewhere for what was assigned, and for a copy.
MODES = {
    "queue": tuple(WAYS),
    "assigned": ("expiry", "recycle", "given to another", "mailbox closed"),
    "queue_solo": ("expiry", "recycle", "violation", "left", "declined in a cancelled gig"),
}


def _rows(task_id: str) -> tuple[int, int, str]:
    with db.reading():
        proofs = Proof.select().where(Proof.task_id == task_id).count()
        status = str(db.scalar("SELECT status FROM task WHERE id = ?", (task_id,)))
        return proofs, ProofAlias.select().count(), status


@pytest.mark.rule("R-03")
@pytest.mark.rule("A-01")
@pytest.mark.rule("Q-07")
@pytest.mark.parametrize("mode", MODES)
def test_a_draft_goes_with_its_task_whichever_way_that_goes(world: World, mode: str) -> None:
    def leaves(name: str) -> None:
        leave, ends = WAYS[name]
        distribution = "queue_solo" if mode == "queue_solo" else "queue"
        gig = world.gig(task_timeout=TIMEOUT, distribution=distribution)
        worker, other = world.worker(gig), world.worker(gig)
        task_id = world.task(gig)
        if mode == "assigned":
            assign(gig, worker, task_id)
        else:
            (task_id,) = poll(gig, worker)
        path = f"{gig.path}/proofs"
        body = {"task_identifier": task_id, "draft": True}
        proof_id = worker.post(path, body)["proof"]["id"]
        worker.patch(f"{path}/{proof_id}/alias", {"alias": "mine"})
        worker.post(f"{path}/{proof_id}/submit")
        worker.post(f"{path}/{proof_id}/withdraw")
        # The owner confirms it: that is no other worker.
        if mode == "queue" and name == "expiry":
            assign(gig, worker, task_id)
            ends = "unassigned"
        assert _rows(task_id) == (1, 1, "claimed")

        leave(gig, worker, other, task_id)

        if mode == "queue_solo":
            ends = "discarded"
        elif mode == "assigned" and ends == "queued":
            ends = "unassigned"
        assert _rows(task_id) == (0, 0, ends)
        (event,) = told(gig, "proof.dropped")
        assert event["data"]["proof_id"] == proof_id
        assert event["data"]["mailbox_id"] == mailbox_id(worker)
        if mode != "queue_solo" and ends in ("queued", "unassigned"):
            # Whoever has it next begins anew, and so does the same worker.
            assign(gig, other, task_id)
            other.post(path, body)
            assert len(told(gig, "proof.dropped")) == 1

    all_hold(MODES[mode], leaves)


@pytest.mark.rule("R-03")
def test_a_draft_stays_with_whom_the_owner_gives_his_task_again(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    task_id = world.task(gig)
    body = {"task_identifier": task_id, "draft": True}
    proof_id = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    clock.advance(TIMEOUT)
    worker.call("POST", f"{gig.path}/proofs/{proof_id}/submit").refused(410, "claim_lost")
    assign(gig, worker, task_id)
    proof = worker.post(f"{gig.path}/proofs/{proof_id}/submit")["proof"]
    assert (proof["id"], proof["status"]) == (proof_id, "pending")


@pytest.mark.rule("R-03")
def test_what_was_handed_in_stays_when_its_worker_goes(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    body = {"task_identifier": world.task(gig)}
    proof_id = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    departures.deactivate(worker.email)
    done = gig.owner.patch(f"{gig.path}/proofs/{proof_id}", {"action": "approve"})
    assert done["status"] == "approved"


# Moves of a task that take it out of a holder's hands, other than by his proof.
AWAY = {"release", "hand_back", "discard", "assign"}


@pytest.mark.rule("R-03")
def test_no_other_file_takes_a_task_out_of_a_holders_hands() -> None:
    """The draft is deleted where such a move is made, so there must be one such place."""
    found = set()
    for path in ENGINE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            verbs = {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
            if called in ("move", "take", "make_move", "take_all") and verbs & AWAY:
                found.add(path.name)
    # `arrivals.py` hands back what nobody has held yet.
    assert found == {"holding.py", "arrivals.py"}
