"""A transaction has ended when a final, canonical receipt says so, and not before."""

from __future__ import annotations

import pytest

from engine.chain import confirmer, sender
from engine.chain.abi import artifact
from engine.chain.client import Call, Chain, Receipt
from engine.chain.errors import CallReverted, NodeRefused
from engine.db import db
from tests.chain.sending import CONFIRMATIONS, Sending


@pytest.mark.rule("Y-03")
def test_a_transaction_has_ended_only_when_it_is_deep_enough(sending: Sending) -> None:
    sending.send()
    assert sending.row().status == "sent"
    for _ in range(CONFIRMATIONS):
        sending.mine()
        assert sending.follow() == set()
        assert sending.row().status == "sent"
    sending.mine()
    row = sending.row()
    assert sending.follow() == {row.id}
    row, receipt = sending.row(), sending.receipt()
    assert receipt is not None
    assert row.status == "succeeded"
    assert (row.block_number, row.block_hash) == (receipt.block_number, receipt.block_hash)
    assert row.block_hash == sending.chain.block(receipt.block_number).hash
    assert sender.hash_of(row) == receipt.tx_hash
    assert row.failure is None
    assert not sender.has_open()
    assert sending.follow() == set()
    assert sending.failed == []


@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
def test_a_receipt_of_a_block_that_is_no_longer_the_chains_counts_for_nothing(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a node that still remembers a block of the branch that lost."""
    sending.send()
    sending.mine(1 + CONFIRMATIONS)
    real = Chain.receipt

    def stale(chain: Chain, tx_hash: str) -> Receipt | None:
        receipt = real(chain, tx_hash)
        assert receipt is not None
        return Receipt(**{**vars(receipt), "block_hash": "0x" + "ab" * 32})

    with monkeypatch.context() as patched:
        patched.setattr(Chain, "receipt", stale)
        assert sending.follow() == set()
        assert sending.row().status == "sent"
    assert len(sending.follow()) == 1
    assert sending.row().status == "succeeded"


@pytest.mark.rule("Y-03")
@pytest.mark.case("F27")
def test_what_was_mined_but_refused_has_failed_with_the_contracts_reason(sending: Sending) -> None:
    token, usdc = sending.token(), artifact("MockUSDC")
    everything = Call(token, usdc.encode("transfer", [sending.someone, 100]))
    # Both pass the estimate; the second one finds nothing left.
    with sending.held_back():
        sending.send("first", everything)
        sending.send("second", everything)
    sending.mine(1 + CONFIRMATIONS)
    assert len(sending.follow()) == 2
    assert sending.row("first").status == "succeeded"
    row, receipt = sending.row("second"), sending.receipt("second")
    assert receipt is not None
    assert receipt.status == 0
    reason = "The transaction was mined but refused: "
    reason += f"{sending.key.address} holds 0 base units; 100 are needed."
    assert (row.status, row.failure) == ("reverted", reason)
    assert (row.block_number, row.block_hash) == (receipt.block_number, receipt.block_hash)
    assert sending.failed == [("second", "reverted", reason)]
    assert sending.chain.nonce(sending.key.address) == row.nonce + 1


@pytest.mark.case("F27")
def test_a_node_without_old_states_leaves_a_plain_sentence(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, usdc = sending.token(), artifact("MockUSDC")
    everything = Call(token, usdc.encode("transfer", [sending.someone, 100]))
    with sending.held_back():
        sending.send("first", everything)
        sending.send("second", everything)
    sending.mine(1 + CONFIRMATIONS)

    def pruned(*_: object, **__: object) -> bytes:
        raise NodeRefused(-32000, "missing trie node")

    monkeypatch.setattr(Chain, "call", pruned)
    sending.follow()
    assert sending.failed == [("second", "reverted", confirmer.UNEXPLAINED)]


@pytest.mark.case("F27")
def test_a_transaction_that_ran_out_of_gas_says_so(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, usdc = sending.token(), artifact("MockUSDC")
    call = Call(token, usdc.encode("transfer", [sending.someone, 1]))
    with monkeypatch.context() as patched:
        patched.setattr(Chain, "estimate_gas", lambda *_: 25_000)
        sending.send("starved", call)
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    reason = "The transaction was mined but ran out of gas; its limit was 30000."
    assert sending.failed == [("starved", "reverted", reason)]


@pytest.mark.rule("Y-03")
def test_a_call_that_would_be_refused_costs_no_nonce(sending: Sending) -> None:
    token, usdc = sending.token(), artifact("MockUSDC")
    before = len(sending.rows())
    with pytest.raises(CallReverted, match="holds 100 base units; 101 are needed"):
        sending.send("much", Call(token, usdc.encode("transfer", [sending.someone, 101])))
    assert sender.find("much") is None
    assert len(sending.rows()) == before
    assert sending.send("next").nonce == before


@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
@pytest.mark.parametrize("depth", [1, 3, 10])
def test_what_a_reorg_took_back_is_mined_again_with_the_same_bytes(
    sending: Sending, depth: int
) -> None:
    sending.mine(2)
    sending.send()
    sending.mine(depth)
    assert sending.receipt() is not None
    sending.reorg(depth)
    assert sending.receipt() is None
    assert sending.chain.nonce(sending.key.address) == 0
    sending.later(6)
    sending.follow()
    assert len(sending.attempts()) == 1
    sending.mine(1 + CONFIRMATIONS)
    assert len(sending.follow()) == 1
    assert sending.row().status == "succeeded"
    assert sending.chain.nonce(sending.key.address) == 1


@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
@pytest.mark.parametrize("depth", [4, 10])
def test_an_end_that_a_deep_reorg_took_back_is_no_end(sending: Sending, depth: int) -> None:
    token, usdc = sending.token(), artifact("MockUSDC")
    before = sending.chain.block_number()
    all_of_it = Call(token, usdc.encode("transfer", [sending.someone, 100]))
    with sending.held_back():
        sending.send("first", all_of_it)
        sending.send("second", all_of_it)
    sending.mine(depth)
    assert len(sending.follow()) == 2
    statuses = [sending.row(one).status for one in ("mint", "first", "second")]
    assert statuses == ["succeeded", "succeeded", "reverted"]
    ended = {sending.row("first").id, sending.row("second").id}
    sending.reorg(depth)

    assert set(db.write(lambda: sender.unmine(before + 1))) == ended
    assert sending.row("mint").status == "succeeded"
    for intent in ("first", "second"):
        row = sending.row(intent)
        assert (row.status, row.block_number, row.block_hash) == ("sent", None, None)
        assert (row.tx_hash, row.failure, row.finished_at) == (None, None, None)
    sending.later(6)
    assert sending.follow() == set()
    sending.mine(1 + CONFIRMATIONS)
    assert sending.follow() == ended
    assert [sending.row(one).status for one in ("first", "second")] == ["succeeded", "reverted"]
    assert {len(sending.attempts(one)) for one in ("first", "second")} == {1}


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
def test_a_nonce_that_another_transaction_used_for_good_is_replaced(sending: Sending) -> None:
    row = sending.send()
    sending.drop(sending.attempts()[0].tx_hash)
    by_hand = sending.by_hand(row.nonce)
    for _ in range(1 + CONFIRMATIONS):
        assert sending.follow() == set()
        assert sending.row().status == "sent"
        sending.mine()
    won = sending.chain.receipt(by_hand)
    assert won is not None
    sending.mine(5)
    assert sending.follow() == {row.id}
    row = sending.row()
    assert (row.status, row.block_number, row.tx_hash) == ("replaced", won.block_number, None)
    assert sending.failed == [("one", "replaced", f"{confirmer.REPLACED}: {by_hand}.")]
    # Its block can be taken back as well, and then ours is in the race again.
    sending.reorg(6 + CONFIRMATIONS)
    assert db.write(lambda: sender.unmine(won.block_number + 1)) == []
    assert db.write(lambda: sender.unmine(won.block_number)) == [row.id]
    sending.later(6)
    sending.follow()
    sending.mine(1 + CONFIRMATIONS)
    sending.follow()
    assert sending.row().status == "succeeded"


@pytest.mark.rule("Y-03")
@pytest.mark.case("F24")
def test_the_same_call_in_its_place_is_the_same_thing_done(sending: Sending) -> None:
    row = sending.send()
    sending.drop(sending.attempts()[0].tx_hash)
    by_hand = sending.by_hand(row.nonce, wei=1)
    sending.mine(1 + CONFIRMATIONS)
    assert sending.follow() == {row.id}
    row = sending.row()
    assert (row.status, row.tx_hash, sender.hash_of(row)) == ("succeeded", by_hand, by_hand)
    assert sending.failed == []


@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
def test_nothing_ends_on_a_chain_that_was_taken_back_while_it_was_looked_at(
    sending: Sending,
) -> None:
    row = sending.send()
    sending.mine(1 + CONFIRMATIONS)
    final = sending.chain.block_number() - CONFIRMATIONS
    assert sender.follow(sending.chain, final, lambda _: None, lambda: False) == set()
    assert sending.row().status == "sent"
    assert sender.follow(sending.chain, final, lambda _: None, lambda: True) == {row.id}
    assert sending.row().status == "succeeded"


@pytest.mark.rule("Y-03")
def test_a_node_that_has_no_receipt_yet_does_not_make_a_paid_thing_replaced(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = sending.send()
    sending.mine(1 + CONFIRMATIONS)
    with monkeypatch.context() as patched:
        patched.setattr(Chain, "receipt", lambda *_: None)
        assert sending.follow() == set()
    assert sending.row().status == "sent"
    assert sending.failed == []
    assert sending.follow() == {row.id}
    assert sending.row().status == "succeeded"


@pytest.mark.rule("Y-03")
def test_a_node_without_old_states_still_tells_of_a_used_nonce(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending.mine(8)
    row = sending.send()
    sending.drop(sending.attempts()[0].tx_hash)
    sending.by_hand(row.nonce)
    sending.mine(4 + CONFIRMATIONS)
    final = sending.chain.block_number() - CONFIRMATIONS
    real = Chain.nonce

    def pruned(chain: Chain, address: str, block: int | str = "latest") -> int:
        if isinstance(block, int) and block < final:
            raise NodeRefused(-32000, "missing trie node")
        return real(chain, address, block)

    monkeypatch.setattr(Chain, "nonce", pruned)
    assert sending.follow() == {row.id}
    assert (sending.row().status, sending.row().block_number) == ("replaced", final)
    assert sending.failed == [("one", "replaced", f"{confirmer.REPLACED}.")]


@pytest.mark.rule("Y-03")
def test_a_signer_whom_the_node_will_not_answer_for_holds_up_nobody(
    sending: Sending, monkeypatch: pytest.MonkeyPatch
) -> None:
    sending.send("settled")
    sending.send("refunded", key=sending.refunder)
    sending.mine(1 + CONFIRMATIONS)
    real, refused = Chain.nonce, min(sending.key.address, sending.refunder.address)

    def nonce(chain: Chain, address: str, block: int | str = "latest") -> int:
        if address == refused:
            raise NodeRefused(-32000, "no state for this one")
        return real(chain, address, block)

    monkeypatch.setattr(Chain, "nonce", nonce)
    assert len(sending.follow()) == 1
    assert sorted(row.status for row in sending.rows()) == ["sent", "succeeded"]
