"""Taking one named task by its link (C-01)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, holds
from tests.contract.links import ONE, SOLO, Link, place
from tests.world import World


@pytest.mark.rule("C-01")
def test_a_named_task_comes_as_in_a_poll_with_what_only_its_holder_reads(world: World) -> None:
    limits = {"default_rate_limit_count": 5, "default_rate_limit_minutes": 60}
    link = Link.of(world, default_max_open_tasks=3, **limits)
    other = world.task(link.gig)
    link.owner_sets("private-details", {"private_details": "the whole brief"})
    got = link.open().ok()
    assert (got["success"], got["already_held"]) == (True, False)
    assert got["mailbox_id"] == place(link.worker)
    task = got["task"]
    assert (task["id"], task["private_details"]) == (link.task_id, "the whole brief")
    assert (got["rate_limit"]["used"], got["rate_limit"]["remaining"]) == (1, 4)
    assert (got["open_tasks"]["open"], got["open_tasks"]["remaining"]) == (1, 2)
    polled = link.worker.post(f"{link.gig.path}/queue/poll", {"count": 1})
    assert [one["id"] for one in polled["tasks"]] == [other]
    assert set(polled["tasks"][0]) == set(task)
    assert polled["rate_limit"]["used"] == 2
    assert link.gig.owner.get(f"{link.gig.path}/queue")["tasks"] == []


@pytest.mark.rule("C-01")
@pytest.mark.parametrize("fields", [{}, SOLO], ids=["queue", "solo"])
def test_opening_the_link_again_takes_nothing_and_spends_no_slot(
    world: World, fields: dict[str, Any]
) -> None:
    limits = {"default_rate_limit_count": 1, "default_rate_limit_minutes": 60}
    link = Link.of(world, default_max_open_tasks=1, **limits, **fields)
    first = link.open().ok()
    link.gig.owner.patch(link.gig.path, {"status": "closed"})
    for _ in range(3):
        again = link.open().ok()
        assert again["already_held"] is True
        assert {**again, "already_held": False} == first
    # His copy's own id is a link to the same thing, for him.
    link.task_id = first["task"]["id"]
    assert link.open().ok() == again


@pytest.mark.rule("C-01")
@pytest.mark.rule("T-06")
def test_the_first_who_opens_the_link_of_a_reserved_task_takes_it(world: World) -> None:
    link = Link.of(world, query={"availability": "reserved"})
    for who in (link.worker, link.colleague):
        assert who.post(f"{link.gig.path}/queue/poll", {})["tasks"] == []
    assert link.take(link.colleague) == link.task_id
    link.open(link.worker).refused(409, "taken")


@pytest.mark.rule("C-01")
@pytest.mark.rule("T-06")
def test_a_task_that_is_reserved_for_a_worker_is_his_by_its_link(world: World) -> None:
    link = Link.of(world)
    link.reserve_for(link.worker)
    link.open(link.colleague).refused(409, "reserved_for_other")
    got = link.open().ok()
    assert got["task"]["reserved_for_me"] is True


@pytest.mark.rule("C-01")
@pytest.mark.rule("S-01")
def test_the_link_of_a_solo_task_gives_each_worker_a_copy(world: World) -> None:
    link = Link.of(world, **SOLO)
    first, second = link.open(link.worker).ok(), link.open(link.colleague).ok()
    ids = {first["task"]["id"], second["task"]["id"], link.task_id}
    assert len(ids) == 3
    assert {one["task"]["source_task_id"] for one in (first, second)} == {link.task_id}
    # The poll knows of it.
    assert link.worker.post(f"{link.gig.path}/queue/poll", {})["tasks"] == []


@pytest.mark.rule("C-01")
def test_a_task_that_was_skipped_can_still_be_taken_by_its_link(world: World) -> None:
    link = Link.of(world)
    link.worker.post(f"{link.gig.path}/queue/{link.task_id}/decline", {})
    assert link.worker.post(f"{link.gig.path}/queue/poll", {})["tasks"] == []
    assert link.take(link.worker) == link.task_id


@pytest.mark.rule("C-01")
@pytest.mark.rule("Q-07")
def test_whoever_let_his_time_run_out_does_not_get_it_back_by_the_link(world: World) -> None:
    link = Link.of(world, task_timeout=60)
    link.take(link.worker)
    clock.advance(61)
    # Before the sweep has come by as after it.
    link.open().refused(410, "claim_lost")
    assert holds.expire() == 1
    link.open().refused(410, "claim_lost")
    assert link.take(link.colleague) == link.task_id


@pytest.mark.rule("C-01")
@pytest.mark.rule("S-01")
def test_a_copy_that_was_skipped_is_gone_for_good(world: World) -> None:
    link = Link.of(world, **ONE)
    copy_id = link.take(link.worker)
    link.worker.post(f"{link.gig.path}/queue/{copy_id}/decline", {})
    link.open().refused(410, "claim_lost")
    assert link.take(link.colleague) != copy_id
    link.open().refused(410, "claim_lost")
    link.task_id = copy_id
    link.open().refused(410, "claim_lost")
    link.open(link.colleague).refused(409, "other_worker")


@pytest.mark.rule("C-01")
@pytest.mark.rule("G-08")
@pytest.mark.parametrize("fields", [{}, SOLO], ids=["queue", "solo"])
def test_a_closed_gig_gives_out_nothing_by_links(world: World, fields: dict[str, Any]) -> None:
    link = Link.of(world, **fields)
    link.gig.owner.patch(link.gig.path, {"status": "closed"})
    link.open().refused(409, "gig_closed")
    link.gig.owner.post(f"{link.gig.path}/cancel")
    link.open().refused(404, "not_found")


@pytest.mark.rule("C-01")
@pytest.mark.rule("T-04")
@pytest.mark.parametrize("fields", [{}, SOLO], ids=["queue", "solo"])
def test_nobody_takes_a_task_before_its_time(world: World, fields: dict[str, Any]) -> None:
    link = Link.of(world, **fields)
    link.set(not_before=clock.now() + 60_000)
    link.open().refused(409, "not_offered")
    clock.advance(61)
    link.open().ok()


@pytest.mark.rule("C-01")
def test_the_mailbox_that_is_named_gets_the_task(world: World) -> None:
    link = Link.of(world)
    second = link.worker.post(
        f"{link.gig.path}/mailboxes", {"new": True, "invite": link.gig.invite}
    )["mailbox"]
    got = link.open(mailbox_id=second["id"]).ok()
    assert (got["mailbox_id"], got["already_held"]) == (second["id"], False)
    # Whichever of his mailboxes he opens it with, he has it, and where.
    for body in ({}, {"mailbox_id": place(link.worker)}, {"mailbox_id": second["id"]}):
        again = link.open(**body).ok()
        assert (again["mailbox_id"], again["already_held"]) == (second["id"], True)
    for bad in (place(link.colleague), "MBX_01JZZZZZZZZZZZZZZZZZZZZZZZ"):
        link.open(mailbox_id=bad).refused(403, "not_joined")
