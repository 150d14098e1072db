"""A transaction that no block takes is signed again for its nonce, with higher fees."""

from __future__ import annotations

from itertools import pairwise

import pytest
from structlog.testing import capture_logs

from engine.chain import outbox, repair, sender
from engine.chain.client import Chain
from engine.chain.errors import ChainUnavailable, FeesTooHigh
from engine.chain.fees import Bid, Market, higher_bid
from engine.models.chain import ChainAttempt
from tests.chain.sending import CONFIRMATIONS, GWEI, Sending
from tests.world import at_once


def _fees(attempt: ChainAttempt) -> tuple[int, int]:
    return int(attempt.max_fee_wei), int(attempt.priority_fee_wei)


def _unanswered(*_: object) -> None:
    raise ChainUnavailable("nobody is there")


def _stuck(sending: Sending, seconds: int = 61) -> None:
    """Time passes, and blocks that leave it lying."""
    sending.mine(2)
    sending.later(seconds)


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
def test_after_a_jump_of_the_base_fee_the_market_is_paid(sending: Sending) -> None:
    sending.send()
    (first,) = sending.attempts()
    sending.base_fee(100)
    _stuck(sending)
    assert sending.receipt() is None
    suggested = sending.chain.fees()
    sending.follow()
    _, second = sending.attempts()
    assert _fees(second) == (suggested[0], max(suggested[1], -(-_fees(first)[1] * 115 // 100)))
    assert sending.known(second.tx_hash)
    sending.mine(1 + CONFIRMATIONS)
    assert sending.follow() == {sending.row().id}
    row = sending.row()
    assert (row.status, row.tx_hash, row.nonce) == ("succeeded", second.tx_hash, 0)
    assert sender.hash_of(row) == second.tx_hash
    assert sending.chain.eth_balance_wei(sending.someone) == 1


def test_each_raise_is_fifteen_percent_rounded_up_at_least(sending: Sending) -> None:
    with sending.held_back() as raws:
        sending.send()
        raws.clear()
    (first,) = sending.attempts()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Chain, "broadcast", _unanswered)
        for count in (2, 3):
            _stuck(sending)
            sending.follow()
            assert len(sending.attempts()) == count
    bids = [_fees(one) for one in sending.attempts()]
    assert bids[0] == _fees(first)
    for old, new in pairwise(bids):
        assert new == tuple(-(-wei * 115 // 100) for wei in old)


@pytest.mark.parametrize(
    ("old", "market", "new"),
    [
        (Bid(100, 10), Market(10, 1), Bid(115, 12)),
        (Bid(101, 11), Market(10, 1), Bid(117, 13)),
        (Bid(100, 10), Market(500, 30), Bid(1030, 30)),
        (Bid(0, 0), Market(7, 0), Bid(14, 0)),
        # The market is above the ceiling of 500 gwei: as much as is allowed.
        (Bid(100 * GWEI, 10), Market(400 * GWEI, 1), Bid(500 * GWEI, 12)),
        (Bid(434 * GWEI, 10), Market(1, 1), Bid(499_100_000_000, 12)),
        (Bid(435 * GWEI, 10), Market(1, 1), None),
        (Bid(500 * GWEI, 10), Market(400 * GWEI, 1), None),
        # A tip is never more than the whole.
        (Bid(400 * GWEI, 400 * GWEI), Market(1, 600 * GWEI), Bid(500 * GWEI, 500 * GWEI)),
    ],
)
def test_a_raise_is_what_nodes_ask_for_or_the_market_and_never_above_the_ceiling(
    sending: Sending, old: Bid, market: Market, new: Bid | None
) -> None:
    assert higher_bid(old, market) == new


@pytest.mark.rule("Y-03")
def test_it_waits_before_it_raises_and_while_the_chain_stands_still(sending: Sending) -> None:
    sending.send()
    sending.base_fee(100)
    _stuck(sending, 50)
    sending.follow()
    assert len(sending.attempts()) == 1
    sending.later(11)
    sending.follow()
    assert len(sending.attempts()) == 2
    # No block since: it was left lying by none, however late it is.
    sending.later(600)
    sending.follow()
    assert len(sending.attempts()) == 2


@pytest.mark.rule("Y-03")
def test_the_original_may_win_against_its_replacement(sending: Sending) -> None:
    sending.send()
    sending.base_fee(100)
    _stuck(sending)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Chain, "broadcast", _unanswered)
        sending.follow()
    first, second = sending.attempts()
    sending.base_fee(1)
    assert sending.chain.broadcast(first.raw_hex).error is None
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    row = sending.row()
    assert (row.status, row.tx_hash) == ("succeeded", first.tx_hash)
    assert sender.hash_of(row) == first.tx_hash != second.tx_hash


@pytest.mark.rule("Y-03")
def test_at_the_ceiling_it_waits_and_says_so(sending: Sending) -> None:
    sending.configure(MAX_FEE_GWEI="120")
    sending.send()
    sending.base_fee(200)
    _stuck(sending)
    sending.follow()
    _, second = sending.attempts()
    assert int(second.max_fee_wei) == 120 * GWEI
    sending.base_fee(400)
    _stuck(sending)
    with capture_logs() as logs:
        sending.follow()
    assert len(sending.attempts()) == 2
    assert [one["log_level"] for one in logs if one["event"] == "chain.fee_at_ceiling"] == [
        "warning"
    ]
    # Gas is cheap again.
    sending.base_fee(10)
    sending.follow()
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    assert sending.row().tx_hash == second.tx_hash


@pytest.mark.rule("Y-03")
def test_while_gas_is_too_dear_nothing_new_is_begun(sending: Sending) -> None:
    sending.configure(MAX_FEE_GWEI="50")
    sending.base_fee(100)
    with pytest.raises(FeesTooHigh, match="MUSTER_MAX_FEE_GWEI allows 50"):
        sending.send()
    assert sending.rows() == []
    sending.base_fee(30)
    sending.send()
    assert _fees(sending.attempts()[0])[0] <= 50 * GWEI


@pytest.mark.rule("Y-03")
def test_of_many_who_raise_at_once_one_does(sending: Sending) -> None:
    sending.send()
    (old,) = sending.attempts()
    bids = [Bid(10**11 + number, 10**9) for number in range(8)]
    made = at_once(
        8, lambda number: repair.raise_fee(sending.chain, sending.key, old, bids[number], 1)
    )
    assert len([one for one in made if one is not None]) == 1
    assert len(sending.attempts()) == 2
    sending.base_fee(300)
    _stuck(sending)
    at_once(6, lambda _: sending.follow())
    assert len(sending.attempts()) == 3


@pytest.mark.rule("Y-03")
def test_behind_the_lowest_only_what_is_too_cheap_is_raised(sending: Sending) -> None:
    for intent in ("lowest", "cheap"):
        sending.send(intent)
    sending.base_fee(100)
    sending.send("dear")
    sending.mine(2)
    _stuck(sending)
    sending.follow()
    counts = {intent: len(sending.attempts(intent)) for intent in ("lowest", "cheap", "dear")}
    assert counts == {"lowest": 2, "cheap": 2, "dear": 1}
    sending.mine(1 + CONFIRMATIONS)
    assert len(sending.follow()) == 3
    assert [row.status for row in sending.rows()] == ["succeeded"] * 3


@pytest.mark.rule("Y-03")
def test_no_raise_is_stored_that_the_signer_cannot_pay(sending: Sending) -> None:
    sending.send()
    sending.base_fee(100)
    _stuck(sending)
    sending.fund(sending.key.address, 21_000 * 4 * GWEI)
    with capture_logs() as logs:
        sending.follow()
    assert "signer.gas_low" in {one["event"] for one in logs}
    assert len(sending.attempts()) == 1
    sending.fund(sending.key.address)
    sending.follow()
    assert len(sending.attempts()) == 2


@pytest.mark.rule("Y-03")
def test_a_signer_whose_key_was_taken_away_is_still_heard_of(sending: Sending) -> None:
    row = sending.send()
    sending.base_fee(100)
    _stuck(sending)
    sending.configure(OPERATOR_KEY=sending.refunder.private_key)
    with capture_logs() as logs:
        sending.follow()
    assert "signer.key_missing" in {one["event"] for one in logs}
    assert sending.key.private_key not in repr(logs)
    assert len(outbox.attempts(row.id)) == 1
    sending.base_fee(1)
    sending.follow()
    sending.mine(1 + CONFIRMATIONS)
    assert sending.follow() == {row.id}
