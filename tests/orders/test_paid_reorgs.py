"""What a deep reorg does to orders whose payout and whose refund are both signed (Y-03, Y-05)."""

from __future__ import annotations

import pytest

from engine import clock, order_repair, settlement
from engine.chain import outbox
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.escrow import Escrow
from tests.engine.books import Books
from tests.engine.conftest import books, kept_chain, quiet_chain
from tests.orders.test_undo_reorgs import ROUNDS, funded, go_on, send, states
from tests.orders.undoing import (
    DOLLAR,
    NET_UNITS,
    PRICE,
    PRICE_UNITS,
    address,
    backend,
    deposits,
    rollups_of,
    row,
    told,
    units,
)
from tests.shop import Shop, shop
from tests.world import Person

__all__ = ["backend", "books", "kept_chain", "quiet_chain"]


def refund_past_us(books: Books, escrow: Escrow) -> None:
    assert books.world.chain is not None
    books.send(books.world.chain.refunder_key, books.treasury.refund(escrow.id))


def approved(books: Books) -> tuple[Shop, Person, str, str]:
    place, buyer, task_id = funded(books)
    proof_id = place.deliver(task_id, note="the key")
    place.rule(buyer, proof_id).ok()
    return place, buyer, task_id, proof_id


def sent_again(books: Books) -> tuple[tuple[Shop, Person, str, str], str]:
    """An approved order whose deposit a refund past us has given back, sent again since.

    Its payout is signed; with the snapshot from before the refund a reorg can mine it first.
    """
    order = place, buyer, task_id, _ = approved(books)
    settle = books.snapshot()
    books.settle(place.gig)
    go_on(books)
    books.reorg(settle, blocks=20)
    before = books.snapshot()
    refund_past_us(books, deposits(task_id)[0])
    go_on(books)
    send(place, buyer, task_id)
    go_on(books)
    return order, before


def earned(place: Shop) -> int:
    (mailbox,) = place.vendor.get("/mailboxes/mine")["mailboxes"]
    return place.world.usdc_units(mailbox["wallet_address"])


@pytest.mark.rule("Y-05")
@pytest.mark.rule("O-05")
@pytest.mark.case("F26")
def test_a_payout_that_a_refund_past_us_had_voided_is_a_payout_when_it_is_mined_after_all(
    books: Books,
) -> None:
    place, buyer, task_id, proof_id = approved(books)
    as_it_was, before = row(task_id).__data__, books.snapshot()
    books.settle(place.gig)
    go_on(books)
    assert [one.status for one in rollups_of(task_id)] == ["paid"]
    # On another chain the deposit went back first, and the signed payout is refused.
    books.reorg(before, blocks=20)
    before = books.snapshot()
    refund_past_us(books, deposits(task_id)[0])
    go_on(books)
    assert (row(task_id).status, states(task_id)) == ("withdrawn", ["refunded"])
    assert [(one.status, one.gross_units) for one in rollups_of(task_id)] == [("settled", 0)]
    assert units(place, buyer) == 10 * DOLLAR
    books.fine()
    # And on a third one the payout is the first.
    books.reorg(before, blocks=40)
    go_on(books)
    assert states(task_id) == ["settled"]
    (rollup,) = rollups_of(task_id)
    assert (rollup.status, rollup.gross_units) == ("paid", NET_UNITS)
    assert (earned(place), units(place, buyer)) == (NET_UNITS, 10 * DOLLAR - PRICE_UNITS)
    books.fine()
    # It is the order that it was: approved, paid, and what was held back is open.
    assert {**row(task_id).__data__, "claimed_at": as_it_was["claimed_at"]} == as_it_was
    read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
    assert (read["status"], read["private_note"]) == ("approved", "the key")
    assert (read["paid_out_at"] is not None, read["rejection_tag"]) == (True, None)
    assert told(place, "order.paid_out", task_id)[-1]["proof_id"] == proof_id
    for person in (buyer, place.vendor):
        place.withdraw(person, task_id).refused(409, "already_settled")


@pytest.mark.rule("Y-05")
@pytest.mark.rule("O-01")
@pytest.mark.case("F26")
def test_an_order_that_was_sent_again_keeps_its_new_deposit_when_the_old_one_has_paid(
    books: Books,
) -> None:
    (place, buyer, task_id, proof_id), before = sent_again(books)
    assert (row(task_id).status, states(task_id)) == ("claimed", ["refunded", "open"])
    books.reorg(before, blocks=60)
    go_on(books, 2 * ROUNDS)
    # Two deposits, of which one has paid for what was delivered, and one waits for what will be.
    assert (row(task_id).status, states(task_id)) == ("claimed", ["settled", "open"])
    assert row(task_id).deposit_id == deposits(task_id)[1].id
    assert [(one.status, one.gross_units) for one in rollups_of(task_id)] == [("paid", NET_UNITS)]
    assert earned(place) == NET_UNITS
    assert units(place, buyer) == 10 * DOLLAR - 2 * PRICE_UNITS
    read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
    assert (read["status"], read["private_note"]) == ("rejected", "the key")
    books.fine()
    place.rule(buyer, place.deliver(task_id)).ok()
    books.settle(place.gig)
    go_on(books)
    assert states(task_id) == ["settled", "settled"]
    assert earned(place) == 2 * NET_UNITS
    books.fine()


