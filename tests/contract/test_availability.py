"""Whom a waiting task is for (T-06)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.models.task import KEPT_BACK, Task
from tests.contract.scene import everything
from tests.contract.test_task_changes import events, hand_in, path, poll, read
from tests.world import Gig, Person, World


def change(gig: Gig, task_id: str, kind: str, reserved_for: str | None = None) -> dict[str, Any]:
    body = {"availability": kind}
    if reserved_for is not None:
        body["reserved_for"] = reserved_for
    answer: dict[str, Any] = gig.owner.patch(path(gig, task_id, "/availability"), body)
    return answer


def mailbox(worker: Person) -> str:
    found: str = worker.mailbox["id"]  # type: ignore[attr-defined]
    return found


def listed(person: Person, gig: Gig, name: str) -> list[str]:
    return [task["id"] for task in person.get(f"{gig.path}/{name}")["tasks"]]


@pytest.mark.rule("T-06")
def test_a_task_that_is_kept_back_and_opened_again_has_its_old_place(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    first, second, third = (world.task(gig) for _ in range(3))
    for kind, name in (("reserved", None), ("reserved", worker.email), ("view_only", None)):
        told = change(gig, second, kind, name)
        assert told == {
            "success": True,
            "id": second,
            "availability": kind,
            "reserved_for": None if name is None else mailbox(worker),
        }
        assert listed(other, gig, "queue") == listed(gig.owner, gig, "queue") == [first, third]
    change(gig, second, "open")
    assert listed(other, gig, "queue") == [first, second, third]
    assert poll(other, gig) == [first, second, third]


@pytest.mark.rule("T-06")
@pytest.mark.rule("Q-03")
def test_a_reservation_is_offered_to_its_worker_and_to_nobody_else(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id, open_task = world.task(gig), world.task(gig, priority=0)
    change(gig, task_id, "reserved", mailbox(worker))
    assert poll(other, gig, 1) == [open_task] and poll(other, gig) == []
    hers = read(worker, gig, task_id)
    assert (hers["reserved_for_me"], hers["reserved_for"]) == (True, mailbox(worker))
    theirs = read(other, gig, task_id)
    assert theirs["reserved_for_me"] is False and "reserved_for" not in theirs
    (task,) = worker.post(f"{gig.path}/queue/poll")["tasks"]
    assert (task["id"], task["reserved_for_me"]) == (task_id, True)


@pytest.mark.rule("T-06")
def test_nobody_is_offered_what_is_reserved_for_nobody_or_for_reading_only(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    for kind in ("reserved", "view_only"):
        task_id = world.task(gig)
        change(gig, task_id, kind)
        assert poll(worker, gig) == []
        assert read(worker, gig, task_id)["availability"] == kind


@pytest.mark.rule("T-06")
def test_what_is_kept_back_is_listed_for_the_owner_and_to_each_worker_his_own(
    world: World,
) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    hers, nobodys, shown, back, _ = (world.task(gig) for _ in range(5))
    change(gig, hers, "reserved", worker.email)
    change(gig, nobodys, "reserved")
    change(gig, shown, "view_only")
    gig.owner.post(path(gig, back, "/assign"), {"assign_to": other.email})
    other.post(f"{gig.path}/queue/{back}/decline")
    assert listed(gig.owner, gig, "reserved") == [hers, nobodys, shown, back]
    assert listed(worker, gig, "reserved") == [hers]
    assert listed(other, gig, "reserved") == []
    rows = gig.owner.get(f"{gig.path}/reserved")["tasks"]
    assert [(row["availability"], row["reserved_for"], row["mailbox_id"]) for row in rows] == [
        ("reserved", mailbox(worker), None),
        ("reserved", None, None),
        ("view_only", None, None),
        ("open", None, "UNASSIGNED"),
    ]
    (row,) = worker.get(f"{gig.path}/reserved")["tasks"]
    assert row["reserved_for_me"] is True
    assert poll(worker, gig, 1) == [hers]
    assert listed(worker, gig, "reserved") == [], "he holds it now"
    assert listed(gig.owner, gig, "reserved") == [nobodys, shown, back]


@pytest.mark.rule("T-06")
def test_who_it_is_for_is_settled_while_a_worker_has_it(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    held, proven = world.task(gig), world.task(gig)
    poll(worker, gig)
    hand_in(worker, gig, proven)
    before = everything()
    for kind in ("open", "reserved", "view_only"):
        body = {"availability": kind}
        refusal = gig.owner.call("PATCH", path(gig, held, "/availability"), body)
        assert "/recycle" in refusal.refused(409, "claimed")["error"]
        refusal = gig.owner.call("PATCH", path(gig, proven, "/availability"), body)
        refusal.refused(409, "already_proven")
    assert everything() == before


@pytest.mark.rule("T-06")
@pytest.mark.rule("M-01")
def test_a_reservation_names_one_worker_of_this_gig(world: World) -> None:
    gig, elsewhere = world.gig(), world.gig(requires_approval=True)
    task_id = world.task(gig)
    stranger = world.worker(elsewhere)
    waiting = world.worker(gig)
    gig.owner.patch(f"{gig.path}/mailboxes/{mailbox(waiting)}", {"status": "inactive"})
    before = everything()
    for name, status, reason in (
        (stranger.email, 404, "not_found"),
        (mailbox(stranger), 404, "not_found"),
        (gig.owner.email, 404, "not_found"),
        ("MBX_none", 404, "not_found"),
        ("nobody", 404, "not_found"),
        (waiting.email, 400, "assignee_not_active"),
    ):
        body = {"availability": "reserved", "reserved_for": name}
        answer = gig.owner.call("PATCH", path(gig, task_id, "/availability"), body)
        assert list(answer.refused(status, reason)["errors"]) == ["reserved_for"]
    assert everything() == before


@pytest.mark.rule("T-06")
@pytest.mark.rule("H-15")
def test_a_worker_hears_of_what_is_reserved_for_him_and_of_nothing_else(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    task_id = world.task(gig)
    change(gig, task_id, "view_only")
    change(gig, task_id, "reserved", worker.email)
    (told,) = events(worker, gig, "task.changed")
    assert told["data"] == {"fields": ["availability"], "from": "view_only", "to": "reserved"}
    assert events(other, gig, "task.changed") == []


@pytest.mark.rule("T-06")
def test_the_list_of_what_is_kept_back_rests_on_its_index(world: World) -> None:
    query = Task.select().where(Task.gig_id == "x", KEPT_BACK)
    sql, params = query.order_by(Task.created_at, Task.id).sql()
    sql = sql.replace("%s", "?")
    with db.reading():
        if db.is_postgres:
            # An empty table would be read whole, whatever there is an index of.
            db.rows("SET enable_seqscan = off")
            plan = " ".join(str(row) for row in db.rows(f"EXPLAIN {sql}", params))
            db.rows("RESET enable_seqscan")
        else:
            plan = " ".join(str(row) for row in db.rows(f"EXPLAIN QUERY PLAN {sql}", params))
    assert "task_kept_back" in plan, plan


@pytest.mark.rule("T-06")
@pytest.mark.rule("Q-07")
@pytest.mark.parametrize("how", ["lost", "declined"])
def test_whom_its_owner_reserves_a_task_for_may_take_it_though_he_had_let_it_go(
    world: World, how: str
) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    assert poll(worker, gig) == [task_id]
    if how == "lost":
        gig.owner.post(f"{gig.path}/tasks/{task_id}/recycle")
    else:
        worker.post(f"{gig.path}/queue/{task_id}/decline")
    assert poll(worker, gig) == []
    change(gig, task_id, "reserved", mailbox(worker))
    claimed = worker.post(f"{gig.path}/queue/{task_id}/claim")
    assert claimed["already_held"] is False
    proof = {"task_identifier": task_id, "proofs": ["Done."]}
    assert worker.post(f"{gig.path}/proofs", proof)["proof"]["status"] == "pending"
