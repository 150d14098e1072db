"""Transactions by hand from our key: they shift nonces, and where one disappears no gap stays."""

from __future__ import annotations

import pytest

from engine.chain import repair, sender
from engine.db import db
from engine.models.chain import ChainTransaction
from tests.chain.sending import CONFIRMATIONS, Sending
from tests.world import at_once


def _gaps(sending: Sending) -> list[ChainTransaction]:
    return [row for row in sending.rows() if row.intent.startswith("gap:")]


def _vanished(sending: Sending) -> ChainTransaction:
    """Ours waits behind a transaction by hand that a reorg took away for good."""
    sending.by_hand(0)
    sending.mine()
    row = sending.send()
    assert row.nonce == 1
    sending.reorg(1)
    assert sending.chain.nonce(sending.key.address) == 0
    sending.later(6)
    sending.follow()
    return row


def _all_mined(sending: Sending) -> None:
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    assert {row.status for row in sending.rows()} == {"succeeded"}
    assert not sender.has_open()


@pytest.mark.case("F24")
def test_a_mined_transaction_by_hand_only_shifts_nonces(sending: Sending) -> None:
    assert sending.send("before").nonce == 0
    sending.mine()
    sending.by_hand(1)
    sending.mine()
    assert sending.send("after").nonce == 2
    assert sending.send("later").nonce == 3
    _all_mined(sending)


@pytest.mark.case("F24")
def test_ours_goes_behind_a_transaction_by_hand_that_still_waits(sending: Sending) -> None:
    by_hand = sending.by_hand(0)
    assert sending.send().nonce == 1
    sending.mine()
    assert sending.chain.receipt(by_hand) is not None
    _all_mined(sending)
    assert sending.chain.eth_balance_wei(sending.someone) == 7 + 1


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
def test_a_nonce_that_nobody_uses_is_filled_once_after_a_while(sending: Sending) -> None:
    row = _vanished(sending)
    sending.later(29)
    sending.follow()
    assert _gaps(sending) == []
    sending.mine(2)
    assert sending.receipt() is None
    sending.later(1)
    at_once(6, lambda _: sending.follow())
    (filler,) = _gaps(sending)
    assert (filler.intent, filler.nonce) == (f"gap:{sending.key.address}:0", 0)
    assert (filler.to_address, filler.data) == (sending.key.address, "0x")
    assert len(sending.attempts(filler.intent)) == 1
    _all_mined(sending)
    assert sending.row().id == row.id
    sending.later(100)
    sending.follow()
    assert len(_gaps(sending)) == 1


@pytest.mark.rule("Y-03")
def test_several_free_nonces_are_filled_together(sending: Sending) -> None:
    for nonce in range(3):
        sending.by_hand(nonce)
    sending.mine()
    assert sending.send().nonce == 3
    sending.reorg(1)
    sending.later(6)
    sending.follow()
    sending.later(31)
    sending.follow()
    assert [row.nonce for row in _gaps(sending)] == [0, 1, 2]
    _all_mined(sending)


@pytest.mark.rule("Y-03")
def test_a_filler_that_the_lost_transaction_overtakes_does_no_harm(sending: Sending) -> None:
    _vanished(sending)
    sending.later(31)
    sending.follow()
    (filler,) = _gaps(sending)
    sending.drop(sending.attempts(filler.intent)[0].tx_hash)
    sending.by_hand(0, gwei=60)
    sending.follow()
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    assert sending.row(filler.intent).status == "replaced"
    assert sending.row().status == "succeeded"
    assert [intent for intent, _, _ in sending.failed] == [filler.intent]


@pytest.mark.rule("Y-03")
def test_a_gap_that_closes_by_itself_is_forgotten(sending: Sending) -> None:
    _vanished(sending)
    sending.by_hand(0)
    sending.mine()
    _all_mined(sending)
    assert _gaps(sending) == []
    # Another one later waits its own time.
    sending.by_hand(2)
    sending.mine()
    assert sending.send("two").nonce == 3
    sending.reorg(1)
    sending.later(31)
    sending.follow()
    assert _gaps(sending) == []
    sending.later(31)
    sending.follow()
    assert [row.nonce for row in _gaps(sending)] == [2]
    _all_mined(sending)


@pytest.mark.rule("Y-03")
def test_a_foreign_transaction_in_the_pool_is_given_more_time_and_then_overtaken(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_hand = sending.by_hand(0, gwei=2)
    row = sending.send()
    assert row.nonce == 1
    sending.later(6)
    sending.follow()
    for seconds in (31, 240):
        sending.later(seconds)
        sending.follow()
        assert _gaps(sending) == []
    sending.later(60)
    sending.follow()
    assert [one.nonce for one in _gaps(sending)] == [0]
    _all_mined(sending)
    assert sending.chain.receipt(by_hand) is None


@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
def test_a_nonce_of_ours_that_a_reorg_freed_is_no_gap(sending: Sending) -> None:
    """What ended in it is open again as soon as the books know of the reorg, not before."""
    first = sending.send("first")
    sending.mine(1 + CONFIRMATIONS)
    assert sending.follow() == {first.id}
    sending.send("second")
    sending.reorg(1 + CONFIRMATIONS)
    for _ in range(2):
        sending.later(repair.RESEND_MS // 1000 + 31)
        sending.follow()
    assert _gaps(sending) == []
    assert db.write(lambda: sender.unmine(1)) == [first.id]
    sending.follow()
    _all_mined(sending)
    assert [row.intent for row in sending.rows()] == ["first", "second"]
