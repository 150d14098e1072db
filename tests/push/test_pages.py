"""What a worker's pages show of tasks that come to him by themselves (U-02, C-01, R-07)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import waiting_delivery
from tests.contract.shares import token_of
from tests.contract.test_link_pages import Page
from tests.push.people import hand_in
from tests.world import Gig, Person, World

PUSHING = ("round_robin", "random", "priority_weighted", "free_for_all")


def opened(world: World, gig: Gig, task_id: str, who: Person) -> Page:
    return Page(world, f"/claim/{gig.id}/{task_id}", who)


def held(worker: Any) -> str:
    (task,) = worker.get(f"/mailboxes/{worker.mailbox['id']}/inbound")["tasks"]
    return str(task["id"])


def buttons(page: Page) -> list[str]:
    paths = [str(form.get("data-path", "")) for form in page.tags.of("form")]
    return sorted(path.rpartition("/")[2] for path in paths if path)


@pytest.mark.rule("C-01")
@pytest.mark.parametrize("distribution", PUSHING)
def test_the_link_of_a_pushed_task_shows_it_to_who_has_it(world: World, distribution: str) -> None:
    gig = world.gig(distribution=distribution)
    worker = world.worker(gig)
    task_id = world.task(gig, "Feed the cat")
    stranger = world.worker(gig)
    mine = opened(world, gig, task_id, worker)
    assert mine.status == 200 and mine.notice == "This task is yours."
    assert "Feed the cat" in mine.main and f"/submit/{token_of(worker)}" in mine.text
    page = opened(world, gig, task_id, gig.owner)
    assert page.status == 200 and buttons(page) == []
    assert page.notice.startswith("This gig is yours. This gig pushes its tasks")
    # Another worker is shown nothing of it.
    assert opened(world, gig, task_id, stranger).status == 404
    page = opened(world, gig, task_id, world.person())
    assert page.status == 403 and "by invite" in page.notice


@pytest.mark.rule("U-04")
def test_an_offered_task_has_a_button_for_either_answer(world: World) -> None:
    gig = world.gig(distribution="round_robin", accept_timeout=600)
    worker = world.worker(gig)
    task_id = world.task(gig)
    page = opened(world, gig, task_id, worker)
    assert (page.status, page.notice) == (200, "This task is offered to you.")
    assert buttons(page) == ["accept", "reject"] and "Accept it until" in page.main
    shared = Page(world, f"/submit/{token_of(worker)}?task={task_id}")
    assert buttons(shared) == ["submit-proof", "violation"]
    assert "if you hand in or accept it by" in shared.main
    worker.post(f"{gig.path}/tasks/{task_id}/accept")
    page = opened(world, gig, task_id, worker)
    assert (page.notice, buttons(page)) == ("This task is yours.", [])


@pytest.mark.rule("R-07")
@pytest.mark.rule("U-02")
def test_what_waits_to_be_pushed_is_its_owners_alone(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    worker = world.worker(gig)
    path = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    worker.patch(path, {"paused": True})
    sent = world.send(gig).ok()
    assert sent["status"] == "waiting"
    task_id = sent["message_id"]
    assert Page(world, f"/submit/{token_of(worker)}?task={task_id}").status == 404
    worker.call("GET", f"{gig.path}/tasks/{task_id}").refused(404)
    assert worker.get(f"{gig.path}/queue")["tasks"] == []
    assert [task["id"] for task in gig.owner.get(f"{gig.path}/queue")["tasks"]] == [task_id]
    # Nor is what another worker has in hand, or has handed in, for him to read.
    other = world.worker(gig)
    waiting_delivery.deliver(gig.id)
    for step in (lambda: None, lambda: hand_in(other, gig, task_id)):
        step()
        assert other.get(f"{gig.path}/tasks/{task_id}")["task"]["id"] == task_id
        worker.call("GET", f"{gig.path}/tasks/{task_id}").refused(404)


@pytest.mark.rule("C-01")
@pytest.mark.parametrize(
    ("distribution", "told"), [("round_robin", "/inbound"), ("incoming", "/api/v1/incoming")]
)
def test_who_has_joined_reads_where_his_tasks_come(
    world: World, distribution: str, told: str
) -> None:
    gig = world.gig(distribution=distribution)
    page = Page(world, f"/join/{gig.id}", world.worker(gig))
    assert page.status == 200 and told in page.main and "/queue/poll" not in page.text


@pytest.mark.rule("I-04")
def test_an_item_is_shown_to_its_recipient_and_its_owner_alone(world: World) -> None:
    gig = world.gig(distribution="incoming")
    worker = world.worker(gig)
    colleague = world.worker(gig)
    sent = world.send(gig, "Feed the cat", title="Cat", assign_to=worker.mailbox["id"]).ok()  # type: ignore[attr-defined]
    task_id = sent["message_id"]
    page = opened(world, gig, task_id, worker)
    assert (page.status, page.notice) == (200, "This task is yours.")
    assert "/api/v1/incoming" in page.main and "/submit/" not in page.main
    assert opened(world, gig, task_id, gig.owner).status == 200
    assert opened(world, gig, task_id, colleague).status == 404
    colleague.call("GET", f"{gig.path}/tasks/{task_id}").refused(404)
    shared = Page(world, f"/submit/{token_of(colleague)}?task={task_id}")
    assert shared.status == 404
    own = Page(world, f"/submit/{token_of(worker)}?task={task_id}")
    assert (own.status, buttons(own)) == (200, ["violation"]) and "completing it" in own.notice