@pytest.mark.rule("Y-05")
@pytest.mark.rule("O-09")
@pytest.mark.case("F26")
@pytest.mark.parametrize("refunded", [True, False], ids=["refunded first", "nothing is there"])
def test_of_an_order_that_was_sent_again_no_payout_is_owed_once_the_old_one_is_taken_back(
    books: Books, refunded: bool
) -> None:
    (place, buyer, task_id, proof_id), before = sent_again(books)
    # The old payout is mined after all, and then it is not.
    books.reorg(before, blocks=60)
    before = books.snapshot()
    go_on(books, 2 * ROUNDS)
    assert states(task_id) == ["settled", "open"]
    books.reorg(before, blocks=120)
    if refunded:
        refund_past_us(books, deposits(task_id)[0])
    books.read()
    books.fine()
    go_on(books, 2 * ROUNDS)
    first, second = states(task_id)
    assert first in (["refunded"] if refunded else ["refunded", "settled"])
    assert (row(task_id).status, second) == ("claimed", "open")
    # Whichever of the two is mined, the vendor has what the rollup says, and nothing is owed.
    (rollup,) = rollups_of(task_id)
    paid = ("paid", NET_UNITS) if first == "settled" else ("settled", 0)
    assert (rollup.status, rollup.gross_units, earned(place)) == (*paid, paid[1])
    read = buyer.get(f"{place.path}/proofs/{proof_id}")["proof"]
    assert (read["private_note"] == "the key") == (first == "settled")
    books.fine()


@pytest.mark.rule("Y-05")
@pytest.mark.rule("O-05")
@pytest.mark.case("F26")
def test_a_payout_that_a_reorg_exchanges_for_a_refund_is_none_and_may_come_and_go(
    books: Books,
) -> None:
    place, buyer, task_id, _ = approved(books)
    before = books.snapshot()
    for blocks in (20, 60):
        # Paid, as far as anybody can know.
        books.settle(place.gig) if blocks == 20 else None
        go_on(books)
        assert [one.status for one in rollups_of(task_id)] == ["paid"]
        books.fine()
        books.reorg(before, blocks=blocks)
        before = books.snapshot()
        refund_past_us(books, deposits(task_id)[0])
        go_on(books)
        assert (row(task_id).status, states(task_id)) == ("withdrawn", ["refunded"])
        assert (earned(place), units(place, buyer)) == (0, 10 * DOLLAR)
        books.fine()
        books.reorg(before, blocks=blocks + 20)
        before = books.snapshot()


def settle_again(books: Books) -> None:
    """What failed is tried again, and paid."""
    clock.advance(7 * 60 * 60)
    settlement.retry_stuck()
    go_on(books)


def _signed(intent: str, task_id: str) -> list[str]:
    """What was signed under such intents about an order and its payout, the oldest first."""
    ids = [one.chain_transaction_id for one in deposits(task_id)]
    with db.reading():
        query = ChainTransaction.select().where(ChainTransaction.intent.startswith(intent))
        found = list(query.order_by(ChainTransaction.created_at, ChainTransaction.id))
    own = [one.id for one in found if intent != "escrow:" or one.id in ids]
    return [outbox.attempts(one)[-1].raw_hex for one in own]


@pytest.mark.rule("Y-03")
@pytest.mark.rule("O-05")
@pytest.mark.case("F26")
def test_an_order_that_an_earlier_deposit_has_paid_for_gives_the_later_one_back(
    books: Books,
) -> None:
    place = shop(books.world, PRICE)
    buyer = place.buyer(dollars=10)
    # The first order gives the contract its allowance, which stays.
    send(place, buyer, place.draft(buyer))
    go_on(books)
    task_id, start = place.draft(buyer), books.snapshot()
    send(place, buyer, task_id)
    go_on(books)
    place.rule(buyer, place.deliver(task_id)).ok()
    books.settle(place.gig)
    go_on(books)
    assert states(task_id) == ["settled"]
    # A reorg takes all of that back, and the chain refuses the deposit: it is made anew, and pays.
    books.reorg(start, blocks=20)
    start = books.snapshot()
    books.token("blacklist", address(buyer))
    go_on(books)
    books.token("unBlacklist", address(buyer))
    assert order_repair.sweep() == 1
    go_on(books)
    settle_again(books)
    assert states(task_id) == ["abandoned", "settled"]
    books.fine()
    # In the end both deposits stand there, and the payout was out of the first.
    books.reorg(start, blocks=80)
    (opening, _), payout = _signed("escrow:", task_id), _signed("payout:", task_id)[0]
    books.broadcast(opening)
    books.broadcast(payout)
    go_on(books, 3 * ROUNDS)
    assert states(task_id) == ["settled", "refunded"]
    assert (row(task_id).status, row(task_id).deposit_id) == ("approved", deposits(task_id)[0].id)
    assert row(task_id).escrowed_at is not None
    assert units(place, buyer) == 10 * DOLLAR - 2 * PRICE_UNITS
    assert earned(place) == NET_UNITS
    books.fine()
