"""Whatever gets lost on the way, the stored bytes are sent again and the chain decides."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from engine.chain.client import Broadcast, Chain
from engine.chain.errors import ChainUnavailable
from tests.chain.sending import CONFIRMATIONS, Lossy, Sending
from tests.world import at_once


def _ends_well(sending: Sending, intent: str = "one") -> None:
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    assert sending.row(intent).status == "succeeded"
    assert sending.chain.eth_balance_wei(sending.someone) == 1
    assert len(sending.attempts(intent)) == 1


@pytest.mark.rule("Y-03")
def test_an_answer_that_is_lost_after_the_broadcast_changes_nothing(sending: Sending) -> None:
    with Lossy(sending.url) as front:
        front.lose_answer = {"eth_sendRawTransaction"}
        row = sending.send(chain=Chain(front.url))
        assert front.lost == 1
        assert sending.known(sending.attempts()[0].tx_hash)
        again = sending.send(chain=Chain(front.url))
        assert again.id == row.id
        assert front.lost == 1
    _ends_well(sending)


@pytest.mark.rule("Y-03")
def test_a_broadcast_that_never_arrived_is_made_later_with_the_same_bytes(sending: Sending) -> None:
    with Lossy(sending.url) as front:
        front.lose_request = {"eth_sendRawTransaction"}
        sending.send(chain=Chain(front.url))
    (attempt,) = sending.attempts()
    assert not sending.known(attempt.tx_hash)
    # Its sender may still be about to send it.
    sending.follow()
    assert not sending.known(attempt.tx_hash)
    sending.later(6)
    sending.follow()
    assert sending.known(attempt.tx_hash)
    _ends_well(sending)


@pytest.mark.rule("Y-03")
@pytest.mark.parametrize(
    "answer", ["nonce too low", "already known", "transaction underpriced", "server is busy"]
)
def test_an_error_of_the_node_counts_as_possibly_sent(
    sending: Sending, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    real = Chain.broadcast

    def passes_on(chain: Chain, raw_hex: str) -> Broadcast:
        real(chain, raw_hex)
        return Broadcast(None, answer)

    with monkeypatch.context() as patched:
        patched.setattr(Chain, "broadcast", passes_on)
        row = sending.send()
    assert row.status == "sent"
    _ends_well(sending)


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
def test_a_transaction_that_the_pool_dropped_is_sent_again_with_its_nonce(
    sending: Sending,
) -> None:
    first, second = sending.send("one"), sending.send("two")
    (attempt,) = sending.attempts("one")
    sending.drop(attempt.tx_hash)
    sending.mine()
    assert sending.chain.nonce(sending.key.address) == 0
    sending.later(6)
    sending.follow()
    assert sending.known(attempt.tx_hash)
    sending.mine(1 + CONFIRMATIONS)
    assert sending.follow() == {first.id, second.id}
    assert [row.nonce for row in sending.rows()] == [0, 1]


@pytest.mark.rule("Y-03")
def test_a_node_that_is_away_before_anything_was_stored_leaves_nothing(sending: Sending) -> None:
    for method in ("eth_estimateGas", "eth_getTransactionCount", "eth_getBalance"):
        with Lossy(sending.url) as front:
            front.lose_request = {method}
            with pytest.raises(ChainUnavailable):
                sending.send(chain=Chain(front.url))
    assert sending.rows() == []


@pytest.mark.rule("Y-03")
def test_what_a_killed_process_had_stored_is_sent_by_another(
    sending: Sending, tmp_path: Path
) -> None:
    dying = sending.process(tmp_path / "log", "die", "one")
    assert dying.wait(timeout=60) == -signal.SIGKILL, (tmp_path / "log").read_text()
    (attempt,) = sending.attempts()
    assert not sending.known(attempt.tx_hash)
    sending.later(6)
    sending.follow()
    assert sending.known(attempt.tx_hash)
    sending.mine(1 + CONFIRMATIONS)
    assert sending.follow() == {sending.row().id}
    assert sending.row().status == "succeeded"


@pytest.mark.rule("Y-03")
def test_followers_at_once_end_a_transaction_once(sending: Sending) -> None:
    row = sending.send()
    sending.drop(sending.attempts()[0].tx_hash)
    sending.by_hand(row.nonce)
    sending.mine(1 + CONFIRMATIONS)
    ended = at_once(8, lambda _: sending.follow())
    assert sorted(map(len, ended)) == [0] * 7 + [1]
    assert len(sending.failed) == 1
