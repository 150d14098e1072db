"""Every way in which money moves in the contract, and where the books put it."""

from __future__ import annotations

import secrets

import pytest

from engine import ledger, reconcile
from engine.chain.client import address_of, new_key
from engine.chain.local import LocalChain
from engine.chain.treasury import Settlement, Terms
from tests.engine.books import DOLLAR, Books
from tests.world import Gig

NOBODY = "0x" + "00" * 20
DAY_SECONDS = 86_400


@pytest.fixture
def gig(books: Books) -> Gig:
    return books.world.gig(price="2.50")


@pytest.fixture
def local_chain(books: Books) -> LocalChain:
    assert books.world.chain is not None
    return books.world.chain


def _terms(gig: Gig, depositor: str, units: int, payee: str) -> Terms:
    return Terms(
        depositor=depositor,
        payee=payee,
        gig_id=gig.id,
        units=units,
        fee_bps=1000,
        reclaimer=NOBODY,
        salt="0x" + secrets.token_hex(32),
    )


def _accounts(books: Books, gig: Gig) -> dict[str, int]:
    names = ("outside", "deposit", "paid", "fees", "residue", "refunded", "claimable")
    found = {name: books.account_of(gig, name) for name in names}
    return {name: units for name, units in found.items() if units}


@pytest.mark.rule("Y-05")
@pytest.mark.rule("Y-07")
def test_a_named_deposit_is_booked_from_its_opening_to_its_end(
    books: Books, gig: Gig, local_chain: LocalChain
) -> None:
    funder, payee = books.account(), new_key()[1]
    # 909,000 and 10 % on top are 999,900, so 100 base units of the $1.00 are left over.
    terms = _terms(gig, address_of(funder), DOLLAR, payee)
    deposit_id = books.treasury.deposit_id(terms)
    before = books.snapshot()
    books.send(funder, books.treasury.deposit_for(terms))
    books.read()
    assert _accounts(books, gig) == {"outside": -DOLLAR, "deposit": DOLLAR}
    settlement = Settlement("ELSEWHERE_1", deposit_id, payee, 909_000)
    books.send(local_chain.operator_key, books.treasury.settle([settlement]))
    books.read()
    settled = {"outside": -DOLLAR, "paid": 909_000, "fees": 90_900, "residue": 100}
    assert _accounts(books, gig) == settled
    kinds = [kind for kind, _ in books.told(gig, "deposit.unknown", "payout.unknown")]
    assert kinds == ["deposit.unknown", "payout.unknown"]
    books.fine()

    call = books.treasury.withdraw_fees(new_key()[1], 90_950)
    books.send(local_chain.owner_key, call)
    books.read()
    assert ledger.balance_units("withdrawn") == 90_950
    assert (ledger.balance_units("fees"), ledger.balance_units("residue")) == (0, 50)
    books.fine()

    books.reorg(before, 12)
    reconcile.run()
    assert _accounts(books, gig) == {}
    assert ledger.balance_units("withdrawn") == 0
    assert len(books.bookings("TakenBack")) == 3
    books.fine()


@pytest.mark.rule("Y-05")
def test_a_deposit_that_the_token_will_not_give_back_waits_for_its_claim(
    books: Books, gig: Gig, local_chain: LocalChain
) -> None:
    funder = books.account()
    terms = [_terms(gig, address_of(funder), units * DOLLAR, NOBODY) for units in (3, 5)]
    ids = [books.treasury.deposit_id(one) for one in terms]
    books.send(funder, *[books.treasury.deposit_for(one) for one in terms])
    books.send(local_chain.refunder_key, books.treasury.refund(ids[0]))
    books.token("blacklist", address_of(funder))
    books.send(local_chain.refunder_key, books.treasury.refund(ids[1]))
    books.read()
    assert _accounts(books, gig) == {
        "outside": -8 * DOLLAR, "refunded": 3 * DOLLAR, "claimable": 5 * DOLLAR,
    }  # fmt: skip
    assert books.fine().claimable_units == 5 * DOLLAR

    books.token("unBlacklist", address_of(funder))
    books.send(funder, books.treasury.claim())
    books.read()
    assert ledger.balance_units("claimable") == 0
    assert ledger.balance_units("refunded") == 8 * DOLLAR
    books.fine()


@pytest.mark.rule("Y-08")
def test_a_deposit_that_is_reclaimed_without_us_is_booked_and_its_owner_told(
    books: Books, gig: Gig
) -> None:
    funder = books.account()
    terms = _terms(gig, address_of(funder), 4 * DOLLAR, NOBODY)
    deposit_id = books.treasury.deposit_id(terms)
    books.send(funder, books.treasury.deposit_for(terms))
    books.chain.request("evm_increaseTime", hex(91 * DAY_SECONDS))
    books.mine()
    books.send(funder, books.treasury.request_reclaim(deposit_id))
    books.read()
    # The announcement moves nothing, and is booked so that a reorg can take it back too.
    assert len(books.bookings("ReclaimRequested")) == 1
    assert _accounts(books, gig) == {"outside": -4 * DOLLAR, "deposit": 4 * DOLLAR}
    books.chain.request("evm_increaseTime", hex(31 * DAY_SECONDS))
    books.mine()
    books.send(funder, books.treasury.reclaim(deposit_id))
    books.read()
    assert _accounts(books, gig) == {"outside": -4 * DOLLAR, "refunded": 4 * DOLLAR}
    ((_, told),) = books.told(gig, "deposit.reclaimed_outside")
    assert (str(told["amount"]), told["account"]) == ("4", address_of(funder))
    books.fine()
