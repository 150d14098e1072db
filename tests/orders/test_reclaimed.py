"""A buyer takes his deposit back past us, by the contract alone, whatever his order is (O-05)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from engine import escrow_funding, settlement
from engine.db import db
from engine.models.command import UNFINISHED, Command
from engine.models.escrow import Escrow
from tests.engine.books import Books
from tests.engine.conftest import books, kept_chain, quiet_chain
from tests.orders.test_undo_chain import (
    DAY_SECONDS,
    approved,
    drafted,
    handed_in,
    held,
    rejected,
    reported,
    timed_out,
)
from tests.orders.test_undo_reorgs import ROUNDS, funded, go_on, send, states, step_all, undo
from tests.orders.undoing import (
    DOLLAR,
    WINDOW_SECONDS,
    backend,
    deposits,
    is_undone,
    news,
    rollups_of,
    row,
    told,
    units,
)
from tests.shop import Shop
from tests.world import Person

__all__ = ["backend", "books", "kept_chain", "quiet_chain"]

# Of the others a refund past us, which ends likewise, is looked at each time.
OFTEN = (handed_in, approved, reported)
SELDOM = (held, drafted, rejected, timed_out)
STAGES = [*OFTEN, *(pytest.param(stage, marks=pytest.mark.soak) for stage in SELDOM)]


def payee(place: Shop) -> str:
    (mailbox,) = place.vendor.get("/mailboxes/mine")["mailboxes"]
    return str(mailbox["wallet_address"])


def later(books: Books, days: int) -> None:
    books.chain.request("evm_increaseTime", hex(days * DAY_SECONDS + 60))
    books.mine()


def announce(books: Books, escrow: Escrow) -> None:
    later(books, 90)
    books.send(escrow_funding.key_of(escrow).private_key, books.treasury.request_reclaim(escrow.id))


def reclaim(books: Books, escrow: Escrow) -> None:
    books.send(escrow_funding.key_of(escrow).private_key, books.treasury.reclaim(escrow.id))


def is_reclaimed(books: Books, place: Shop, buyer: Person, task_id: str, by: str) -> None:
    """The order has ended, for all to see, and nobody is paid for it any more."""
    assert states(task_id) == ["reclaimed"]
    is_undone(place, buyer, task_id, by)
    assert row(task_id).order_withdrawn_reason == "reclaimed"
    assert units(place, buyer) == 10 * DOLLAR
    for person, name in ((buyer, "participant"), (place.vendor, "vendor")):
        # Nobody is told what he did himself.
        assert news(person, "order.withdrawn") == (by != name)
        assert place.withdraw(person, task_id).ok()["state"] == "withdrawn"
    db.write(lambda: settlement.record(place.gig.id))
    go_on(books)
    assert {(one.status, one.gross_units) for one in rollups_of(task_id)} <= {("settled", 0)}
    assert (told(place, "payout.paid"), books.treasury.usdc_units(payee(place))) == ([], 0)
    books.fine()


@pytest.mark.rule("O-05")
@pytest.mark.parametrize("stage", STAGES, ids=lambda fn: fn.__name__)
def test_a_deposit_that_its_buyer_reclaims_takes_the_order_with_it(
    books: Books, stage: Callable[[Shop, Person, str], str]
) -> None:
    place, buyer, task_id = funded(books, review_timeout=WINDOW_SECONDS)
    # What is approved would be paid once the reclaim is announced, could its vendor be.
    books.token("blacklist", payee(place))
    proof_id = stage(place, buyer, task_id)
    (escrow,) = deposits(task_id)
    announce(books, escrow)
    go_on(books)
    for person in (buyer, place.vendor):
        assert news(person, "escrow.reclaim_requested") == 1
    assert row(task_id).status not in ("undoing", "withdrawn")
    later(books, 30)
    reclaim(books, escrow)
    go_on(books)
    books.token("unBlacklist", payee(place))
    is_reclaimed(books, place, buyer, task_id, "reconciler")
    if proof_id:
        place.rule(buyer, proof_id).refused(409, "order_withdrawn")
    # The words are still there to be sent again.
    send(place, buyer, task_id)
    go_on(books)
    assert (row(task_id).status, states(task_id)) == ("claimed", ["reclaimed", "open"])


# What is under way when the reclaim is mined; answers who has undone the order in the end.


def undo_recorded(books: Books, place: Shop, buyer: Person, task_id: str) -> str:
    undo(place, place.vendor, task_id)
    return "vendor"


def undo_sent(books: Books, place: Shop, buyer: Person, task_id: str) -> str:
    undo(place, buyer, task_id)
    _sent(books)
    return "participant"


def settle_recorded(books: Books, place: Shop, buyer: Person, task_id: str) -> str:
    place.rule(buyer, place.deliver(task_id)).ok()
    db.write(lambda: settlement.record(place.gig.id))
    return "reconciler"


def settle_sent(books: Books, place: Shop, buyer: Person, task_id: str) -> str:
    place.rule(buyer, place.deliver(task_id)).ok()
    db.write(lambda: settlement.record(place.gig.id))
    _sent(books)
    assert [one.status for one in rollups_of(task_id)] == ["sent"]
    return "reconciler"


def _sent(books: Books) -> None:
    """What is due signs and sends its transaction, which the node loses before it is mined."""
    books.chain.request("evm_setAutomine", False)
    step_all()
    books.chain.request("anvil_dropAllTransactions")
    books.chain.request("evm_setAutomine", True)


UNDER_WAY = (undo_recorded, undo_sent, settle_recorded, settle_sent)


@pytest.mark.rule("O-05")
@pytest.mark.rule("O-09")
@pytest.mark.rule("Y-03")
@pytest.mark.parametrize("begin", UNDER_WAY, ids=lambda fn: fn.__name__)
def test_a_reclaim_that_is_mined_before_a_refund_or_a_payout_is_the_end(
    books: Books, begin: Callable[[Books, Shop, Person, str], str]
) -> None:
    place, buyer, task_id = funded(books)
    (escrow,) = deposits(task_id)
    announce(books, escrow)
    books.read()
    later(books, 30)
    by = begin(books, place, buyer, task_id)
    assert row(task_id).status in ("undoing", "approved")
    reclaim(books, escrow)
    go_on(books, 2 * ROUNDS)
    is_reclaimed(books, place, buyer, task_id, by)
    with db.reading():
        assert list(Command.select().where(UNFINISHED)) == []
