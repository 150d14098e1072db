"""Who sees a task, and what of it: the whole table, row by row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from engine.db import db
from engine.models.delivery import Delivery
from engine.models.task import Task
from tests.contract.test_task_changes import hand_in, path, poll
from tests.contract.webhooks import URL
from tests.world import Gig, Person, World

BRIEF = "the real brief, with the password"


@dataclass
class Stage:
    """A task with private details, given to `holder`; `member` is another worker of the gig."""

    world: World
    gig: Gig
    holder: Person
    member: Person
    task_id: str

    def read(self, person: Person) -> str:
        return person.call("GET", path(self.gig, self.task_id)).text

    def list(self, person: Person, name: str) -> str:
        return person.call("GET", f"{self.gig.path}/{name}").text


@pytest.fixture
def stage(world: World) -> Stage:
    gig = world.gig()
    holder, member = world.worker(gig, webhook=URL), world.worker(gig)
    task_id = world.task(gig)
    gig.owner.patch(path(gig, task_id, "/private-details"), {"private_details": BRIEF})
    return Stage(world, gig, holder, member, task_id)


def give(stage: Stage) -> None:
    body = {"assign_to": stage.holder.email}
    stage.gig.owner.post(path(stage.gig, stage.task_id, "/assign"), body)


def reserve(stage: Stage) -> None:
    body = {"availability": "reserved", "reserved_for": stage.holder.email}
    stage.gig.owner.patch(path(stage.gig, stage.task_id, "/availability"), body)


def come_back(stage: Stage) -> None:
    give(stage)
    stage.holder.post(f"{stage.gig.path}/queue/{stage.task_id}/decline")


def prove(stage: Stage) -> None:
    give(stage)
    hand_in(stage.holder, stage.gig, stage.task_id)


def inbound(stage: Stage, person: Person) -> str:
    return person.call("GET", f"/mailboxes/{person.mailbox['id']}/inbound").text  # type: ignore[attr-defined]


def webhooks() -> str:
    with db.reading():
        return "".join(delivery.body for delivery in Delivery.select())


def wait(stage: Stage) -> None:
    pass


Read = Callable[[Stage], str]
# (where the task is, who reads what, whether he sees the private details there)
SEES: list[tuple[Callable[[Stage], None], str, Read, bool]] = [
    # Its owner sees them everywhere.
    (wait, "owner, the task", lambda s: s.read(s.gig.owner), True),
    (wait, "owner, the queue", lambda s: s.list(s.gig.owner, "queue"), True),
    (reserve, "owner, what is kept back", lambda s: s.list(s.gig.owner, "reserved"), True),
    (come_back, "owner, what is kept back", lambda s: s.list(s.gig.owner, "reserved"), True),
    (give, "owner, a held task", lambda s: s.read(s.gig.owner), True),
    # The mailbox that holds it.
    (
        wait,
        "holder, his poll",
        lambda s: s.holder.call("POST", f"{s.gig.path}/queue/poll", {}).text,
        True,
    ),
    (give, "holder, the task", lambda s: s.read(s.holder), True),
    (give, "holder, his inbound list", lambda s: inbound(s, s.holder), True),
    (prove, "holder, what he has handed in", lambda s: s.read(s.holder), True),
    # Nobody before he holds it, and nobody once he does not.
    (wait, "member, the task", lambda s: s.read(s.member), False),
    (wait, "member, the queue", lambda s: s.list(s.member, "queue"), False),
    (reserve, "its worker, his reservations", lambda s: s.list(s.holder, "reserved"), False),
    (reserve, "its worker, the task", lambda s: s.read(s.holder), False),
    (come_back, "the one who declined it", lambda s: s.read(s.holder), False),
    # Anybody else, while he holds it.
    (give, "member, a held task", lambda s: s.read(s.member), False),
    (give, "member, the queue", lambda s: s.list(s.member, "queue"), False),
    (give, "member, his inbound list", lambda s: inbound(s, s.member), False),
    (give, "holder, the events", lambda s: s.list(s.holder, "events"), False),
    (give, "the webhook", lambda s: webhooks(), False),
]


@pytest.mark.rule("T-09")
@pytest.mark.parametrize(
    ("begin", "reading", "sees"),
    [pytest.param(begin, reading, sees, id=name) for begin, name, reading, sees in SEES],
)
def test_private_details_are_the_owners_and_the_holders(
    stage: Stage, begin: Callable[[Stage], None], reading: Read, sees: bool
) -> None:
    begin(stage)
    text = reading(stage)
    assert stage.task_id in text or not sees
    assert (BRIEF in text) is sees


# (state of the task, whether its own worker and another member may read it)
READ: list[tuple[str, bool, bool]] = [
    ("draft", False, False),
    ("unfunded", False, False),
    ("queued", True, True),
    ("claimed", True, True),
    ("submitted", True, True),
    ("approved", True, True),
    ("rejected", True, True),
    ("unassigned", False, False),
    ("cancelled", False, False),
]


@pytest.mark.rule("T-06")
@pytest.mark.parametrize(("status", "worker", "member"), READ)
def test_a_task_is_read_by_members_once_it_is_for_them_to_see(
    stage: Stage, status: str, worker: bool, member: bool
) -> None:
    assert poll(stage.holder, stage.gig) == [stage.task_id]
    changed = Task.update(status=status).where(Task.id == stage.task_id)
    db.write(changed.execute)
    for person, sees in ((stage.gig.owner, True), (stage.holder, worker), (stage.member, member)):
        for method, what, body in (("GET", "", None), ("PATCH", "/alias", {"alias": "mine"})):
            answer = person.call(method, path(stage.gig, stage.task_id, what), body)
            assert answer.status == (200 if sees else 404), (method, person.email)


@pytest.mark.rule("A-01")
def test_what_was_given_to_one_worker_no_other_sees(stage: Stage) -> None:
    give(stage)
    assert stage.holder.get(path(stage.gig, stage.task_id))["task"]["private_details"] == BRIEF
    stage.member.call("GET", path(stage.gig, stage.task_id)).refused(404)
    claim = f"{stage.gig.path}/queue/{stage.task_id}/claim"
    stage.member.call("POST", claim, {}).refused(409, "assigned_elsewhere")


@pytest.mark.rule("T-06")
@pytest.mark.parametrize("kind", ["open", "reserved", "view_only"])
def test_what_is_kept_back_may_be_read_by_whoever_has_its_link(stage: Stage, kind: str) -> None:
    body = {"availability": kind}
    stage.gig.owner.patch(path(stage.gig, stage.task_id, "/availability"), body)
    seen = stage.member.get(path(stage.gig, stage.task_id))["task"]
    assert seen["availability"] == kind
    for person in (stage.member, stage.holder):
        assert (stage.task_id in stage.list(person, "queue")) is (kind == "open")


@pytest.mark.rule("S-01")
def test_a_copy_is_seen_by_its_worker_and_the_owner_alone(world: World) -> None:
    gig = world.gig(distribution="queue_solo")
    worker, other = world.worker(gig), world.worker(gig)
    template = world.task(gig)
    (copy,) = poll(worker, gig)
    for person, status in ((gig.owner, 200), (worker, 200), (other, 404)):
        assert person.call("GET", path(gig, copy)).status == status
        assert person.call("GET", path(gig, template)).status == 200
    assert worker.get(path(gig, copy))["task"]["source_task_id"] == template


# Members of a task that only the owner is shown, and those that its holder is shown as well.
OWNERS, HOLDERS = {"external_id"}, {"private_details", "expires_at", "mailbox_id"}


@pytest.mark.rule("G-02")
def test_each_reader_is_shown_what_is_his_to_see(world: World) -> None:
    gig = world.gig(task_timeout=60)
    worker, member = world.worker(gig), world.worker(gig)
    task_id = world.task(gig, external_id="an-id")
    body = {"availability": "reserved", "reserved_for": worker.email}
    gig.owner.patch(path(gig, task_id, "/availability"), body)

    def members(person: Person) -> dict[str, Any]:
        seen: dict[str, Any] = person.get(path(gig, task_id))["task"]
        return seen

    special = OWNERS | HOLDERS | {"reserved_for"}
    for person, shown in (
        (gig.owner, special),
        (worker, {"reserved_for"}),
        (member, set()),
    ):
        assert set(members(person)) & special == shown
    poll(worker, gig)
    for person, shown in (
        (gig.owner, special),
        (worker, HOLDERS | {"reserved_for"}),
        (member, set()),
    ):
        assert set(members(person)) & special == shown
    assert members(worker)["expires_at"] == members(gig.owner)["expires_at"] is not None
    assert members(worker)["mailbox_id"] == worker.mailbox["id"]  # type: ignore[attr-defined]


@pytest.mark.rule("T-09")
@pytest.mark.parametrize("why", ["pending", "closed", "left"])
def test_whose_mailbox_is_not_active_is_shown_no_task(world: World, why: str) -> None:
    gig = world.gig(requires_approval=True)
    worker = world.worker(gig)
    task_id = world.task(gig, "work")
    place = f"{gig.path}/mailboxes/{worker.mailbox['id']}"  # type: ignore[attr-defined]
    if why != "pending":
        gig.owner.patch(place, {"status": "active"})
        assert worker.get(f"{gig.path}/tasks/{task_id}")["task"]["payload"] == "work"
        if why == "closed":
            gig.owner.patch(place, {"status": "inactive"})
        else:
            worker.call("DELETE", place).ok()
    for shown in ("queue", "reserved", f"tasks/{task_id}"):
        worker.call("GET", f"{gig.path}/{shown}").refused(403, "mailbox_inactive")
