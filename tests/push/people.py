"""What the tests of pushing do again and again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine import wake, waiting_delivery
from engine.freeing import BELL
from tests.world import Gig, Person, World


def inbound(worker: Any) -> list[str]:
    """The ids of what a worker has in hand, oldest first."""
    held = worker.get(f"/mailboxes/{worker.mailbox['id']}/inbound")["tasks"]
    return [task["id"] for task in reversed(held)]


def change(worker: Any, gig: Gig, **fields: Any) -> Any:
    """The worker's own settings."""
    return worker.patch(f"{gig.path}/mailboxes/{worker.mailbox['id']}", fields)


def limit(gig: Gig, worker: Any, **fields: Any) -> Any:
    """The owner's settings of a worker's mailbox."""
    return gig.owner.patch(f"{gig.path}/mailboxes/{worker.mailbox['id']}", fields)


def hand_in(worker: Person, gig: Gig, task_id: str) -> str:
    body = {"task_identifier": task_id, "proofs": ["done"]}
    proof_id: str = worker.post(f"{gig.path}/proofs", body)["proof"]["id"]
    return proof_id


def waiting(gig: Gig) -> list[str]:
    return [task["id"] for task in gig.owner.get(f"{gig.path}/queue?limit=100")["tasks"]]


@contextmanager
def rung(world: World) -> Iterator[list[str]]:
    """What is rung for is done at once, without workers; answers the gigs that were rung for."""
    heard: list[str] = []

    def deliver(gig_id: str) -> None:
        heard.append(gig_id)
        waiting_delivery.deliver(gig_id)

    wake.on(BELL, deliver)
    try:
        yield heard
    finally:
        wake.on(BELL, world.runtime.actors.deliver)
