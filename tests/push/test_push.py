"""Pushing tasks to workers (U-01)."""

from __future__ import annotations

import pytest

from tests.world import World


@pytest.mark.rule("U-01")
def test_each_active_mailbox_gets_its_turn(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    workers = [world.worker(gig) for _ in range(3)]
    for number in range(6):
        sent = world.send(gig, f"task {number}").ok()
        assert (sent["status"], sent["targets"], sent["message_ids"]) == (
            "forwarded",
            1,
            [sent["message_id"]],
        )
    for worker in workers:
        held = worker.get(f"/mailboxes/{worker.mailbox['id']}/inbound")["tasks"]
        assert len(held) == 2


@pytest.mark.rule("U-04")
def test_without_an_active_mailbox_a_task_is_dropped(world: World) -> None:
    gig = world.gig(distribution="round_robin")
    sent = world.send(gig).ok()
    assert (sent["status"], sent["reason"]) == ("dropped", "no_active_mailboxes")
