"""A pushed task that is to be accepted in time, and moves on otherwise (U-04)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, holds
from engine.rules import times
from tests.world import Gig, Person, World

ACCEPT, TIMEOUT = 60, 600


def offering(world: World, workers: int = 2, **fields: Any) -> tuple[Gig, list[Person]]:
    """A gig that pushes in turn, and what it pushes is to be accepted."""
    settings = {"distribution": "round_robin", "accept_timeout": ACCEPT, "task_timeout": TIMEOUT}
    gig = world.gig(**settings | fields)
    return gig, [world.worker(gig) for _ in range(workers)]


def holder(gig: Gig, task_id: str, workers: list[Person]) -> Person | None:
    """Who has the task; None while it waits."""
    has = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["mailbox_id"]
    return next((one for one in workers if one.mailbox["id"] == has), None)


def first(gig: Gig, task_id: str, workers: list[Person]) -> tuple[Person, Person]:
    """Who has the task of two workers, and the other one."""
    has = holder(gig, task_id, workers)
    assert has is not None
    (other,) = [one for one in workers if one is not has]
    return has, other


def inbound(worker: Person) -> list[Any]:
    tasks: list[Any] = worker.get(f"/mailboxes/{worker.mailbox['id']}/inbound")["tasks"]
    return tasks


def run_out(seconds: int = ACCEPT) -> None:
    clock.advance(seconds)
    holds.expire()


def accept(gig: Gig, task_id: str) -> str:
    return f"{gig.path}/tasks/{task_id}/accept"


def reject(gig: Gig, task_id: str) -> str:
    return f"{gig.path}/tasks/{task_id}/reject"


def events(gig: Gig) -> list[str]:
    return [one["type"] for one in gig.owner.get(f"{gig.path}/events?limit=100")["events"]]


@pytest.mark.rule("U-04")
def test_an_offer_says_until_when_it_stands_and_accepting_begins_the_time_for_the_work(
    world: World,
) -> None:
    gig, workers = offering(world)
    task_id = world.task(gig)
    mine, other = first(gig, task_id, workers)
    (shown,) = inbound(mine)
    seen = gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]
    assert shown["accept_by"] == shown["expires_at"] == seen["accept_by"] is not None
    other.call("GET", f"{gig.path}/tasks/{task_id}").refused(404)
    mine.call("POST", f"{gig.path}/tasks/{task_id}/heartbeat").refused(409, "not_accepted")
    clock.advance(ACCEPT - 5)
    before = clock.now()
    answer = mine.post(accept(gig, task_id))
    assert answer == {"success": True, "status": "claimed", "expires_at": answer["expires_at"]}
    assert times.parse_ms(answer["expires_at"]) >= before + TIMEOUT * clock.SECOND
    assert inbound(mine)[0]["accept_by"] is None
    # Again is no second acceptance.
    assert mine.post(accept(gig, task_id)) == answer
    assert events(gig).count("task.accepted") == 1
    run_out()
    assert holder(gig, task_id, workers) is mine
    mine.call("POST", reject(gig, task_id)).refused(409, "already_accepted")
    assert mine.post(f"{gig.path}/tasks/{task_id}/heartbeat")["expires_at"]


@pytest.mark.rule("U-04")
@pytest.mark.rule("M-06")
def test_an_offer_that_nobody_answers_goes_to_another_and_not_back(world: World) -> None:
    gig, workers = offering(world)
    task_id = world.task(gig)
    late, other = first(gig, task_id, workers)
    clock.advance(ACCEPT)
    # Over at once, whenever the sweep comes by.
    late.call("POST", accept(gig, task_id)).refused(410, "claim_lost")
    late.call("POST", reject(gig, task_id)).refused(410, "claim_lost")
    holds.expire()
    assert holder(gig, task_id, workers) is other
    late.call("POST", accept(gig, task_id)).refused(410, "claim_lost")
    (mailbox,) = late.get("/mailboxes/mine")["mailboxes"]
    assert (mailbox["tasks_received"], mailbox["response_rate"]) == (1, 0)
    # Nobody is left to offer it to, so it waits; a third worker gets it.
    run_out()
    assert holder(gig, task_id, workers) is None
    assert gig.owner.get(f"{gig.path}/tasks/{task_id}")["task"]["status"] == "queued"
    assert events(gig).count("task.expired") == 2


@pytest.mark.rule("U-04")
def test_a_rejected_offer_goes_to_another_at_once(world: World) -> None:
    gig, workers = offering(world)
    task_id = world.task(gig)
    unwilling, other = first(gig, task_id, workers)
    assert unwilling.post(reject(gig, task_id)) == {"success": True}
    assert holder(gig, task_id, workers) is other
    assert unwilling.post(reject(gig, task_id)) == {"success": True}
    unwilling.call("POST", accept(gig, task_id)).refused(410, "claim_lost")
    assert events(gig).count("task.turned_down") == 1
    other.post(reject(gig, task_id))
    assert holder(gig, task_id, workers) is None


@pytest.mark.rule("U-04")
def test_only_its_holder_answers_an_offer(world: World) -> None:
    gig, workers = offering(world)
    task_id = world.task(gig)
    mine, other = first(gig, task_id, workers)
    for path in (accept(gig, task_id), reject(gig, task_id)):
        other.call("POST", path).refused(404)
        gig.owner.call("POST", path).refused(403, "not_permitted")
        world.person().call("POST", path).refused(403, "not_joined")
        mine.call("POST", path.replace(task_id, "TASK_none")).refused(404)
    assert holder(gig, task_id, workers) is mine


@pytest.mark.rule("U-04")
def test_where_nothing_is_offered_there_is_nothing_to_accept(world: World) -> None:
    for fields in ({"distribution": "round_robin"}, {}):
        gig = world.gig(**fields)
        worker = world.worker(gig)
        task_id = world.task(gig, assign_to=worker.mailbox["id"])
        for path in (accept(gig, task_id), reject(gig, task_id)):
            worker.call("POST", path).refused(409, "nothing_to_accept")
    # What its owner gives to a worker himself is no offer either.
    gig, (worker,) = offering(world, workers=1)
    task_id = world.task(gig, assign_to=worker.mailbox["id"])
    assert inbound(worker)[0]["accept_by"] is None
    worker.call("POST", accept(gig, task_id)).refused(409, "nothing_to_accept")


@pytest.mark.rule("U-04")
def test_handing_in_accepts_and_a_draft_does_not(world: World) -> None:
    gig, (worker,) = offering(world, workers=1)
    first_id, second_id = world.task(gig), world.task(gig)
    worker.post(f"{gig.path}/proofs", {"task_identifier": first_id, "proofs": ["done"]})
    drafted = {"task_identifier": second_id, "proofs": ["soon"], "draft": True}
    proof = worker.post(f"{gig.path}/proofs", drafted)["proof"]
    worker.call("POST", accept(gig, first_id)).refused(409, "already_proven")
    run_out()
    proofs = gig.owner.get(f"{gig.path}/proofs")["proofs"]
    assert [one["task_identifier"] for one in proofs] == [first_id]
    worker.call("POST", f"{gig.path}/proofs/{proof['id']}/submit").refused(404)
    assert events(gig).count("task.accepted") == 1


@pytest.mark.rule("U-04")
@pytest.mark.rule("A-02")
def test_more_time_is_more_time_to_accept(world: World) -> None:
    gig, workers = offering(world)
    task_id = world.task(gig)
    mine, _ = first(gig, task_id, workers)
    until = gig.owner.post(f"{gig.path}/tasks/{task_id}/extend")["expires_at"]
    (shown,) = inbound(mine)
    assert shown["accept_by"] == shown["expires_at"] == until
    run_out(ACCEPT + 1)
    assert holder(gig, task_id, workers) is mine
    mine.post(accept(gig, task_id))


@pytest.mark.rule("U-04")
@pytest.mark.rule("A-02")
def test_what_its_owner_recycles_goes_to_another_whom_the_answer_names(world: World) -> None:
    gig, workers = offering(world)
    task_id = world.task(gig)
    mine, other = first(gig, task_id, workers)
    mine.post(accept(gig, task_id))
    path = f"{gig.path}/tasks/{task_id}/recycle"
    assert gig.owner.post(path) == {
        "success": True,
        "reassigned_to": other.mailbox["id"],
        "reassigned_to_name": other.get("/mailboxes/mine")["mailboxes"][0]["name"],
    }
    assert inbound(other)[0]["accept_by"] is not None
    mine.call("POST", accept(gig, task_id)).refused(410, "claim_lost")
    assert gig.owner.post(path) == {"success": True, "requeued": True}
    # It is not held against either.
    assert mine.get("/mailboxes/mine")["mailboxes"][0]["response_rate"] is None


@pytest.mark.rule("U-04")
@pytest.mark.rule("G-08")
def test_in_a_closed_gig_an_offer_stands_but_goes_to_nobody_else(world: World) -> None:
    gig, workers = offering(world)
    kept, passed = world.task(gig), world.task(gig)
    gig.owner.patch(gig.path, {"status": "closed"})
    mine, _ = first(gig, kept, workers)
    mine.post(accept(gig, kept))
    unwilling, _ = first(gig, passed, workers)
    unwilling.post(reject(gig, passed))
    assert holder(gig, passed, workers) is None


@pytest.mark.rule("U-04")
def test_a_copy_that_is_rejected_or_runs_out_is_gone_and_the_others_stand(world: World) -> None:
    gig, workers = offering(world, workers=3, distribution="free_for_all")
    world.send(gig).ok()
    unwilling, late, willing = workers
    copies = [inbound(one)[0]["id"] for one in workers]
    unwilling.post(reject(gig, copies[0]))
    # A copy is nobody else's to see.
    late.call("POST", accept(gig, copies[2])).refused(404)
    willing.post(accept(gig, copies[2]))
    run_out()
    assert [len(inbound(one)) for one in workers] == [0, 0, 1]
    unwilling.call("POST", accept(gig, copies[0])).refused(410, "claim_lost")
    late.call("POST", accept(gig, copies[1])).refused(410, "claim_lost")
    states = [gig.owner.call("GET", f"{gig.path}/tasks/{one}").status for one in copies]
    assert states == [200, 200, 200]
    willing.post(f"{gig.path}/proofs", {"task_identifier": copies[2], "proofs": ["done"]})
    assert world.send(gig).ok()["targets"] == 3


@pytest.mark.rule("U-04")
def test_work_by_a_share_link_accepts_too(world: World) -> None:
    gig, (worker,) = offering(world, workers=1)
    task_id = world.task(gig)
    token = worker.get("/mailboxes/mine")["mailboxes"][0]["share_token"]
    body = {"share_token": token, "task_identifier": task_id, "proofs": ["done"]}
    world.call("POST", "/public/submit-proof", body).ok()
    assert events(gig).count("task.accepted") == 1


@pytest.mark.rule("U-04")
@pytest.mark.rule("A-02")
def test_who_reports_an_offer_has_passed_on_it(world: World) -> None:
    gig, workers = offering(world)
    task_id = world.task(gig)
    mine, other = first(gig, task_id, workers)
    mine.post(f"{gig.path}/queue/{task_id}/violation", {"violation": "Spam."})
    assert holder(gig, task_id, workers) is other
    mine.call("POST", accept(gig, task_id)).refused(410, "claim_lost")


@pytest.mark.rule("U-04", "A-01")
def test_an_offer_that_its_owner_assigns_to_the_same_worker_is_his(world: World) -> None:
    gig, (mine,) = offering(world, workers=1)
    task_id = world.task(gig)
    clock.advance(ACCEPT - 5)
    before = clock.now()
    gig.owner.post(f"{gig.path}/tasks/{task_id}/assign", {"assign_to": mine.mailbox["id"]})
    run_out()
    (held,) = inbound(mine)
    assert held["accept_by"] is None
    assert times.parse_ms(held["expires_at"]) >= before + TIMEOUT * clock.SECOND
    mine.post(f"{gig.path}/tasks/{task_id}/heartbeat")
    assert events(gig).count("task.accepted") == 1


@pytest.mark.rule("U-04", "T-09")
def test_an_owner_is_told_of_what_no_worker_is_left_for(world: World) -> None:
    gig, (worker, _) = offering(world)
    task_id = world.task(gig)
    run_out()
    assert "task.stranded" not in events(gig)
    run_out()
    # It waits for somebody else; each time that it comes back it is told of once.
    run_out()
    assert events(gig).count("task.stranded") == 1
    (news,) = [
        one
        for one in gig.owner.get("/notifications")["notifications"]
        if one["kind"] == "task.stranded"
    ]
    assert news["subject"]["id"] == task_id
    gig.owner.post(f"{gig.path}/tasks/{task_id}/assign", {"assign_to": worker.mailbox["id"]})
    assert [one["id"] for one in inbound(worker)] == [task_id]
