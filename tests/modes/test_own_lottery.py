"""The lottery of a package of its own: who enters a draw, who has the task, and what follows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine import clock, modes
from jobs import actors
from plugins import defaults
from tests.modes.packages import install
from tests.world import Answer, Gig, Person, World

pytestmark = pytest.mark.rule("G-03")
SECONDS = 60


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install("lottery_mode", tmp_path_factory.mktemp("lottery"))


@pytest.fixture
def gig(world: World, site: Path, monkeypatch: pytest.MonkeyPatch) -> Gig:
    monkeypatch.syspath_prepend(str(site))
    modes.load(defaults)
    return world.gig(distribution="lottery", join_policy="open")


def place_of(person: Person) -> str:
    return str(person.mailbox["id"])  # type: ignore[attr-defined]


def enter(gig: Gig, worker: Person, task_id: str) -> Answer:
    return worker.call("POST", f"{gig.path}/tasks/{task_id}/do/enter", {})


def read(gig: Gig, task_id: str, person: Person | None = None) -> Any:
    return (person or gig.owner).get(f"{gig.path}/tasks/{task_id}")["task"]


def draw(seconds: int = SECONDS) -> None:
    clock.advance(seconds)
    actors.sweep()


def holder(gig: Gig, task_id: str, people: list[Person]) -> Person:
    task = read(gig, task_id)
    assert (task["status"], task["mode"]["stage"]) == ("claimed", "drawn")
    (found,) = [one for one in people if place_of(one) == task["mailbox_id"]]
    return found


def test_a_task_is_drawn_declined_drawn_again_and_at_last_its_owners(
    world: World, gig: Gig
) -> None:
    one, other, leaver, late = (world.worker(gig) for _ in range(4))
    sent = world.send(gig, draw_seconds=SECONDS).ok()
    task_id = sent["message_id"]
    assert sent["status"] == "open"
    # A worker finds what he may enter in the queue, and is given none of it by a poll.
    (listed,) = late.get(f"{gig.path}/queue")["tasks"]
    assert (listed["id"], listed["mode"]["you"]) == (task_id, False)
    late.call("POST", f"{gig.path}/queue/poll", {"count": 1}).refused(409, "lottery")

    for worker in (one, other, leaver, one):
        enter(gig, worker, task_id).ok()
    enter(gig, gig.owner, task_id).refused(403)
    assert read(gig, task_id, one)["mode"]["entered"] == 3
    leaver.call("DELETE", f"{gig.path}/mailboxes/{place_of(leaver)}").ok()

    draw(SECONDS - 1)
    assert read(gig, task_id)["status"] == "queued"
    draw(1)
    first = holder(gig, task_id, [one, other])
    second = other if first is one else one
    first.call("POST", f"{gig.path}/queue/{task_id}/decline", {}).ok()
    assert (read(gig, task_id)["status"], enter(gig, first, task_id).status) == ("queued", 409)
    draw(0)
    assert holder(gig, task_id, [one, other]) is second
    second.call("POST", f"{gig.path}/queue/{task_id}/decline", {}).ok()

    # Nobody is left: who has not come is waited for, two times more.
    for _ in range(2):
        draw()
        assert read(gig, task_id)["mode"]["stage"] == "open"
    draw()
    task = read(gig, task_id)
    assert (task["status"], task["mode"]["stage"]) == ("unassigned", "unwanted")
    gig.owner.post(f"{gig.path}/tasks/{task_id}/assign", {"assign_to": place_of(late)})
    assert holder(gig, task_id, [late]) is late


def test_rejected_work_is_drawn_for_again_among_the_others(world: World, gig: Gig) -> None:
    people = [world.worker(gig) for _ in range(2)]
    task_id = world.task(gig, draw_seconds=SECONDS)
    for worker in people:
        enter(gig, worker, task_id).ok()
    draw()
    first = holder(gig, task_id, people)
    proof = first.post(f"{gig.path}/proofs", {"task_identifier": task_id})["proof"]
    body = {"action": "reject", "rejection_tag": "incomplete", "requeue": True}
    assert gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", body)["requeued"] is True
    draw(0)
    assert holder(gig, task_id, people) is not first
