"""Changes of a task that are refused, and deleting one (H-05, A-02)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.models.task import Task
from tests.contract.scene import all_hold, everything
from tests.contract.test_task_changes import hand_in, path, poll, read
from tests.world import World


@pytest.mark.rule("A-02")
def test_a_deleted_task_is_gone_for_everybody_but_its_owner(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    task_id = world.task(gig)
    assert gig.owner.call("DELETE", path(gig, task_id)).ok() == {"success": True}
    assert gig.owner.get(f"{gig.path}/queue")["tasks"] == []
    assert poll(worker, gig) == []
    worker.call("GET", path(gig, task_id)).refused(404)
    assert read(gig.owner, gig, task_id)["status"] == "cancelled"
    before = everything()
    gig.owner.call("DELETE", path(gig, task_id)).refused(404, "not_found")
    for what, body in CHANGES:
        gig.owner.call("PATCH", path(gig, task_id, what), body).refused(404, "not_found")
    assert everything() == before


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("/priority", {"priority": 1}),
    ("/price", {"price": 1}),
    ("/tags", {"tags": []}),
    ("/private-details", {"private_details": None}),
    ("/availability", {"availability": "view_only"}),
]


@pytest.mark.rule("A-02")
def test_a_task_that_is_held_or_proven_is_not_deleted(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    held, pending, approved, rejected = (world.task(gig) for _ in range(4))
    poll(worker, gig)
    verdicts: dict[str, dict[str, Any] | None] = {
        pending: None,
        approved: {"action": "approve"},
        rejected: {"action": "reject", "requeue": False},
    }
    for task_id, verdict in verdicts.items():
        proof = hand_in(worker, gig, task_id)
        if verdict is not None:
            gig.owner.patch(f"{gig.path}/proofs/{proof['id']}", verdict)
    before = everything()
    told = gig.owner.call("DELETE", path(gig, held)).refused(409, "already_claimed")
    assert "/recycle" in told["error"]
    for task_id in verdicts:
        told = gig.owner.call("DELETE", path(gig, task_id)).refused(409, "already_proven")
        assert "Review" in told["error"]
    assert everything() == before


MANY_TAGS = '["x"' + ', "x"' * 25 + "]"


# (what is changed, what is sent, the field that is named)
BAD: list[tuple[str, str, str]] = [
    *(
        ("/priority", f'{{"priority": {value}}}', "priority")
        for value in ("-1", "1.5", "10000000000", '"5"', "1e3", "true", "null", "[]", "1.0")
    ),
    ("/priority", "{}", "priority"),
    ("/priority", '{"priority": 1, "id": "x"}', "id"),
    *(
        ("/price", f'{{"price": {value}}}', "price")
        for value in ("-1", '"TBD"', '""', "true", "1e-7", '"1,5"', "1e30", "[]", '"0.0000001"')
    ),
    ("/price", "{}", "price"),
    ("/price", '{"price": 1, "price_tbd": true}', "price_tbd"),
    ("/tags", "{}", "tags"),
    ("/tags", '{"tags": null}', "tags"),
    ("/tags", '{"tags": "a,b"}', "tags"),
    ("/tags", f'{{"tags": ["{"x" * 257}"]}}', "tags.0"),
    ("/tags", '{"tags": [""]}', "tags.0"),
    ("/tags", '{"tags": [1]}', "tags.0"),
    ("/tags", f'{{"tags": {MANY_TAGS}}}', "tags"),
    ("/private-details", "{}", "private_details"),
    ("/private-details", f'{{"private_details": "{"x" * 4001}"}}', "private_details"),
    ("/private-details", '{"private_details": 5}', "private_details"),
    ("/alias", "{}", "alias"),
    ("/alias", '{"alias": ""}', "alias"),
    ("/alias", f'{{"alias": "{"x" * 201}"}}', "alias"),
    ("/availability", "{}", "availability"),
    ("/availability", '{"availability": "closed"}', "availability"),
    ("/availability", '{"availability": null}', "availability"),
    ("/availability", '{"availability": "open", "reserved_for": "x"}', "reserved_for"),
    ("/availability", '{"availability": "view_only", "reserved_for": "x"}', "reserved_for"),
    ("/availability", '{"availability": "reserved", "reserved_for": 5}', "reserved_for"),
    ("/assign", "{}", "assign_to"),
    ("/assign", '{"assign_to": null}', "assign_to"),
    ("/assign", '{"assign_to": ""}', "assign_to"),
    ("/assign", f'{{"assign_to": "{"x" * 321}"}}', "assign_to"),
    ("/assign", '{"assign_to": "x", "unchanged": true}', "unchanged"),
]


@pytest.mark.rule("H-05")
def test_a_change_that_is_none_is_refused_by_name_and_changes_nothing(world: World) -> None:
    gig = world.gig()
    task_id = world.task(gig)
    before = everything()

    def refused(row: tuple[str, str, str]) -> None:
        what, text, field = row
        method = "POST" if what == "/assign" else "PATCH"
        headers = {"content-type": "application/json"}
        where = path(gig, task_id, what)
        told = gig.owner.call(method, where, raw=text.encode(), headers=headers).refused(400)
        assert field in told["errors"], told["errors"]

    all_hold(BAD, refused)
    assert everything() == before


@pytest.mark.rule("H-05")
def test_no_change_reaches_a_task_by_the_path_of_another_gig(world: World) -> None:
    gig, elsewhere = world.gig(), world.gig()
    worker = world.worker(gig)
    theirs = world.task(elsewhere)
    before = everything()
    for task_id in (theirs, "TASK_none", gig.id):
        for what, body in [*CHANGES, ("/alias", {"alias": "mine"})]:
            gig.owner.call("PATCH", path(gig, task_id, what), body).refused(404, "not_found")
        gig.owner.call("DELETE", path(gig, task_id)).refused(404, "not_found")
        body = {"assign_to": worker.email}
        gig.owner.call("POST", path(gig, task_id, "/assign"), body).refused(404, "not_found")
    assert everything() == before


@pytest.mark.rule("P-01")
def test_what_is_not_in_the_queue_has_no_place_there_to_be_moved_from(world: World) -> None:
    gig = world.gig()
    task_id = world.task(gig)
    for status in ("draft", "unfunded", "unassigned"):
        db.write(lambda now=status: Task.update(status=now).execute())
        answer = gig.owner.call("PATCH", path(gig, task_id, "/priority"), {"priority": 1})
        answer.refused(409, "not_in_queue")
        body = {"availability": "view_only"}
        answer = gig.owner.call("PATCH", path(gig, task_id, "/availability"), body)
        answer.refused(409, "not_in_queue")
        # What it will pay and be called can be said before.
        gig.owner.patch(path(gig, task_id, "/price"), {"price": 3})
        gig.owner.patch(path(gig, task_id, "/tags"), {"tags": [status]})
