"""Who may move a claim's clock, and how far: heartbeat, extend, recycle (Q-07, A-02)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, holds
from engine.rules import times
from tests.engine.holding import (
    TIMEOUT,
    act,
    assign,
    claim,
    mailbox_id,
    poll,
    reserve,
    task_of,
    told,
)
from tests.world import Gig, Person, World

MARGIN_SECONDS = 5


def _left(expires_at: str) -> float:
    """Seconds until then."""
    return (times.parse_ms(expires_at) - clock.now()) / clock.SECOND


def _about(expires_at: str, seconds: int) -> bool:
    return seconds - MARGIN_SECONDS < _left(expires_at) <= seconds


def _held(world: World, **fields: Any) -> tuple[Gig, Person, str]:
    gig = world.gig(**fields)
    worker = world.worker(gig)
    world.task(gig)
    return gig, worker, claim(gig, worker)


@pytest.mark.rule("Q-07")
def test_a_heartbeat_begins_the_holders_time_anew(world: World) -> None:
    gig, worker, task_id = _held(world, task_timeout=TIMEOUT)
    for _ in range(3):
        clock.advance(TIMEOUT - 10)
        assert _about(act(gig, worker, task_id, "heartbeat").ok()["expires_at"], TIMEOUT)
    assert holds.expire() == 0
    act(gig, worker, task_id, "proof").ok()


@pytest.mark.rule("Q-07")
def test_no_heartbeat_reaches_past_the_longest_time_of_a_claim(world: World) -> None:
    gig, worker, task_id = _held(world, task_timeout=TIMEOUT, max_hold_seconds=2 * TIMEOUT)
    for gone in (TIMEOUT - 10, TIMEOUT - 10):
        clock.advance(gone)
        until = act(gig, worker, task_id, "heartbeat").ok()["expires_at"]
    assert _about(until, 20)
    clock.advance(15)
    assert act(gig, worker, task_id, "heartbeat").ok()["expires_at"] == until
    clock.advance(10)
    act(gig, worker, task_id, "heartbeat").refused(410, "claim_lost")
    assert holds.expire() == 1


@pytest.mark.rule("Q-07")
def test_the_longest_time_is_ten_times_the_timeout_unless_the_gig_says_otherwise(
    world: World,
) -> None:
    gig, worker, task_id = _held(world, task_timeout=TIMEOUT)
    for _ in range(11):
        clock.advance(TIMEOUT - 6)
        until = act(gig, worker, task_id, "heartbeat").ok()["expires_at"]
    assert _about(until, 6)


@pytest.mark.rule("Q-07")
@pytest.mark.case("F04")
def test_nothing_but_a_heartbeat_of_this_task_moves_its_clock(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker, other = world.worker(gig), world.worker(gig)
    first, second = world.task(gig), world.task(gig)
    assert poll(gig, worker) == [first, second]
    clock.advance(TIMEOUT - 10)
    # He is about, and keeps the other task alive.
    poll(gig, worker)
    worker.get(f"{gig.path}/queue")
    worker.get(f"{gig.path}/tasks/{first}")
    worker.get("/mailboxes/mine")
    act(gig, worker, second, "heartbeat").ok()
    gig.owner.patch(gig.path, {"task_timeout": 10 * TIMEOUT})
    clock.advance(15)
    assert holds.expire() == 1
    assert poll(gig, other) == [first]
    act(gig, worker, second, "proof").ok()


@pytest.mark.rule("Q-07")
def test_only_the_holder_has_a_heartbeat(world: World) -> None:
    gig, worker, task_id = _held(world, task_timeout=TIMEOUT)
    other, waiting = world.worker(gig), world.task(gig)
    act(gig, other, task_id, "heartbeat").refused(409, "not_held")
    act(gig, worker, waiting, "heartbeat").refused(409, "not_held")
    act(gig, world.person(), task_id, "heartbeat").refused(403, "not_joined")
    act(gig, gig.owner, task_id, "heartbeat").refused(403)
    act(gig, worker, "TASK_1", "heartbeat").refused(404, "not_found")
    act(gig, worker, task_id, "proof").ok()
    act(gig, worker, task_id, "heartbeat").refused(409, "not_held")


@pytest.mark.rule("Q-07")
def test_without_a_timeout_a_claim_never_ends(world: World) -> None:
    gig, worker, task_id = _held(world)
    assert act(gig, worker, task_id, "heartbeat").ok() == {"expires_at": None}
    told_owner = act(gig, gig.owner, task_id, "extend", {"seconds": 60}).ok()
    assert told_owner == {"success": True, "expires_at": None, "expired": False}
    clock.advance(10**8)
    assert holds.expire() == 0


@pytest.mark.rule("Q-07")
@pytest.mark.case("F28")
def test_a_change_of_the_gigs_times_cuts_no_claim_short(world: World) -> None:
    gig, worker, task_id = _held(world, task_timeout=TIMEOUT)
    until = act(gig, worker, task_id, "heartbeat").ok()["expires_at"]
    gig.owner.patch(gig.path, {"task_timeout": 5, "max_hold_seconds": 10})
    assert act(gig, worker, task_id, "heartbeat").ok()["expires_at"] >= until
    # He goes on beating as often as he was told when he claimed it.
    for _ in range(3):
        clock.advance(TIMEOUT - 10)
        act(gig, worker, task_id, "heartbeat").ok()
    assert holds.expire() == 0
    act(gig, worker, task_id, "proof").ok()


@pytest.mark.rule("A-02")
@pytest.mark.rule("Q-07")
def test_the_owner_gives_a_holder_more_time(world: World) -> None:
    gig, worker, task_id = _held(world, task_timeout=TIMEOUT, max_hold_seconds=TIMEOUT)
    extended = act(gig, gig.owner, task_id, "extend").ok()
    assert (extended["success"], extended["expired"]) == (True, False)
    assert _about(extended["expires_at"], 2 * TIMEOUT)
    # His word goes beyond the longest time, and a heartbeat takes nothing of it away.
    extended = act(gig, gig.owner, task_id, "extend", {"seconds": 1000}).ok()
    assert _about(extended["expires_at"], 2 * TIMEOUT + 1000)
    assert act(gig, worker, task_id, "heartbeat").ok()["expires_at"] == extended["expires_at"]
    events = told(gig, "task.extended")
    assert [event["data"]["expires_at"] for event in events][-1] == extended["expires_at"]
    clock.advance(2 * TIMEOUT + 900)
    assert holds.expire() == 0
    act(gig, worker, task_id, "proof").ok()


@pytest.mark.rule("A-02")
def test_an_extension_brings_a_claim_back_until_the_sweep_has_taken_it(world: World) -> None:
    gig, worker, task_id = _held(world, task_timeout=TIMEOUT)
    clock.advance(10 * TIMEOUT)
    act(gig, worker, task_id, "proof").refused(410, "claim_lost")
    extended = act(gig, gig.owner, task_id, "extend").ok()
    assert extended["expired"] is False and _about(extended["expires_at"], TIMEOUT)
    assert holds.expire() == 0
    act(gig, worker, task_id, "heartbeat").ok()
    clock.advance(TIMEOUT)
    assert holds.expire() == 1
    act(gig, gig.owner, task_id, "extend").refused(409, "not_held")
    act(gig, worker, task_id, "proof").refused(410, "claim_lost")


@pytest.mark.rule("A-02")
def test_what_nobody_holds_is_neither_extended_nor_recycled(world: World) -> None:
    gig = world.gig(task_timeout=TIMEOUT)
    worker = world.worker(gig)
    proven, waiting, back = (world.task(gig) for _ in range(3))
    act(gig, worker, proven, "proof").ok()
    assign(gig, worker, back)
    assert act(gig, worker, back, "decline").ok()["returned_to_owner"] is True
    for what in ("extend", "recycle"):
        act(gig, gig.owner, proven, what).refused(409, "already_proven")
        act(gig, gig.owner, waiting, what).refused(409, "not_held")
        act(gig, gig.owner, back, what).refused(409, "not_held")
        act(gig, gig.owner, "TASK_1", what).refused(404, "not_found")
        act(gig, worker, waiting, what).refused(403)
    assert task_of(gig, back)["mailbox_id"] == "UNASSIGNED"
    assert told(gig, "task.extended", "task.recycled") == []


@pytest.mark.rule("A-02")
@pytest.mark.rule("H-05")
@pytest.mark.parametrize("seconds", [0, -1, 1.5, "60", True, 10**12])
def test_time_that_is_none_is_refused_by_name(world: World, seconds: Any) -> None:
    gig, _, task_id = _held(world, task_timeout=TIMEOUT)
    refusal = act(gig, gig.owner, task_id, "extend", {"seconds": seconds}).refused(400)
    assert "seconds" in refusal["errors"]


@pytest.mark.rule("A-02")
def test_no_extension_reaches_further_than_ten_years(world: World) -> None:
    gig, _, task_id = _held(world, task_timeout=TIMEOUT)
    most = {"seconds": holds.MAX_AHEAD_SECONDS}
    assert "seconds" in act(gig, gig.owner, task_id, "extend", most).refused(400)["errors"]
    gig.owner.patch(gig.path, {"task_timeout": None, "max_hold_seconds": None})
    refusal = act(gig, gig.owner, task_id, "extend").refused(400)
    assert "seconds" in refusal["errors"]
    act(gig, gig.owner, task_id, "extend", {"seconds": 60}).ok()


@pytest.mark.rule("A-02")
@pytest.mark.case("F03")
@pytest.mark.parametrize("what", ["proof", "decline", "violation", "heartbeat"])
def test_a_recycled_task_is_the_others_and_not_its_old_holders(world: World, what: str) -> None:
    gig, worker, task_id = _held(world)
    other = world.worker(gig)
    assert act(gig, gig.owner, task_id, "recycle").ok() == {"success": True, "requeued": True}
    refusal = act(gig, worker, task_id, what).refused(410, "claim_lost")
    assert "owner took this task back" in refusal["error"]
    assert poll(gig, worker) == []
    assert poll(gig, other) == [task_id]
    act(gig, worker, task_id, what).refused(410, "claim_lost")
    (event,) = told(gig, "task.recycled")
    assert event["data"] == {"mailbox_id": mailbox_id(worker), "requeued": True}
    # Twice is not two times; and now it is another's, who has done nothing.
    act(gig, gig.owner, task_id, "recycle").ok()
    act(gig, gig.owner, task_id, "recycle").refused(409, "not_held")
    assign(gig, worker, task_id)
    act(gig, worker, task_id, "proof").ok()


@pytest.mark.rule("A-02")
@pytest.mark.rule("T-06")
def test_what_was_reserved_or_assigned_goes_back_there_when_it_is_recycled(world: World) -> None:
    gig = world.gig()
    worker, other = world.worker(gig), world.worker(gig)
    reserved, assigned = world.task(gig), world.task(gig)
    reserve(gig, worker, reserved)
    assert poll(gig, worker, 1) == [reserved]
    assign(gig, worker, assigned)
    assert act(gig, gig.owner, reserved, "recycle").ok()["requeued"] is True
    assert act(gig, gig.owner, assigned, "recycle").ok()["requeued"] is False
    seen = task_of(gig, reserved)
    assert (seen["availability"], seen["reserved_for"]) == ("reserved", None)
    assert task_of(gig, assigned)["mailbox_id"] == "UNASSIGNED"
    assert poll(gig, worker) == poll(gig, other) == []


@pytest.mark.rule("A-02")
@pytest.mark.rule("S-01")
def test_a_recycled_copy_is_gone_and_its_slot_is_for_another_worker(world: World) -> None:
    gig = world.gig(distribution="queue_solo", max_claims_per_task=1)
    worker, other = world.worker(gig), world.worker(gig)
    world.task(gig)
    copy = claim(gig, worker)
    assert act(gig, gig.owner, copy, "recycle").ok()["requeued"] is False
    act(gig, worker, copy, "proof").refused(410, "claim_lost")
    assert poll(gig, worker) == []
    assert claim(gig, other) != copy
