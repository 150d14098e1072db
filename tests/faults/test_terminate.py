"""SIGTERM while requests are in hand."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Miner
from tests.processes import Broken, Layout, Stack, Starter
from tests.world import Answer, Gig, approved_proof, eventually

LAYOUTS = {"sqlite": Layout("sqlite"), "postgres": Layout("postgres", 1, 1, 1)}
CLIENTS, ROUNDS = 8, 2


class Client(threading.Thread):
    """Sends tasks one after another and keeps what he was told; stops where he got no answer."""

    def __init__(self, stack: Stack, gig: Gig, name: str) -> None:
        super().__init__(daemon=True)
        self.stack, self.gig, self.prefix = stack, gig, name
        self.told: dict[str, str] = {}
        self.refused: list[str] = []
        self.unsure: str | None = None

    def run(self) -> None:
        while self.unsure is None:
            external_id = f"{self.prefix}-{len(self.told)}"
            try:
                answer = self.stack.send(self.gig, external_id, external_id=external_id)
            except Broken:
                self.unsure = external_id
                return
            if answer.status >= 300:
                self.refused.append(answer.text)
                return
            self.told[external_id] = answer.json["message_id"]


@pytest.mark.rule("T-04")
@pytest.mark.parametrize("name", LAYOUTS)
def test_what_was_answered_before_a_stop_is_there_once_and_the_rest_may_be_repeated(
    start_stack: Starter, name: str
) -> None:
    stack = start_stack(LAYOUTS[name])
    gig = stack.gig()
    sent: dict[str, str] = {}
    for number in range(ROUNDS):
        clients = [Client(stack, gig, f"{number}-{n}") for n in range(CLIENTS)]
        for client in clients:
            client.start()
        while sum(len(client.told) for client in clients) < 10 * CLIENTS:
            time.sleep(0.01)

        codes = stack.terminate()

        for client in clients:
            client.join(60)
        assert set(codes) == {0}
        assert [text for client in clients for text in client.refused] == []
        stack.start()
        for client in clients:
            sent |= client.told
            assert client.unsure is not None
            sent[client.unsure] = stack.task(gig, client.unsure, external_id=client.unsure)

    for external_id, message_id in sent.items():
        assert stack.task(gig, external_id, external_id=external_id) == message_id
    submitted = Counter(event["subject"]["id"] for event in stack.events(gig, "task.submitted"))
    assert submitted == Counter(sent.values())
    assert stack.complaints() == []


@pytest.mark.rule("H-08")
@pytest.mark.parametrize("name", LAYOUTS)
def test_who_waits_for_a_payout_when_the_server_stops_is_told_where_to_look(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    depth = 60
    stack = start_stack(LAYOUTS[name], chain, CONFIRMATIONS=str(depth))
    gig = stack.gig(price="2")
    worker = stack.worker(gig)
    with Miner(stack, blocks=depth):
        stack.fund(gig, "20")
    approved_proof(stack, gig, worker)
    answers: list[Answer] = []

    def settle() -> None:
        answers.append(gig.owner.call("POST", f"{gig.path}/rollups", headers={"prefer": "wait=60"}))

    waiting = threading.Thread(target=settle)
    waiting.start()
    eventually(lambda: stack.rows("SELECT id FROM rollup WHERE status = 'sent'"), 30, "sent")

    assert set(stack.terminate()) == {0}

    waiting.join()
    (answer,) = answers
    assert answer.status == 202
    stack.start()
    with Miner(stack, blocks=depth):
        path = answer.headers["location"].removeprefix("/api")
        eventually(lambda: gig.owner.get(path)["status"] == "done", 60, "it is paid after all")
    assert stack.usdc_units(worker.mailbox["wallet_address"]) == 2_000_000  # type: ignore[attr-defined]
    assert stack.complaints() == []
