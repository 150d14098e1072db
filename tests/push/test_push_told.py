"""What a worker is told of a task that he was given, and what his gig's mode makes of it."""

from __future__ import annotations

from typing import Any

import pytest
import simplejson

from engine import mode_items
from engine.db import db
from engine.models.delivery import Delivery
from engine.rules import times
from tests.push.people import change
from tests.world import World

HOOK = "http://127.0.0.1:9/hook"


def _sent(worker: Any, kind: str) -> list[dict[str, Any]]:
    rows = worker.get("/deliveries?limit=100")["deliveries"]
    ids = [row["id"] for row in rows if row["event"] == kind]
    with db.reading():
        found = Delivery.select().where(Delivery.id.in_(ids)).order_by(Delivery.id)
        return [simplejson.loads(row.body) for row in found]


@pytest.mark.rule("U-02")
@pytest.mark.rule("W-08")
def test_a_push_is_posted_to_the_workers_webhook_and_an_assignment_as_such(world: World) -> None:
    gig = world.gig(distribution="round_robin", title="Films")
    worker, other = world.worker(gig, webhook=HOOK), world.worker(gig, webhook=HOOK)
    change(other, gig, paused=True)
    pushed = world.task(gig, '{"cut": 3}')
    world.task(gig, "by name", assign_to=worker.mailbox["id"])  # type: ignore[attr-defined]
    (body,) = _sent(worker, "task.pushed")
    times.parse_ms(body.pop("sent_at"))
    times.parse_ms(body.pop("forwarded_at"))
    assert body == {
        "event": "task.pushed",
        "gig_id": gig.id,
        "mailbox_id": worker.mailbox["id"],  # type: ignore[attr-defined]
        "message_id": pushed,
        "gig_title": "Films",
        "distribution_mode": "round_robin",
        "payload": '{"cut": 3}',
    }
    assert [one["payload"] for one in _sent(worker, "task.assigned")] == ["by name"]
    assert _sent(other, "task.pushed") == []


@pytest.mark.rule("U-02")
def test_each_copy_is_posted_to_its_own_worker(world: World) -> None:
    gig = world.gig(distribution="free_for_all")
    workers = [world.worker(gig, webhook=HOOK) for _ in range(3)]
    ids = world.send(gig, "to all").ok()["message_ids"]
    assert [_sent(worker, "task.pushed")[0]["message_id"] for worker in workers] == ids


@pytest.mark.rule("I-01")
@pytest.mark.rule("A-01")
def test_a_mode_hears_of_every_way_into_somebodys_hands(world: World) -> None:
    """By a push, by name when it is sent, and by its owner's word later."""
    gig = world.gig(distribution="incoming", price="0")
    first, second = world.worker(gig), world.worker(gig)
    change(second, gig, paused=True)
    pushed = world.task(gig, "{}", title="One")
    named = world.task(gig, "{}", title="Two", assign_to=first.mailbox["id"])  # type: ignore[attr-defined]
    before = {one: _item(one).revision for one in (pushed, named)}
    body = {"assign_to": second.mailbox["id"]}  # type: ignore[attr-defined]
    gig.owner.post(f"{gig.path}/tasks/{pushed}/assign", body)
    assert _item(pushed).stage == "floating" and _item(pushed).revision != before[pushed]


def _item(task_id: str) -> Any:
    with db.reading():
        found = mode_items.of(task_id)
    assert found is not None
    return found
