"""What a share link lets its holder do: what its mailbox's worker may, and no more (R-07)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from engine import clock, departures
from engine.db import db
from engine.models.mailbox import Mailbox
from tests.contract.links import SOLO, Link, place
from tests.contract.scene import all_hold, everything
from tests.contract.shares import Share, events_of, proofs_of
from tests.world import Gig, Person, World, at_once


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-07")
def test_a_proof_by_link_is_the_workers_own(world: World) -> None:
    link = Link.of(world, query={"price": "7.25"})
    share = Share.of(link.worker)
    body = {"proofs": ["https://example.com/1", "done"], "tags": ["a"], "private_note": "psst"}
    answer = share.prove(link.task_id, **body)
    told = answer.ok()
    assert answer.status == 201 and set(told) <= {"proof_id", "status", "warning"}
    assert told["status"] == "pending"
    mine = link.worker.get(f"{link.gig.path}/proofs/{told['proof_id']}")["proof"]
    for name, value in {**body, "task_identifier": link.task_id}.items():
        assert mine[name] == value
    assert mine["mailbox_id"] == place(link.worker) and str(mine["locked_price"]) == "7.25"
    (event,) = events_of("proof.submitted")
    assert (event.actor, event.mailbox_id) == (link.worker.id, place(link.worker))
    again = share.prove(link.task_id).refused(409, "already_proven")
    assert "proof_id" not in again


@pytest.mark.rule("R-01")
@pytest.mark.rule("R-07")
def test_one_task_handed_in_sixteen_times_at_once_by_a_link_is_one_proof(world: World) -> None:
    link = Link.of(world)
    share = Share.of(link.worker)
    answers = at_once(16, lambda _: share.prove(link.task_id, proofs=["done"]))
    assert Counter(one.status for one in answers) == {201: 1, 409: 15}
    assert {one.json["reason"] for one in answers if one.status == 409} == {"already_proven"}
    (proof,) = proofs_of(link.task_id)
    assert [proof.id] == [one.json["proof_id"] for one in answers if one.status == 201]
    assert len(events_of("proof.submitted")) == len(events_of("task.claimed")) == 1


@pytest.mark.rule("M-05")
@pytest.mark.rule("R-07")
def test_a_link_and_its_worker_share_his_limits(world: World) -> None:
    gig = world.gig(default_rate_limit_count=3, default_rate_limit_minutes=60)
    worker = world.worker(gig)
    share, task_ids = Share.of(worker), [world.task(gig) for _ in range(9)]
    answers = at_once(
        8,
        lambda n: (
            share.prove(task_ids[n])
            if n % 2
            else worker.call("POST", f"{gig.path}/queue/{task_ids[n]}/claim", {})
        ),
    )
    assert sum(one.status < 300 for one in answers) == 3
    for one in answers:
        if one.status >= 300:
            assert one.refused(429, "rate_limit_reached")["rate_limit"]["used"] == 3
    share.prove(task_ids[8]).refused(429, "rate_limit_reached")
    gig = world.gig(default_max_open_tasks=1)
    worker, first, second = world.worker(gig), world.task(gig), world.task(gig)
    worker.post(f"{gig.path}/queue/{first}/claim", {})
    Share.of(worker).prove(second).refused(429, "open_tasks_reached")
    Share.of(worker).prove(first).ok()
    Share.of(worker).prove(second).ok()


def _taken(link: Link) -> None:
    link.take(link.colleague)


def _assigned_elsewhere(link: Link) -> None:
    link.assign_to(link.colleague)


def _view_only(link: Link) -> None:
    link.owner_sets("availability", {"availability": "view_only"})


def _reserved_for_other(link: Link) -> None:
    link.reserve_for(link.colleague)


def _unassigned(link: Link) -> None:
    link.assign_to(link.colleague)
    link.colleague.post(f"{link.gig.path}/queue/{link.task_id}/decline")


def _ran_out(link: Link) -> None:
    link.gig.owner.patch(link.gig.path, {"task_timeout": 60})
    link.take(link.worker)
    clock.advance(61)


def _recycled(link: Link) -> None:
    link.take(link.worker)
    link.gig.owner.post(f"{link.gig.path}/tasks/{link.task_id}/recycle")


def _handed_in(link: Link) -> None:
    link.prove(link.worker)


def _deleted(link: Link) -> None:
    link.gig.owner.call("DELETE", f"{link.gig.path}/tasks/{link.task_id}").ok()


def _closed(link: Link) -> None:
    link.gig.owner.patch(link.gig.path, {"status": "closed"})


def _unknown(link: Link) -> None:
    link.task_id = "TASK_01JZZZZZZZZZZZZZZZZZZZZZZZ"


def _of_another_gig(link: Link) -> None:
    link.task_id = link.world.task(link.world.gig(link.gig.owner))


def _template(link: Link) -> None:
    gig = link.gig = link.world.gig(**SOLO)
    link.worker, link.colleague = link.world.worker(gig), link.world.worker(gig)
    link.task_id = link.world.task(gig)


def _copy_of_another(link: Link) -> None:
    _template(link)
    link.task_id = link.take(link.colleague)


# (what has become of the task, what a proof of it gets)
REFUSED: list[tuple[Callable[[Link], None], int]] = [
    *((begin, 409) for begin in (_taken, _assigned_elsewhere, _view_only, _reserved_for_other)),
    *((begin, 409) for begin in (_unassigned, _handed_in, _template, _copy_of_another, _closed)),
    *((begin, 404) for begin in (_deleted, _unknown, _of_another_gig)),
    *((begin, 410) for begin in (_recycled, _ran_out)),
]


@pytest.mark.rule("R-07")
def test_a_link_is_refused_what_its_worker_is_and_in_the_same_words(world: World) -> None:
    base = Link.of(world)

    def same(row: tuple[Callable[[Link], None], int]) -> None:
        begin, status = row
        own_gig = begin in (_closed, _ran_out)
        task_id = world.task(base.gig)
        link = (
            Link.of(world)
            if own_gig
            else Link(world, base.gig, base.worker, base.colleague, task_id)
        )
        begin(link)
        share, queue = Share.of(link.worker), f"{link.gig.path}/queue/{link.task_id}"
        proof = {"task_identifier": link.task_id}
        for by_link, path, body in (
            (share.prove, f"{link.gig.path}/proofs", proof),
            (share.decline, f"{queue}/decline", {}),
            (share.report, f"{queue}/violation", {"violation": "Spam."}),
        ):
            told = by_link(link.task_id)
            assert told.json == link.worker.call("POST", path, body).json
            if body is proof:
                told.refused(status)
        clock.advance(61)

    all_hold(REFUSED, same)


@pytest.mark.rule("R-07")
@pytest.mark.case("F03")
def test_what_was_lost_is_refused_by_link_too_and_the_log_tells_it(world: World) -> None:
    link = Link.of(world)
    _ran_out(link)
    for key in (None, "k-1"):
        Share.of(link.worker).prove(link.task_id, key).refused(410, "claim_lost")
    (told,) = events_of("proof.refused")
    assert told.mailbox_id == place(link.worker)
    assert proofs_of(link.task_id) == []


def _pending(gig: Gig, worker: Person) -> None:
    db.write(
        lambda: (
            Mailbox.update({Mailbox.status: "pending_approval"})
            .where(Mailbox.id == place(worker))
            .execute()
        )
    )


def _shut(gig: Gig, worker: Person) -> None:
    gig.owner.patch(f"{gig.path}/mailboxes/{place(worker)}", {"status": "inactive"})


def _left(gig: Gig, worker: Person) -> None:
    worker.call("DELETE", f"{gig.path}/mailboxes/{place(worker)}").ok()


def _departed(gig: Gig, worker: Person) -> None:
    departures.deactivate(worker.email)


@pytest.mark.rule("R-07")
@pytest.mark.parametrize("end", [_pending, _shut, _left, _departed])
def test_the_link_of_a_mailbox_that_is_not_active_opens_nothing(
    world: World, end: Callable[[Gig, Person], None]
) -> None:
    link = Link.of(world)
    share = Share.of(link.worker)
    share.info().ok()
    end(link.gig, link.worker)
    before = everything()
    for answer in share.all(link.task_id):
        answer.refused(403, "mailbox_inactive")
    assert {**everything(), "counter": before["counter"]} == before


@pytest.mark.rule("D-01")
@pytest.mark.rule("A-02")
@pytest.mark.rule("R-07")
def test_a_link_passes_on_a_task_and_reports_it_for_its_mailbox_alone(world: World) -> None:
    link = Link.of(world)
    share = Share.of(link.worker)
    link.take(link.worker)
    assert share.decline(link.task_id).ok() == share.decline(link.task_id).ok() == {"success": True}
    (told,) = events_of("task.declined")
    assert (told.actor, told.mailbox_id) == (link.worker.id, place(link.worker))
    assert link.worker.post(f"{link.gig.path}/queue/poll")["tasks"] == []
    assert share.report(link.task_id).ok() == {"success": True}
    (reported,) = events_of("task.violation")
    assert reported.data == {"mailbox_id": place(link.worker), "violation": "Spam."}
    # The others find it in its place.
    link.take(link.colleague)
    given_back = link.task_id = world.task(link.gig, assign_to=place(link.worker))
    assert share.decline(given_back).ok()["returned_to_owner"] is True
