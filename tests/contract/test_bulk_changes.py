"""Changes of many tasks in one call: applied or left out one by one, or refused whole (P-01)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import bulk_changes
from engine.db import db
from engine.models.task import Task
from tests.contract.scene import all_hold, everything
from tests.contract.test_task_changes import events, hand_in, path, poll, read
from tests.world import Gig, World


def ids(gig: Gig, name: str = "queue") -> list[str]:
    return [task["id"] for task in gig.owner.get(f"{gig.path}/{name}?limit=200")["tasks"]]


@pytest.mark.rule("P-01")
def test_a_hundred_tasks_are_put_in_order_in_one_call(world: World) -> None:
    gig = world.gig()
    sent = [world.task(gig) for _ in range(100)]
    wanted = sent[::-1]
    updates = [{"id": task_id, "priority": n} for n, task_id in enumerate(wanted)]
    answer = gig.owner.patch(f"{gig.path}/queue/priorities", {"updates": updates})
    assert (answer["success"], answer["updated"], answer["skipped"]) == (True, 100, [])
    assert sorted(answer["applied"], key=lambda one: one["priority"]) == updates
    assert ids(gig) == wanted
    worker = world.worker(gig)
    assert [task_id for _ in range(5) for task_id in poll(worker, gig)] == wanted


@pytest.mark.rule("P-01")
def test_tasks_that_cannot_move_are_left_out_with_the_reason(world: World) -> None:
    gig, elsewhere = world.gig(), world.gig()
    worker = world.worker(gig)
    held, proven, deleted, back = (world.task(gig) for _ in range(4))
    assert poll(worker, gig, 2) == [held, proven]
    hand_in(worker, gig, proven)
    gig.owner.call("DELETE", path(gig, deleted)).ok()
    db.write(lambda: Task.update(status="unassigned").where(Task.id == back).execute())
    waiting, theirs = world.task(gig), world.task(elsewhere)
    reasons = {
        held: "already_claimed",
        proven: "already_claimed",
        deleted: "not_found",
        back: "not_in_queue",
        theirs: "not_found",
        "TASK_none": "not_found",
    }
    updates = [{"id": name, "priority": 3} for name in (held, *reasons, waiting) if name]
    updates = updates[1:]
    answer = gig.owner.patch(f"{gig.path}/queue/priorities", {"updates": updates})
    assert answer["updated"] == 1
    assert answer["applied"] == [{"id": waiting, "priority": 3}]
    assert {one["id"]: one["reason"] for one in answer["skipped"]} == reasons
    assert read(elsewhere.owner, elsewhere, theirs)["priority"] == 1000
    assert read(gig.owner, gig, held)["priority"] == 1000


@pytest.mark.rule("R-02")
def test_many_tasks_are_priced_in_one_call_and_their_holders_lose_nothing(world: World) -> None:
    gig = world.gig(price="2.50")
    worker = world.worker(gig)
    names = [world.task(gig, price="5") for _ in range(2)] + [world.task(gig, price="tbd")]
    cut, raised, proven = names
    assert poll(worker, gig) == names
    proof = hand_in(worker, gig, proven)
    queued, plain, open_price = (world.task(gig) for _ in range(3))
    prices = {cut: 1, raised: "9.10", proven: 4, queued: "3", plain: None, open_price: "tbd"}
    updates = [{"id": name, "price": price} for name, price in [*prices.items(), ("TASK_no", 1)]]
    answer = gig.owner.patch(f"{gig.path}/queue/prices", {"updates": updates})
    assert answer["skipped"] == [{"id": "TASK_no", "reason": "not_found"}]
    told = {
        one["id"]: (str(one["price"]), one["price_tbd"], one["price_source"], one["proof_updated"])
        for one in answer["applied"]
    }
    assert told == {
        cut: ("1", False, "task", False),
        raised: ("9.1", False, "task", False),
        proven: ("4", False, "task", True),
        queued: ("3", False, "task", False),
        plain: ("2.5", False, "gig", False),
        open_price: ("None", True, "review", False),
    }
    assert str(read(worker, gig, cut)["price"]) == "5"
    assert str(read(worker, gig, raised)["price"]) == "9.1"
    locked = worker.get(f"{gig.path}/proofs/{proof['id']}")["proof"]["locked_price"]
    assert str(locked) == "4"
    gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", {"action": "approve"})
    updates = [{"id": name, "price": 1} for name in (proven, queued)]
    answer = gig.owner.patch(f"{gig.path}/queue/prices", {"updates": updates})
    assert answer["skipped"] == [{"id": proven, "reason": "already_claimed"}]
    assert answer["updated"] == 1


@pytest.mark.rule("Q-04")
def test_many_tasks_are_retagged_in_one_call(world: World) -> None:
    gig = world.gig()
    sent = [world.task(gig, tags="old") for _ in range(3)]
    updates = [{"id": sent[0], "tags": ["a"]}, {"id": sent[2], "tags": ["a", "b"]}]
    answer = gig.owner.patch(f"{gig.path}/queue/tags", {"updates": updates})
    assert (answer["updated"], answer["applied"], answer["skipped"]) == (2, updates, [])
    taken = world.worker(gig).post(f"{gig.path}/queue/poll", {"tags": "a"})["tasks"]
    assert [task["id"] for task in taken] == [sent[0], sent[2]]
    assert ids(gig) == [sent[1]]


@pytest.mark.rule("P-01")
def test_a_batch_with_a_fault_in_it_is_refused_whole(world: World) -> None:
    gig = world.gig()
    first, second = world.task(gig), world.task(gig)
    good = {"priorities": {"priority": 1}, "prices": {"price": 1}, "tags": {"tags": ["a"]}}
    bad: dict[str, list[Any]] = {
        "priorities": [-1, 1.5, 10_000_000_000, "5", True, None],
        "prices": [-1, "1,5", True, [], "0.0000001"],
        "tags": [None, "a", ["x" * 257], [""], ["x"] * 26],
    }
    rows: list[tuple[str, Any, str]] = []
    for kind, change in good.items():
        (field,) = change
        right = {"id": first, **change}
        rows += [
            (kind, {"updates": [right, {"id": second, field: value}]}, f"updates.1.{field}")
            for value in bad[kind]
        ]
        rows += [
            (kind, {"updates": [right, {"id": second}]}, f"updates.1.{field}"),
            (kind, {"updates": [right, change]}, "updates.1.id"),
            (kind, {"updates": [right, {"id": 5, **change}]}, "updates.1.id"),
            (kind, {"updates": [right, {"id": "", **change}]}, "updates.1.id"),
            (kind, {"updates": [right, {"id": second, **change, "x": 1}]}, "updates.1.x"),
            (kind, {"updates": [right, right]}, "updates.1.id"),
            (kind, {"updates": [right, "x"]}, "updates.1"),
            (
                kind,
                {"updates": [right] + [{"id": str(n), **change} for n in range(100)]},
                "updates",
            ),
            (kind, {"updates": None}, "updates"),
            (kind, {"updates": right}, "updates"),
            (kind, {}, "updates"),
            (kind, {"updates": [right], "more": 1}, "more"),
        ]
    before = everything()

    def refused(row: tuple[str, Any, str]) -> None:
        kind, body, field = row
        told = gig.owner.call("PATCH", f"{gig.path}/queue/{kind}", body).refused(400)
        assert any(name.startswith(field) for name in told["errors"]), told["errors"]

    all_hold(rows, refused)
    assert everything() == before
    assert gig.owner.patch(f"{gig.path}/queue/tags", {"updates": []})["updated"] == 0


@pytest.mark.rule("P-01")
def test_a_batch_that_is_sent_again_changes_nothing(world: World) -> None:
    gig = world.gig()
    sent = [world.task(gig) for _ in range(3)]
    updates = [{"id": name, "priority": n} for n, name in enumerate(sent)]
    for _ in range(2):
        answer = gig.owner.patch(f"{gig.path}/queue/priorities", {"updates": updates})
        assert answer["updated"] == 3
        before = everything()
        key = {"idempotency-key": "one"}
        for _ in range(2):
            where = f"{gig.path}/queue/priorities"
            gig.owner.call("PATCH", where, {"updates": updates}, headers=key).ok()
        after = everything()
        assert {name for name in after if after[name] != before[name]} <= {"stored_answer"}
    assert len(events(gig.owner, gig, "task.changed")) == 3


@pytest.mark.rule("A-02")
def test_all_that_waits_is_deleted_and_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several transactions, as for a queue of thousands.
    monkeypatch.setattr(bulk_changes, "CHUNK", 3)
    gig, elsewhere = world.gig(), world.gig()
    worker = world.worker(gig)
    held, proven = world.task(gig), world.task(gig)
    poll(worker, gig)
    hand_in(worker, gig, proven)
    waiting = [world.task(gig) for _ in range(8)]
    for task_id, body in zip(
        waiting,
        (
            {"availability": "reserved"},
            {"availability": "reserved", "reserved_for": worker.email},
        ),
        strict=False,
    ):
        gig.owner.patch(path(gig, task_id, "/availability"), body)
    shown, back, theirs = world.task(gig), world.task(gig), world.task(elsewhere)
    gig.owner.patch(path(gig, shown, "/availability"), {"availability": "view_only"})
    db.write(lambda: Task.update(status="unassigned").where(Task.id == back).execute())

    answer = gig.owner.call("DELETE", f"{gig.path}/queue/all").ok()

    assert answer == {"success": True, "deleted": 8, "more": False}
    states = {task_id: read(gig.owner, gig, task_id)["status"] for task_id in waiting}
    assert states == dict.fromkeys(waiting, "cancelled")
    kept = {held: "claimed", proven: "submitted", shown: "queued", back: "unassigned"}
    assert {name: read(gig.owner, gig, name)["status"] for name in kept} == kept
    assert ids(elsewhere) == [theirs]
    assert poll(worker, gig) == []
    assert len(events(gig.owner, gig, "task.cancelled")) == 8
    again = gig.owner.call("DELETE", f"{gig.path}/queue/all").ok()
    assert again == {"success": True, "deleted": 0, "more": False}


@pytest.mark.rule("A-02")
def test_a_queue_too_long_for_one_call_is_deleted_by_calling_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk_changes, "CHUNK", 2)
    monkeypatch.setattr(bulk_changes, "MOST_DELETED", 4)
    gig = world.gig()
    for _ in range(5):
        world.task(gig)
    for deleted, more in ((4, True), (1, False)):
        answer = gig.owner.call("DELETE", f"{gig.path}/queue/all").ok()
        assert (answer["deleted"], answer["more"]) == (deleted, more)


@pytest.mark.rule("S-01")
@pytest.mark.rule("P-01")
def test_a_template_moves_until_its_copies_are_all_given_out_and_a_copy_never(
    world: World,
) -> None:
    gig = world.gig(distribution="queue_solo", max_claims_per_task=1)
    worker, other = world.worker(gig), world.worker(gig)
    full = world.task(gig)
    (copy,) = poll(worker, gig)
    waiting = world.task(gig)
    names = [full, copy, waiting]
    updates = [{"id": name, "priority": 2} for name in names]
    answer = gig.owner.patch(f"{gig.path}/queue/priorities", {"updates": updates})
    assert answer["applied"] == [{"id": waiting, "priority": 2}]
    skipped = {one["id"]: one["reason"] for one in answer["skipped"]}
    assert skipped == {full: "not_in_queue", copy: "already_claimed"}
    move = gig.owner.call("PATCH", path(gig, full, "/priority"), {"priority": 2})
    move.refused(409, "not_in_queue")
    # What else is changed about it does not offer it again.
    updates = [{"id": name, "tags": ["new"]} for name in names]
    answer = gig.owner.patch(f"{gig.path}/queue/tags", {"updates": updates})
    assert answer["updated"] == 3
    for kind in ("view_only", "open"):
        body = {"availability": kind}
        gig.owner.patch(path(gig, full, "/availability"), body)
    assert ids(gig) == [waiting]
    (got,) = other.post(f"{gig.path}/queue/poll")["tasks"]
    assert got["source_task_id"] == waiting
    gig.owner.patch(gig.path, {"max_claims_per_task": 2})
    (got,) = other.post(f"{gig.path}/queue/poll")["tasks"]
    assert (got["source_task_id"], got["tags"]) == (full, ["new"])
