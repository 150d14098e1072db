"""Keyed requests that are repeated until they are answered, while everything is killed."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest

from tests.processes import SQLITE, Broken, Layout, Stack, Starter
from tests.world import Gig, Person

LAYOUTS = {"sqlite": SQLITE, "postgres": Layout("postgres", serve=2)}
KILLS = [
    pytest.param(3, id="3-kills"),
    pytest.param(40, id="40-kills", marks=pytest.mark.soak),
]


class Client(threading.Thread):
    """Makes gigs, sends tasks and takes them, each under a key of its own, until it is stopped."""

    def __init__(self, stack: Stack, gig: Gig, worker: Person, name: str) -> None:
        super().__init__(daemon=True)
        self.stack, self.gig, self.worker, self.prefix = stack, gig, worker, name
        self.stop = threading.Event()
        self.gigs: list[str] = []
        self.sent: list[str] = []
        self.taken: list[str] = []
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            number = 0
            while not self.stop.is_set():
                number += 1
                self._round(f"{self.prefix}-{number}")
        except BaseException as error:
            self.error = error

    def _round(self, key: str) -> None:
        made = self._until_answered(self.gig.owner, "/gigs", {"title": key}, key)
        self.gigs.append(made["gig"]["id"])
        path = f"/inbound/webhook/{self.gig.id}?token={self.gig.token}"
        self.sent.append(self._until_answered(None, path, {"order": key}, key)["message_id"])
        polled = self._until_answered(self.worker, f"{self.gig.path}/queue/poll", {"count": 1}, key)
        self.taken += [task["id"] for task in polled["tasks"]]

    def _until_answered(self, person: Person | None, path: str, body: Any, key: str) -> Any:
        while True:
            headers = {"idempotency-key": key}
            try:
                answer = (person or self.stack).call("POST", path, body, headers=headers)
            except Broken:
                time.sleep(0.05)
                continue
            if answer.status == 409 and answer.json["reason"] == "in_progress":
                time.sleep(0.05)
                continue
            return answer.ok()


@pytest.mark.case("F13")
@pytest.mark.rule("H-07")
@pytest.mark.parametrize("kills", KILLS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_whatever_is_killed_when_each_key_has_one_effect(
    start_stack: Starter, name: str, kills: int
) -> None:
    seed = random.SystemRandom().randrange(10**9)
    dice = random.Random(seed)
    print("seed", seed)
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    clients = [Client(stack, gig, stack.worker(gig), f"client-{n}") for n in range(4)]
    for client in clients:
        client.start()

    for _ in range(kills):
        time.sleep(dice.uniform(0.1, 1.2))
        stack.restart()
    time.sleep(0.3)
    for client in clients:
        client.stop.set()
    for client in clients:
        client.join(60)

    assert [client.error for client in clients if client.error is not None] == []
    made = [one for client in clients for one in client.gigs]
    sent = [one for client in clients for one in client.sent]
    taken = [one for client in clients for one in client.taken]
    assert len(made) > 4 * kills, "nothing was going on"
    told = f"seed {seed}"
    assert sorted(id_ for (id_,) in stack.rows("SELECT id FROM gig")) == sorted([*made, gig.id]), (
        told
    )
    assert sorted(id_ for (id_,) in stack.rows("SELECT id FROM task")) == sorted(sent), told
    claimed = stack.rows("SELECT subject_id FROM event WHERE type = 'task.claimed'")
    assert sorted(id_ for (id_,) in claimed) == sorted(taken), told
    assert stack.complaints() == [], told
