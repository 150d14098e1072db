"""Many who send for one signer: threads, processes, the same intent twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.chain import sender
from engine.models.chain import ChainTransaction
from tests.chain.sending import CONFIRMATIONS, Sending
from tests.world import at_once, eventually

PROCESSES = 4


@contextmanager
def _mining(sending: Sending) -> Iterator[None]:
    stop = threading.Event()

    def mine() -> None:
        while not stop.wait(0.05):
            sending.mine()

    thread = threading.Thread(target=mine)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _run(sending: Sending, log: Path, *words: tuple[str, ...]) -> None:
    running = [sending.process(log, *one) for one in words]
    ended = [process.wait(timeout=240) for process in running]
    assert ended == [0] * len(words), log.read_text()


def _all_end(sending: Sending) -> list[ChainTransaction]:
    def settled() -> bool:
        sending.follow()
        time.sleep(0.05)
        return not sender.has_open()

    eventually(settled, 120, "all are final")
    return sending.rows()


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
@pytest.mark.parametrize("each", [10, pytest.param(50, id="200-sends", marks=pytest.mark.soak)])
def test_four_processes_send_for_one_signer_and_lose_nothing(
    sending: Sending, tmp_path: Path, each: int
) -> None:
    with _mining(sending):
        _run(
            sending,
            tmp_path / "log",
            *(("send", f"process-{n}", str(each)) for n in range(PROCESSES)),
        )
        rows = _all_end(sending)
    assert [row.nonce for row in rows] == list(range(PROCESSES * each))
    assert {row.status for row in rows} == {"succeeded"}
    wanted = {f"process-{n}:{number}" for n in range(PROCESSES) for number in range(each)}
    assert {row.intent for row in rows} == wanted
    assert sending.chain.nonce(sending.key.address) == PROCESSES * each
    assert len({row.tx_hash for row in rows}) == PROCESSES * each


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
def test_two_processes_with_the_same_intents_send_each_once(
    sending: Sending, tmp_path: Path
) -> None:
    with _mining(sending):
        _run(sending, tmp_path / "log", ("send", "same", "20"), ("send", "same", "20"))
        rows = _all_end(sending)
    assert [row.nonce for row in rows] == list(range(20))
    assert sorted(row.intent for row in rows) == sorted(f"same:{n}" for n in range(20))
    assert sending.chain.nonce(sending.key.address) == 20


@pytest.mark.rule("Y-03")
def test_threads_with_the_same_intent_send_it_once(sending: Sending) -> None:
    stored: list[str] = []
    sent = at_once(8, lambda _: sending.send(stored=lambda row: stored.append(row.id)))
    assert len({row.id for row in sent}) == 1
    assert set(stored) == {sent[0].id}
    assert len(sending.attempts()) == 1
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    assert sending.row().status == "succeeded"
    assert sending.chain.eth_balance_wei(sending.someone) == 1


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
def test_many_may_be_on_their_way_while_single_ones_are_dropped(sending: Sending) -> None:
    at_once(12, lambda number: sending.send(f"many-{number}"))
    rows = sending.rows()
    assert [row.nonce for row in rows] == list(range(12))
    for row in rows[3::4]:
        sending.drop(sending.attempts(row.intent)[0].tx_hash)
    with _mining(sending):
        sending.later(6)
        _all_end(sending)
    assert {row.status for row in sending.rows()} == {"succeeded"}
    assert sending.chain.eth_balance_wei(sending.someone) == 12


@pytest.mark.rule("Y-03")
def test_what_fails_beside_the_signature_takes_it_along(sending: Sending) -> None:
    """The caller's own row could not be written, so nothing was signed and no nonce is spent."""

    def refuse(_: ChainTransaction) -> None:
        raise LookupError("no such rollup")

    with pytest.raises(LookupError):
        sending.send(stored=refuse)
    assert sending.rows() == []
    assert sending.send().nonce == 0
