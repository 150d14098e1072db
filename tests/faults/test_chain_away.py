"""The chain's node stops, or hangs, while money is under way."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.chain import local
from engine.chain.local import LocalChain
from tests.faults.flow import Miner
from tests.processes import Layout, Stack, Starter
from tests.world import Answer, Gig, Person, approved_proof, eventually

LAYOUTS = {"sqlite": Layout("sqlite"), "postgres": Layout("postgres", 1, 1, 1)}
DAY, HOUR = 86_400, 3600
OVERDUE = 20
NOT_WAITING = {"prefer": "wait=1"}


def _ask_for_money(gig: Gig, wallet_id: str) -> list[Answer]:
    """A deposit and a settlement; each is taken on for later or refused for now."""
    body = {"wallet_alias_id": wallet_id, "amount": "10"}
    answers = [
        gig.owner.call("POST", f"{gig.path}/deposit", body, headers=NOT_WAITING),
        gig.owner.call("POST", f"{gig.path}/rollups", headers=NOT_WAITING),
    ]
    for answer in answers:
        if answer.status != 202:
            answer.refused(503, "chain_unavailable")
            assert int(answer.headers["retry-after"]) > 0
    return answers


def _earned(stack: Stack, worker: Person) -> int:
    return stack.usdc_units(worker.mailbox["wallet_address"])  # type: ignore[attr-defined]


def _funds(gig: Gig) -> float:
    return float(gig.owner.get(gig.path)["gig"]["available_funds"])


@pytest.mark.rule("H-13")
@pytest.mark.rule("Y-02")
@pytest.mark.parametrize("name", LAYOUTS)
def test_work_goes_on_without_the_chain_and_is_paid_by_itself_once_it_is_back(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    stack = start_stack(LAYOUTS[name], chain, CHAIN_TIMEOUT_SECONDS="2")
    gig = stack.gig(price="2", review_timeout=-1)
    first, second = stack.worker(gig), stack.worker(gig)
    wallet_id = stack.funded_wallet(gig.owner)
    with Miner(stack):
        gig.owner.post(f"{gig.path}/deposit", {"wallet_alias_id": wallet_id, "amount": "50"})
    assert stack.call("GET", "/health").ok()["chain"]["chain_id"] == chain.chain_id
    approved_proof(stack, gig, first)
    under_way = gig.owner.call("POST", f"{gig.path}/rollups", headers={"prefer": "wait=0"})
    assert under_way.status == 202

    local.stop(chain.data_dir)

    eventually(lambda: stack.call("GET", "/health").ok()["chain"] is None, 30, "no chain")
    approved_proof(stack, gig, second)
    assert _funds(gig) > 0
    wallet = gig.owner.call("GET", f"/wallets/{wallet_id}/balances")
    wallet.refused(503, "chain_unavailable")
    asked = _ask_for_money(gig, wallet_id)
    # The day's settlement rings while there is no chain.
    stack.advance(DAY)
    eventually(lambda: _tried(stack), 30, "the settlement was tried")

    local.ensure(chain.data_dir)

    with Miner(stack):
        eventually(lambda: _earned(stack, first) == 2_000_000, 90, "the first is paid")
        eventually(lambda: _earned(stack, second) == 2_000_000, 90, "the second is paid")
        eventually(lambda: _all_paid(stack, gig), 60, "and the books know")
        taken_on = [answer.json["command_id"] for answer in asked if answer.status == 202]
        eventually(lambda: all(_done(gig, one) for one in taken_on), 60, "what was taken on is")
        assert stack.call("GET", "/health").ok()["chain"]["chain_id"] == chain.chain_id
    stack.audit()
    assert stack.complaints() == []


@pytest.mark.rule("H-13")
def test_an_install_starts_and_takes_work_while_its_chain_is_away(
    start_stack: Starter, chain: LocalChain
) -> None:
    local.stop(chain.data_dir)

    stack = start_stack(LAYOUTS["postgres"], chain, STAGE="staging")

    gig = stack.gig(price="2")
    body = {"task_identifier": stack.task(gig), "proofs": ["done"]}
    stack.worker(gig).post(f"{gig.path}/proofs", body)
    assert stack.call("GET", "/health").ok()["chain"] is None
    eventually(lambda: stack.call("GET", "/ready").status == 200, 30, "it is ready")
    assert stack.call("GET", "/ready").ok()["checks"]["chain"] == "does not answer"
    local.ensure(chain.data_dir)
    eventually(lambda: stack.call("GET", "/ready").ok()["checks"]["chain"] == "ok", 30, "the chain")
    assert stack.complaints() == []


def _tried(stack: Stack) -> bool:
    """Did the scheduler's settlement meet the dead chain?"""
    rows = stack.rows("SELECT status FROM command WHERE account_id IS NULL AND kind = 'gig.settle'")
    return any(status in ("waiting", "failed") for (status,) in rows)


def _done(gig: Gig, command_id: str) -> bool:
    state = gig.owner.get(f"/commands/{command_id}")
    assert state["status"] != "failed", state
    return bool(state["status"] == "done")


def _all_paid(stack: Stack, gig: Gig) -> bool:
    proofs = stack.pages(gig.owner, gig, "proofs")
    return all(proof["paid_out_at"] is not None for proof in proofs)


@contextmanager
def _hung(chain: LocalChain) -> Iterator[None]:
    """It takes connections and never answers."""
    os.kill(chain.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(chain.pid, signal.SIGCONT)


@pytest.mark.rule("H-13")
@pytest.mark.rule("R-05")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_chain_that_hangs_holds_up_neither_requests_nor_timed_work(
    start_stack: Starter, chain: LocalChain, name: str
) -> None:
    # So long that whatever waits for the chain waits for the whole test.
    stack = start_stack(LAYOUTS[name], chain, CHAIN_TIMEOUT_SECONDS="60", WORKER_THREADS="2")
    gig = stack.gig(price="2", review_timeout=HOUR)
    worker = stack.worker(gig)
    wallet_id = stack.funded_wallet(gig.owner)
    with Miner(stack):
        gig.owner.post(f"{gig.path}/deposit", {"wallet_alias_id": wallet_id, "amount": "100"})
    approved_proof(stack, gig, worker)

    with _hung(chain):
        patient = threading.Thread(
            target=lambda: gig.owner.call("GET", f"/wallets/{wallet_id}/balances")
        )
        patient.start()
        for _ in range(3):
            for answer in _ask_for_money(gig, wallet_id):
                assert answer.status == 202
        for _ in range(OVERDUE):
            body = {"task_identifier": stack.task(gig), "proofs": ["done"]}
            worker.post(f"{gig.path}/proofs", body)
            stack.call("GET", "/health").ok()
            gig.owner.get(gig.path)
        stack.advance(HOUR + 1)
        eventually(lambda: _approved(stack, gig) == OVERDUE + 1, 50, "the overdue are approved")
        assert patient.is_alive(), "the chain has given up before; this proves nothing"

    with Miner(stack):
        patient.join()
        stack.advance(DAY)
        eventually(lambda: _earned(stack, worker) == (OVERDUE + 1) * 2_000_000, 120, "all is paid")
        eventually(lambda: _all_paid(stack, gig), 60, "and the books know")
    stack.audit()
    assert stack.complaints() == []


def _approved(stack: Stack, gig: Gig) -> int:
    return len(stack.events(gig, "proof.approved"))
