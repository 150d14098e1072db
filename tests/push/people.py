"""What the tests of pushing do again and again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine import rows, waiting_delivery, wake
from engine.db import db
from engine.freeing import BELL
from engine.ids import new_id, new_share_token
from engine.models.account import Account
from engine.models.mailbox import Mailbox
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


def crowd(worker: Any, count: int) -> list[str]:
    """So many more workers like this one in his gig, each an account; the ids of their mailboxes.

    Written straight into the database that this process is connected to: joining takes longer.
    """
    with db.reading():
        first = Mailbox.get(Mailbox.id == worker.mailbox["id"])
        account = Account.get(Account.id == first.account_id)
    people = [
        {**rows.values(account), "id": new_id("USER"), "email": f"crowd-{number}-{first.id}@x.test"}
        for number in range(count)
    ]
    places = [
        {
            **rows.values(first),
            "id": new_id("MBX"),
            "account_id": person["id"],
            "share_token": new_share_token(),
            "turn": 0,
        }
        for person in people
    ]
    for person in people:
        del person["number"]
    for begin in range(0, count, 100):
        some = people[begin : begin + 100], places[begin : begin + 100]
        db.write(lambda some=some: (rows.insert(Account, *some[0]), rows.insert(Mailbox, *some[1])))  # type: ignore[misc]
    return [place["id"] for place in places]
