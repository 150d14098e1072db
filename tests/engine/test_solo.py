"""Solo gigs: a copy of every task for every worker (S-01)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from engine import copy_candidates, gigs
from engine.db import db
from engine.models.mailbox import Mailbox
from engine.models.task import Task
from tests.engine.solo import SOLO, decline, poll, prove, review, second_place, sources
from tests.world import Answer, Gig, Person, World, at_once


@pytest.mark.rule("S-01")
def test_every_worker_gets_a_copy_of_every_task_and_none_is_the_others(world: World) -> None:
    gig = world.gig(distribution=SOLO)
    workers = [world.worker(gig) for _ in range(3)]
    sent = [world.task(gig, f"no {n}", subject=f"s{n}", tags="a,b", price="3") for n in range(3)]
    gig.owner.patch(f"{gig.path}/tasks/{sent[0]}/private-details", {"private_details": "brief"})
    copies = [poll(gig, worker) for worker in workers]
    assert [sources(own) for own in copies] == [sent] * 3
    ids = [task["id"] for own in copies for task in own]
    assert len(set(ids)) == 9 and not set(ids) & set(sent)
    first = copies[0][0]
    assert (first["payload"], first["subject"], first["tags"]) == ("no 0", "s0", ["a", "b"])
    assert (first["price"], first["private_details"]) == (3, "brief")
    assert [poll(gig, worker) for worker in workers] == [[], [], []]
    # What one does is nothing to the others.
    decline(gig, workers[0], copies[0][0]["id"])
    prove(gig, workers[0], copies[0][1]["id"])
    for worker, own in zip(workers[1:], copies[1:], strict=True):
        for task in own:
            seen = worker.get(f"{gig.path}/tasks/{task['id']}")["task"]
            assert seen["status"] == "claimed"
        other = copies[0][2]["id"]
        worker.call("GET", f"{gig.path}/tasks/{other}").refused(404)
        prove(gig, worker, own[0]["id"])
    listed = gig.owner.get(f"{gig.path}/queue")["tasks"]
    assert [task["id"] for task in listed] == sent


@pytest.mark.rule("S-01")
@pytest.mark.rule("Q-01")
@pytest.mark.parametrize("order", ["fifo", "lifo", "priority"])
def test_a_worker_who_has_had_much_still_finds_what_comes_in_ahead_of_it(
    world: World, order: str
) -> None:
    gig = world.gig(distribution=SOLO, queue_order=order)
    one, other = world.worker(gig), world.worker(gig)
    backwards = -1 if order == "lifo" else 1
    old = [world.task(gig) for _ in range(4)][::backwards]
    assert sources(poll(gig, one, 3)) == old[:3]
    urgent = [world.task(gig, priority=1), world.task(gig, priority=2)]
    late = [world.task(gig)]
    expected = [*urgent, *old, *late] if order != "lifo" else [*late, *old, *urgent[::-1]]
    left = [task_id for task_id in expected if task_id not in old[:3]]
    taken = [sources(poll(gig, one, 1)) for _ in range(len(left) + 1)]
    assert taken == [*([task_id] for task_id in left), []]
    assert sources(poll(gig, other)) == expected


@pytest.mark.rule("S-01")
@pytest.mark.rule("Q-04")
def test_what_a_filter_passed_over_is_found_without_it(world: World) -> None:
    gig = world.gig(distribution=SOLO)
    worker = world.worker(gig)
    plain = world.task(gig)
    video = [world.task(gig, tags="video") for _ in range(3)]
    assert sources(poll(gig, worker, tags=["video"], count=2)) == video[:2]
    assert sources(poll(gig, worker)) == [plain, video[2]]


@pytest.mark.rule("S-01")
@pytest.mark.rule("Q-01")
def test_in_random_order_every_task_has_the_same_chance(world: World) -> None:
    gig = world.gig(distribution=SOLO, queue_order="random")
    worker = world.worker(gig)
    for n in range(6):
        world.task(gig, priority=n)
    decline(gig, worker, poll(gig, worker, 1)[0]["id"])

    def draw() -> list[int]:
        place = Mailbox.get(Mailbox.id == worker.mailbox["id"])  # type: ignore[attr-defined]
        return [
            copy_candidates.find(gigs.get(gig.id), place, "random", 1, None).numbers[0]
            for _ in range(1000)
        ]

    drawn = Counter(db.write(draw))
    assert len(drawn) == 5
    # Chi-square with four degrees of freedom passes this once in a million times.
    assert sum((count - 200) ** 2 / 200 for count in drawn.values()) < 34


@pytest.mark.rule("S-01")
def test_a_worker_gets_one_copy_whichever_of_his_mailboxes_asks(world: World) -> None:
    for fields in ({}, {"max_claims_per_task": 5}):
        gig = world.gig(distribution=SOLO, **fields)
        worker = world.worker(gig)
        places = [worker.mailbox["id"], second_place(gig, worker)]  # type: ignore[attr-defined]
        for _ in range(3):
            sent = {world.task(gig) for _ in range(4)}

            def ask(n: int, gig: Gig = gig, who: Person = worker, ids: Any = places) -> list[str]:
                return sources(poll(gig, who, 4, mailbox_id=ids[n % 2]))

            got = [task_id for tasks in at_once(4, ask) for task_id in tasks]
            assert sorted(got) == sorted(sent)
            task_id = world.task(gig)

            def claim(n: int, gig: Gig = gig, who: Person = worker, ids: Any = places) -> Answer:
                path = f"{gig.path}/queue/{task_id}/claim"  # noqa: B023
                return who.call("POST", path, {"mailbox_id": ids[n % 2]})

            answers = [one.ok() for one in at_once(4, claim)]
            assert len({one["task"]["id"] for one in answers}) == 1
            assert sorted(one["already_held"] for one in answers) == [False, True, True, True]


@pytest.mark.rule("S-01")
@pytest.mark.rule("R-01")
def test_a_proof_names_the_copy_and_never_the_task_that_all_share(world: World) -> None:
    gig = world.gig(distribution=SOLO)
    one, two = world.worker(gig), world.worker(gig)
    template = world.task(gig)
    (copy,) = poll(gig, one)
    for worker in (one, two):
        body = {"task_identifier": template}
        worker.call("POST", f"{gig.path}/proofs", body).refused(409, "template")
    body = {"task_identifier": copy["id"]}
    two.call("POST", f"{gig.path}/proofs", body).refused(409, "other_worker")
    prove(gig, one, copy["id"])


@pytest.mark.rule("S-01")
@pytest.mark.rule("Q-03")
def test_what_is_reserved_for_a_worker_comes_first_and_to_nobody_else(world: World) -> None:
    gig = world.gig(distribution=SOLO, max_claims_per_task=2)
    one, two = world.worker(gig), world.worker(gig)
    shared, his = world.task(gig), world.task(gig)
    place = one.mailbox["id"]  # type: ignore[attr-defined]
    body = {"availability": "reserved", "reserved_for": place}
    gig.owner.patch(f"{gig.path}/tasks/{his}/availability", body)
    assert sources(poll(gig, two)) == [shared]
    (first,) = poll(gig, one, 1, tags=["none has it"])
    assert (first["source_task_id"], first["reserved_for_me"]) == (his, True)
    assert sources(poll(gig, one)) == [shared]
    assert poll(gig, one) == poll(gig, two) == []
    gig.owner.patch(f"{gig.path}/tasks/{his}/availability", {"availability": "open"})
    assert poll(gig, one) == []
    assert sources(poll(gig, two)) == [his]


@pytest.mark.rule("S-01")
@pytest.mark.rule("R-02")
@pytest.mark.case("F28")
def test_a_copy_keeps_the_price_at_which_it_was_taken(world: World) -> None:
    gig = world.gig(distribution=SOLO, price=5)
    one, two = world.worker(gig), world.worker(gig)
    template = world.task(gig)
    (first,) = poll(gig, one)
    gig.owner.patch(f"{gig.path}/tasks/{template}/price", {"price": 2})
    (second,) = poll(gig, two)
    assert (first["price"], second["price"]) == (5, 2)
    for worker, task in ((one, first), (two, second)):
        verdict = review(gig, prove(gig, worker, task["id"]), action="approve")
        assert verdict["locked_price"] == task["price"]


@pytest.mark.rule("S-01")
@pytest.mark.rule("M-05")
def test_a_poll_gives_as_many_copies_as_the_limits_leave(world: World) -> None:
    limits = {"default_rate_limit_count": 3, "default_rate_limit_minutes": 60}
    gig = world.gig(distribution=SOLO, default_max_open_tasks=2, **limits)
    worker = world.worker(gig)
    sent = [world.task(gig) for _ in range(5)]
    held = poll(gig, worker)
    assert sources(held) == sent[:2]
    worker.call("POST", f"{gig.path}/queue/poll", {}).refused(429, "open_tasks_reached")
    for task in held:
        prove(gig, worker, task["id"])
    assert sources(poll(gig, worker)) == sent[2:3]
    worker.call("POST", f"{gig.path}/queue/poll", {}).refused(429, "rate_limit_reached")
    with db.reading():
        assert Task.select().where(Task.template_number.is_null(False)).count() == 3


@pytest.mark.rule("S-01")
def test_every_holder_of_a_copy_reads_the_private_details_as_they_are_now(world: World) -> None:
    gig = world.gig(distribution="queue_solo")
    early, late = world.worker(gig), world.worker(gig)
    template = world.task(gig)
    (copy,) = early.post(f"{gig.path}/queue/poll")["tasks"]
    assert copy["private_details"] is None
    brief = f"{gig.path}/tasks/{template}/private-details"
    for text in ("the brief", "the brief, mended"):
        gig.owner.patch(brief, {"private_details": text})
        assert early.get(f"{gig.path}/tasks/{copy['id']}")["task"]["private_details"] == text
        held = early.get(f"/mailboxes/{early.mailbox['id']}/inbound")["tasks"]  # type: ignore[attr-defined]
        assert [one["private_details"] for one in held] == [text]
    (other,) = late.post(f"{gig.path}/queue/poll")["tasks"]
    assert other["private_details"] == "the brief, mended"
    seen = late.get(f"{gig.path}/tasks/{template}")["task"]
    assert "private_details" not in seen


@pytest.mark.rule("D-01")
def test_who_holds_a_copy_declines_that_and_not_what_it_was_copied_from(world: World) -> None:
    gig = world.gig(distribution="queue_solo")
    worker, other = world.worker(gig), world.worker(gig)
    template = world.task(gig)
    (copy,) = worker.post(f"{gig.path}/queue/poll")["tasks"]
    for verb, body in (("decline", {}), ("violation", {"violation": "unclear"})):
        path = f"{gig.path}/queue/{template}/{verb}"
        refusal = worker.call("POST", path, body).refused(409, "template")
        assert refusal["message_id"] == copy["id"]
        other.post(path, body)
    assert worker.get(f"{gig.path}/tasks/{copy['id']}")["task"]["status"] == "claimed"
    worker.post(f"{gig.path}/queue/{copy['id']}/decline")
    assert other.post(f"{gig.path}/queue/poll")["tasks"] == []
