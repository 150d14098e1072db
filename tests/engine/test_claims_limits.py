"""The rate limit and the cap on open tasks (M-05): exact, sliding, and never exceeded."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.rules import times
from tests.engine.holding import mailbox_id, poll
from tests.world import Answer, Gig, Person, World, at_once

AT_ONCE = 16


def _ask(gig: Gig, worker: Person, count: int = 20, **query: Any) -> Answer:
    wait = f"?wait={query['wait']}" if query else ""
    return worker.call("POST", f"{gig.path}/queue/poll{wait}", {"count": count})


def _later(world: World, seconds: int) -> None:
    world.call("POST", "/dev/clock/advance", {"seconds": seconds}).ok()


def _send(world: World, gig: Gig, many: int) -> list[str]:
    return [world.task(gig) for _ in range(many)]


def _hand_in(gig: Gig, worker: Person, task_id: str) -> None:
    worker.post(f"{gig.path}/proofs", {"task_identifier": task_id})


@pytest.mark.rule("M-05")
def test_without_limits_a_poll_says_so(world: World) -> None:
    gig = world.gig()
    answer = _ask(gig, world.worker(gig)).ok()
    assert (answer["rate_limit"], answer["open_tasks"]) == (None, None)


@pytest.mark.rule("M-05")
def test_a_limit_trims_a_poll_and_refuses_only_at_zero(world: World) -> None:
    gig = world.gig(default_rate_limit_count=3, default_rate_limit_minutes=10)
    worker = world.worker(gig)
    sent = _send(world, gig, 5)

    answer = _ask(gig, worker, 2).ok()
    assert answer["rate_limit"] == {
        "count": 3,
        "minutes": 10,
        "source": "gig",
        "used": 2,
        "remaining": 1,
        "retry_at": None,
    }
    answer = _ask(gig, worker, 2).ok()
    assert [task["id"] for task in answer["tasks"]] == sent[2:3]
    limit = answer["rate_limit"]
    assert (limit["used"], limit["remaining"]) == (3, 0)
    told = _ask(gig, worker).refused(429, "rate_limit_reached")
    assert told["rate_limit"] == limit
    assert 0 < told["retry_after"] <= 600
    # With nothing to take as well, and for one who would wait.
    poll(gig, world.worker(gig))
    assert _ask(gig, worker).refused(429)["rate_limit"] == limit
    assert _ask(gig, worker, wait=60).refused(429)["rate_limit"] == limit


@pytest.mark.rule("M-05")
@pytest.mark.rule("D-01")
def test_the_window_slides_and_a_declined_task_keeps_its_slot_until_it_passes(
    world: World,
) -> None:
    gig = world.gig(default_rate_limit_count=2, default_rate_limit_minutes=10)
    worker = world.worker(gig)
    sent = _send(world, gig, 6)
    (first,) = _ask(gig, worker, 1).ok()["tasks"]
    worker.post(f"{gig.path}/queue/{first['id']}/decline")
    _later(world, 300)
    assert poll(gig, worker, 1) == [sent[1]]

    told = _ask(gig, worker).refused(429)
    leaves = times.parse_ms(first["claimed_at"]) + 600_000
    assert times.parse_ms(told["rate_limit"]["retry_at"]) == leaves
    _later(world, 301)
    # One slot is free: the other take is half a window younger.
    answer = _ask(gig, worker).ok()
    assert [task["id"] for task in answer["tasks"]] == [sent[2]]
    assert answer["rate_limit"]["used"] == 2
    _later(world, 301)
    assert poll(gig, worker) == [sent[3]]


@pytest.mark.rule("M-05")
def test_a_claim_and_its_proof_are_one_take(world: World) -> None:
    gig = world.gig(default_rate_limit_count=2, default_rate_limit_minutes=10)
    worker = world.worker(gig)
    claimed, unclaimed, other = _send(world, gig, 3)
    assert poll(gig, worker, 1) == [claimed]
    _hand_in(gig, worker, claimed)
    # A proof of a task that nobody holds takes it.
    _hand_in(gig, worker, unclaimed)
    _ask(gig, worker).refused(429, "rate_limit_reached")
    worker.call("POST", f"{gig.path}/proofs", {"task_identifier": other}).refused(
        429, "rate_limit_reached"
    )


@pytest.mark.rule("M-05")
def test_the_cap_counts_what_is_held_without_a_proof(world: World) -> None:
    gig = world.gig(default_max_open_tasks=2)
    worker = world.worker(gig)
    sent = _send(world, gig, 6)

    answer = _ask(gig, worker).ok()
    assert answer["open_tasks"] == {
        "max_open_tasks": 2,
        "source": "gig",
        "open": 2,
        "remaining": 0,
    }
    told = _ask(gig, worker).refused(429, "open_tasks_reached")
    assert told["open_tasks"] == answer["open_tasks"]
    _hand_in(gig, worker, sent[0])
    assert poll(gig, worker) == [sent[2]]
    worker.post(f"{gig.path}/queue/{sent[1]}/decline")
    assert poll(gig, worker) == [sent[3]]


@pytest.mark.rule("M-05")
@pytest.mark.rule("M-02")
def test_a_mailbox_s_own_limits_come_before_the_gig_s(world: World) -> None:
    gig = world.gig(
        default_rate_limit_count=1, default_rate_limit_minutes=60, default_max_open_tasks=1
    )
    worker, other = world.worker(gig), world.worker(gig)
    _send(world, gig, 9)
    own = {"rate_limit_count": 5, "rate_limit_minutes": 30, "max_open_tasks": 4}
    gig.owner.patch(f"{gig.path}/mailboxes/{mailbox_id(worker)}", own)

    answer = _ask(gig, worker).ok()
    assert answer["count"] == 4
    limit, held = answer["rate_limit"], answer["open_tasks"]
    assert (limit["source"], limit["minutes"], limit["remaining"]) == ("mailbox", 30, 1)
    assert (held["source"], held["max_open_tasks"]) == ("mailbox", 4)
    assert _ask(gig, other).ok()["count"] == 1


@pytest.mark.rule("M-05")
def test_a_limit_that_was_lowered_waits_until_enough_takes_have_left(world: World) -> None:
    gig = world.gig(default_rate_limit_count=3, default_rate_limit_minutes=10)
    worker = world.worker(gig)
    _send(world, gig, 4)
    taken = []
    for _ in range(3):
        taken += _ask(gig, worker, 1).ok()["tasks"]
        _later(world, 60)
    gig.owner.patch(gig.path, {"default_rate_limit_count": 1})
    told = _ask(gig, worker).refused(429)["rate_limit"]
    assert (told["used"], told["count"], told["remaining"]) == (3, 1, 0)
    # Only once the newest leaves there is room for one.
    newest = times.parse_ms(taken[2]["claimed_at"])
    assert times.parse_ms(told["retry_at"]) == newest + 600_000


@pytest.mark.rule("M-05")
def test_what_the_owner_assigns_is_held_but_no_take(world: World) -> None:
    gig = world.gig(
        default_rate_limit_count=1, default_rate_limit_minutes=10, default_max_open_tasks=2
    )
    worker = world.worker(gig)
    assigned, free = _send(world, gig, 2)
    body = {"assign_to": mailbox_id(worker)}
    gig.owner.post(f"{gig.path}/tasks/{assigned}/assign", body)
    answer = _ask(gig, worker).ok()
    assert [task["id"] for task in answer["tasks"]] == [free]
    assert (answer["open_tasks"]["open"], answer["rate_limit"]["used"]) == (2, 1)


LIMITS = {
    "rate": {"default_rate_limit_count": 7, "default_rate_limit_minutes": 60},
    "cap": {"default_max_open_tasks": 7},
}


@pytest.mark.rule("M-05")
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("order", ["fifo", "random"])
def test_sixteen_polls_of_one_worker_at_once_stay_within_a_limit(
    world: World, limit: str, order: str
) -> None:
    gig = world.gig(queue_order=order, **LIMITS[limit])
    worker = world.worker(gig)
    _send(world, gig, 30)

    answers = at_once(AT_ONCE, lambda n: _ask(gig, worker, 1 + n % 3))

    assert {answer.status for answer in answers} <= {200, 429}
    taken = [task["id"] for one in answers if one.status == 200 for task in one.json["tasks"]]
    assert len(taken) == len(set(taken)) == 7
    with db.reading():
        assert db.scalar("SELECT count(*) FROM take") == 7
        assert db.scalar("SELECT count(*) FROM task WHERE status = 'claimed'") == 7
