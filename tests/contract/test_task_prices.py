"""What a task pays, and whom a change of that reaches (R-02)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.test_task_changes import events, hand_in, path, poll, read
from tests.world import World


@pytest.mark.rule("R-02")
@pytest.mark.parametrize(
    ("named", "told"),
    [
        ("4.25", ("4.25", False, "task")),
        (3, ("3", False, "task")),
        (0, ("0", False, "task")),
        ("tbd", ("None", True, "review")),
        (None, ("2.5", False, "gig")),
    ],
)
def test_a_task_is_priced_at_so_much_or_left_open_or_as_the_gig_pays(
    world: World, named: Any, told: tuple[str, bool, str]
) -> None:
    gig = world.gig(price="2.50")
    task_id = world.task(gig, price="9")
    answer = gig.owner.patch(path(gig, task_id, "/price"), {"price": named})
    assert answer["success"] is True and answer["id"] == task_id
    assert answer["proof_updated"] is False
    for seen in (answer, read(gig.owner, gig, task_id)):
        assert (str(seen["price"]), seen["price_tbd"], seen["price_source"]) == told
    (task,) = world.worker(gig).post(f"{gig.path}/queue/poll")["tasks"]
    assert (str(task["price"]), task["price_tbd"]) == told[:2]


@pytest.mark.rule("R-02")
@pytest.mark.case("F28")
def test_a_cut_is_for_the_next_worker_and_a_raise_is_the_holders_too(world: World) -> None:
    gig = world.gig(price="1")
    first, second, third = (world.worker(gig) for _ in range(3))
    task_id = world.task(gig, price="5")
    price = path(gig, task_id, "/price")
    assert poll(first, gig) == [task_id]
    assert str(gig.owner.patch(price, {"price": "2"})["price"]) == "2"
    assert str(read(first, gig, task_id)["price"]) == "5"
    first.post(f"{gig.path}/queue/{task_id}/decline")
    assert poll(second, gig) == [task_id]
    assert str(read(second, gig, task_id)["price"]) == "2"
    gig.owner.patch(price, {"price": "9"})
    gig.owner.patch(price, {"price": None})
    assert str(read(second, gig, task_id)["price"]) == "9"
    proof = hand_in(second, gig, task_id)
    assert str(proof["locked_price"]) == "9"
    gig.owner.patch(price, {"price": "50"})
    seen = second.get(f"{gig.path}/proofs/{proof['id']}")["proof"]
    assert str(seen["locked_price"]) == "9", "a price locks when the proof is handed in"
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "reject"})
    assert poll(third, gig) == [task_id]
    assert str(read(third, gig, task_id)["price"]) == "50"
    changes = [event["data"] for event in events(gig.owner, gig, "task.changed")]
    assert [(str(one["from"]), str(one["to"])) for one in changes] == [
        ("5", "2"),
        ("2", "9"),
        ("9", "None"),
        ("None", "50"),
    ]


@pytest.mark.rule("R-02")
def test_a_price_that_a_worker_saw_is_not_left_open_again(world: World) -> None:
    gig = world.gig()
    task_id = world.task(gig)
    worker = world.worker(gig)
    poll(worker, gig)
    price = path(gig, task_id, "/price")
    gig.owner.call("PATCH", price, {"price": "tbd"}).refused(409, "already_claimed")
    hand_in(worker, gig, task_id)
    gig.owner.call("PATCH", price, {"price": "tbd"}).refused(409, "already_claimed")


@pytest.mark.rule("R-02")
@pytest.mark.parametrize(("named", "locked", "source"), [("7", "7", "task"), (None, "2.5", "gig")])
def test_a_price_that_is_named_before_the_verdict_is_the_one_that_the_proof_waits_for(
    world: World, named: Any, locked: str, source: str
) -> None:
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    task_id = world.task(gig, price="tbd")
    proof = hand_in(worker, gig, task_id)
    assert (proof["locked_price"], proof["price_pending"]) == (None, True)
    price = path(gig, task_id, "/price")
    assert gig.owner.patch(price, {"price": "tbd"})["proof_updated"] is False
    assert gig.owner.patch(price, {"price": named})["proof_updated"] is True
    # The first price that is named is the one; another is for whoever comes after.
    assert gig.owner.patch(price, {"price": "1"})["proof_updated"] is False
    seen = worker.get(f"{gig.path}/proofs/{proof['id']}")["proof"]
    assert (str(seen["locked_price"]), seen["price_source"]) == (locked, source)
    assert seen["price_pending"] is False
    (told,) = events(worker, gig, "proof.priced")
    assert str(told["data"]["locked_price"]) == locked
    verdict = {"action": "approve"}
    done = gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", verdict)
    assert (str(done["locked_price"]), done["price_source"]) == (locked, source)
    gig.owner.call("PATCH", price, {"price": "9"}).refused(409, "already_claimed")


@pytest.mark.rule("R-02")
def test_a_price_that_is_named_while_the_task_is_held_is_its_holders(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig, price="tbd")
    poll(worker, gig)
    gig.owner.patch(path(gig, task_id, "/price"), {"price": "7"})
    gig.owner.patch(path(gig, task_id, "/price"), {"price": "6"})
    assert str(hand_in(worker, gig, task_id)["locked_price"]) == "7"
