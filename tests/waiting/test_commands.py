"""Who waits for a chain waits cheaply, and as long as he says (H-08)."""

from __future__ import annotations

import time

import pytest

from engine.chain.local import LocalChain
from tests.faults.flow import Miner
from tests.processes import Layout, Stack, Starter
from tests.waiting.callers import SOON_SECONDS, Waiting, parked, poll, taken, waiting_poll
from tests.world import Answer, Gig, at_once, eventually

LAYOUTS = {"sqlite": Layout("sqlite"), "postgres": Layout("postgres", 1, 1, 1)}
THREADS, WAITING, ORDINARY = 2, 20, 40
CONFIRMATIONS = 30

pytestmark = pytest.mark.parametrize("name", LAYOUTS)


@pytest.mark.rule("H-08")
def test_many_who_wait_for_a_slow_chain_hold_no_thread_of_the_server(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(
        LAYOUTS[name], chain, CONFIRMATIONS=str(CONFIRMATIONS), SERVER_THREADS=str(THREADS)
    )
    gig = stack.gig()
    worker = stack.worker(gig)
    wallet_id = stack.funded_wallet(gig.owner)
    body = {"wallet_alias_id": wallet_id, "amount": "3"}

    def deposit(prefer: str) -> Answer:
        return gig.owner.call("POST", f"{gig.path}/deposit", body, headers={"prefer": prefer})

    waiting = [Waiting(lambda: deposit("wait=60")) for _ in range(WAITING)]
    waiting.append(waiting_poll(worker, gig, 60))
    parked()

    began = time.monotonic()
    at_once(4, lambda _: [gig.owner.get(gig.path) for _ in range(ORDINARY // 4)])
    assert time.monotonic() - began < 10
    assert not any(one.answered for one in waiting)

    # Who does not want to wait is told at once where to look.
    for prefer, least, most in (("respond-async", 0, 2), ("wait=0", 0, 2), ("wait=1", 0.9, 4)):
        began = time.monotonic()
        told = deposit(prefer)
        assert least <= time.monotonic() - began < most, prefer
        assert told.status == 202
        assert told.headers["location"] == f"/api/commands/{told.json['command_id']}"
        assert told.json["status_url"].endswith(told.headers["location"])
    gig.owner.call("POST", f"{gig.path}/deposit", body, headers={"prefer": "wait=x"}).refused(400)

    sent = stack.task(gig)
    assert taken(waiting.pop().answer()) == [sent]
    with Miner(stack, blocks=CONFIRMATIONS):
        assert {one.answer().status for one in waiting} == {200}
        eventually(lambda: _pot(gig) == 3 * (WAITING + 3), 60, "all deposits are final")
    assert stack.complaints() == []


def _pot(gig: Gig) -> int:
    return int(gig.owner.get(gig.path)["gig"]["available_funds"])


@pytest.mark.rule("H-08")
@pytest.mark.rule("Z-04")
def test_a_server_that_is_told_to_stop_answers_all_who_wait_and_ends(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain, CONFIRMATIONS=str(CONFIRMATIONS))
    gig = stack.gig()
    people = [stack.worker(gig) for _ in range(20)]
    body = {"wallet_alias_id": stack.funded_wallet(gig.owner), "amount": "3"}
    path = f"{gig.path}/deposit"
    headers = {"prefer": "wait=60"}
    polls = [waiting_poll(one, gig, 60) for one in people]
    deposits = [
        Waiting(lambda: gig.owner.call("POST", path, body, headers=headers)) for _ in range(5)
    ]
    eventually(lambda: _deposits(stack) == len(deposits), 20, "all are recorded")
    parked()
    assert not any(one.answered for one in [*polls, *deposits])

    began = time.monotonic()
    assert stack.terminate(stack.serves[0]) == [0]

    assert time.monotonic() - began < 10
    for one in polls:
        assert taken(one.answer(SOON_SECONDS)) == []
    assert {one.answer(SOON_SECONDS).status for one in deposits} == {202}
    stack.start()
    sent = stack.task(gig)
    assert taken(poll(people[0], gig)) == [sent]
    assert stack.complaints() == []


def _deposits(stack: Stack) -> int:
    return int(stack.rows("SELECT count(*) FROM command WHERE kind LIKE '%deposit%'")[0][0])
