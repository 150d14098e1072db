"""What the token may spend where each worker is pushed a copy (G-04, U-01)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import commands, fan_out, fan_out_steps, turns
from engine.db import db
from jobs import actors
from tests.push.people import change, crowd, inbound, rung, waiting
from tests.world import Gig, World


def _spent(gig: Gig) -> int:
    """What the days' sums say together, in base units."""
    with db.reading():
        rows = db.rows("SELECT sum(count) FROM counter WHERE key LIKE ?", (f"spend:{gig.id}:%",))
    return int(rows[0][0] or 0)


def _held_back(gig: Gig) -> list[Any]:
    events = gig.owner.get(f"{gig.path}/events?limit=100")["events"]
    return [one["data"] for one in events if one["type"] == fan_out.TOO_MUCH]


@pytest.fixture(params=["at once", "by a command"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "by a command":
        monkeypatch.setattr(fan_out, "INLINE", 2)
        monkeypatch.setattr(fan_out_steps, "CHUNK", 3)
    way: str = request.param
    return way


@pytest.mark.rule("G-04")
def test_those_who_join_later_are_given_no_more_copies_than_a_day_allows(
    world: World, way: str
) -> None:
    gig = world.gig(distribution="free_for_all", price="2", webhook_daily_spend="9")
    later = world.call("GET", "/health").ok()["timestamp"]
    sent = world.send(gig, not_before=later.replace(later[:4], str(int(later[:4]) + 1), 1)).ok()
    assert _spent(gig) == 2_000_000
    worker = world.worker(gig)
    crowd(worker, 6)
    with db.reading():
        db.write(lambda: db.rows("UPDATE task SET not_before = 1"))
    with rung(world):
        actors.JOBS["sweep"]()
        _run_all()
    with db.reading():
        made = db.rows("SELECT count(*) FROM task WHERE source_task_id = ?", (sent["message_id"],))
    assert made == [(4,)] and _spent(gig) == 8_000_000
    (told,) = _held_back(gig)
    assert told == {
        "message_id": sent["message_id"],
        "reason": "over_daily_spend",
        "targets": 4,
    }
    assert waiting(gig) == []


def _run_all() -> None:
    commands._handlers.setdefault(fan_out.KIND, fan_out_steps.step)
    with db.reading():
        ids = [row[0] for row in db.rows("SELECT id FROM command WHERE status = 'pending'")]
    for command_id in ids:
        commands.run(command_id)


@pytest.mark.rule("G-04")
def test_only_who_is_given_a_copy_counts_and_each_account_once(world: World, way: str) -> None:
    gig = world.gig(distribution="free_for_all", price="1", webhook_daily_spend="10")
    workers = [world.worker(gig) for _ in range(5)]
    for _ in range(2):
        workers[0].post(f"{gig.path}/mailboxes", {"invite": gig.invite, "new": True})
    for worker in workers[1:]:
        change(worker, gig, filter_tags=["other"])
    for number in range(5):
        world.call(
            "POST",
            f"/inbound/webhook/{gig.id}?token={gig.token}",
            raw=b"work",
            headers={"prefer": "wait=0", "content-type": "text/plain"},
        )
        _run_all()
        assert len(inbound(workers[0])) == number + 1 and _spent(gig) == (number + 1) * 1_000_000
    assert _held_back(gig) == []


@pytest.mark.rule("G-04")
def test_what_is_dropped_gives_back_what_was_counted_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = world.gig(distribution="free_for_all", price="1", webhook_daily_spend="10")
    worker = world.worker(gig)
    change(worker, gig, filter_tags=["other"])
    take = turns.take

    def join_first(gig_id: str) -> int:
        crowd(worker, 2)
        return take(gig_id)

    monkeypatch.setattr(turns, "take", join_first)
    assert world.send(gig).ok()["status"] == "dropped"
    assert _spent(gig) == 0


@pytest.mark.rule("G-04")
def test_a_raise_of_the_owners_is_within_the_limit_too_or_waits_for_another_day(
    world: World,
) -> None:
    gig = world.gig(distribution="free_for_all", price="2", webhook_daily_spend="9")
    worker, other = world.worker(gig), world.worker(gig)
    for one in (worker, other):
        change(one, gig, paused=True)
    task_id = world.task(gig)
    gig.owner.patch(f"{gig.path}/tasks/{task_id}/price", {"price": "8"})
    with rung(world):
        change(worker, gig, paused=False)
        assert waiting(gig) == [task_id] and _spent(gig) == 4_000_000
        world.call("POST", "/dev/clock/advance", {"seconds": 86_400}).ok()
        actors.JOBS["sweep"]()
        assert len(inbound(worker)) == 1 and waiting(gig) == []
