"""The owner's view of a whole gig (G-07)."""

from __future__ import annotations

from typing import Any

import pytest

from engine.db import db
from engine.endpoints import Target, disable
from engine.models.delivery import Endpoint
from tests.contract.scene import Scene, all_hold
from tests.contract.test_pages import lists
from tests.world import World, approved_proof

LISTS = ("mailboxes", "proofs", "rollups", "tasks")


@pytest.mark.rule("G-07")
def test_the_dashboard_counts_and_shows_all_of_a_gig_to_its_owner(world: World) -> None:
    gig = world.gig()
    worker = world.worker(gig)
    waiting = world.worker(gig)
    mailbox_id = waiting.mailbox["id"]  # type: ignore[attr-defined]
    gig.owner.patch(f"{gig.path}/mailboxes/{mailbox_id}", {"status": "inactive"})
    approved_proof(world, gig, worker)
    long = world.task(gig, "x" * 10_000)
    worker.post(f"{gig.path}/queue/poll", {"count": 1})
    for _ in range(2):
        world.task(gig)
    world.task(gig, availability="reserved")
    world.task(gig, availability="view_only")
    world.task(gig, draft="true")
    world.task(world.gig(gig.owner))

    shown = gig.owner.get(f"{gig.path}/dashboard")

    assert shown["gig"] == gig.owner.get(gig.path)["gig"]
    counts = shown["counts"]
    tasks = {state: count for state, count in counts["tasks"].items() if count}
    assert tasks == {"approved": 1, "claimed": 1, "queued": 4, "draft": 1}
    assert {**counts["proofs"]} == {
        state: int(state == "approved") for state in counts["proofs"]
    } and "timeout_approved" in counts["proofs"]
    assert counts["mailboxes"] == {"active": 1, "inactive": 1, "pending_approval": 0}
    assert set(counts["rollups"].values()) == {0}
    assert (counts["queued"], counts["reserved"], counts["drafts"]) == (2, 2, 1)
    assert [len(shown[name]) for name in LISTS] == [2, 1, 0, 7]
    newest = [task["forwarded_at"] for task in shown["tasks"]]
    assert newest == sorted(newest, reverse=True)
    (held,) = [task for task in shown["tasks"] if task["status"] == "claimed"]
    assert held["id"] == long and held["payload_truncated"]
    assert held["mailbox_id"] == worker.mailbox["id"]  # type: ignore[attr-defined]
    assert shown["next"] == {f"{name}_cursor": None for name in LISTS}
    assert shown["endpoints_disabled"] == []


@pytest.mark.rule("G-07")
@pytest.mark.rule("H-06")
def test_each_list_of_the_dashboard_goes_on_by_its_own_cursor(world: World) -> None:
    scene = Scene.of(world)
    known = lists(scene)
    makers = {
        "mailboxes": known["mailboxes.of_gig"].add,
        "proofs": known["reviews.list_proofs"].add,
        "rollups": known["funds.list_rollups"].add,
        "tasks": known["queues.queue"].add,
    }
    db.write(lambda: [add() for add in makers.values() for _ in range(25)])
    path = f"{scene.gig.path}/dashboard"
    first = scene.owner.get(f"{path}?limit=7")

    def walks(name: str) -> None:
        seen, cursor = [row["id"] for row in first[name]], first["next"][f"{name}_cursor"]
        while cursor is not None:
            page = scene.owner.get(f"{path}?limit=7&{name}_cursor={cursor}")
            # The others are where they were.
            for other in set(LISTS) - {name}:
                assert [row["id"] for row in page[other]] == [row["id"] for row in first[other]]
            assert len(page[name]) == 7 or page["next"][f"{name}_cursor"] is None
            seen += [row["id"] for row in page[name]]
            cursor = page["next"][f"{name}_cursor"]
        assert len(seen) == len(set(seen)) == sum(first["counts"][name].values()) >= 25

    all_hold(LISTS, walks)
    # A cursor is its list's alone.
    for name in LISTS:
        for other in set(LISTS) - {name}:
            query = f"{name}_cursor={first['next'][f'{other}_cursor']}"
            told = scene.owner.call("GET", f"{path}?{query}").refused(400)
            assert list(told["errors"]) == [f"{name}_cursor"]
        bad: list[Any] = ["", "x", "0"]
        for text in bad:
            told = scene.owner.call("GET", f"{path}?{name}_cursor={text}").refused(400)
            assert list(told["errors"]) == [f"{name}_cursor"]
    for limit in ("0", "201", "x"):
        told = scene.owner.call("GET", f"{path}?limit={limit}").refused(400)
        assert list(told["errors"]) == ["limit"]


@pytest.mark.rule("G-07")
@pytest.mark.rule("W-06")
@pytest.mark.rule("M-02")
def test_webhooks_that_are_disabled_are_shown_and_a_workers_are_not(world: World) -> None:
    url = "http://127.0.0.1:9/"
    gig = world.gig(proof_webhook_url=url, join_webhook_url=url)
    world.worker(gig, events_webhook_url=url + "of-the-worker")

    def off() -> None:
        for endpoint in Endpoint.select():
            if endpoint.kind != "gig.joins":
                disable(Target(endpoint.id, endpoint.url, ()), "gone")

    db.write(off)
    shown = gig.owner.get(f"{gig.path}/dashboard")
    (row,) = shown["endpoints_disabled"]
    assert (row["kind"], row["reason"], row["url"]) == ("gig.proofs", "gone", url)
    assert "of-the-worker" not in str(shown)
    # One whose URL the owner took away is no trouble.
    gig.owner.patch(gig.path, {"proof_webhook_url": None, "join_webhook_url": None})
    assert gig.owner.get(f"{gig.path}/dashboard")["endpoints_disabled"] == []
