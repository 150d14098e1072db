"""What a worker is told when the gig's pot does not cover his proof yet (R-01)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import install
from engine.chain.client import Chain
from engine.chain.fee_rate import FeeRate
from engine.chain.treasury import Treasury
from engine.rules import money
from tests.engine.books import DOLLAR, Books
from tests.world import Gig, Person


def hand_in(books: Books, gig: Gig, worker: Person, **more: Any) -> str | None:
    """The warning that came with it."""
    query = more.pop("query", {})
    body = {"task_identifier": books.world.task(gig, **query), **more}
    answer = worker.post(f"{gig.path}/proofs", body)
    if more.get("draft"):
        assert "warning" not in answer
        answer = worker.post(f"{gig.path}/proofs/{answer['proof']['id']}/submit")
    warning: str | None = answer.get("warning")
    return warning


@pytest.mark.rule("R-01")
@pytest.mark.rule("Y-01")
def test_a_proof_is_warned_of_until_the_pot_covers_it_with_its_fee(books: Books) -> None:
    gig = books.world.gig(price="2.50", allow_price_offers=True)
    worker = books.world.worker(gig)
    fee_units = money.fee_on_top(5 * DOLLAR // 2, books.treasury.fee_bps())
    assert fee_units > 0
    key = books.account()
    warning = hand_in(books, gig, worker)
    assert warning is not None and "$0:" in warning
    assert hand_in(books, gig, worker, draft=True) is not None
    assert hand_in(books, gig, worker, query={"price": "0"}) is None
    # Covered to the last unit, and short by one.
    books.send(key, books.treasury.deposit(gig.id, 5 * DOLLAR // 2 + fee_units - 1))
    books.read()
    assert hand_in(books, gig, worker) is not None
    assert hand_in(books, gig, worker, query={"price": "tbd"}) is not None
    books.send(key, books.treasury.deposit(gig.id, 1))
    books.read()
    for draft in (True, False):
        assert hand_in(books, gig, worker, draft=draft) is None
    assert hand_in(books, gig, worker, query={"price": "tbd"}) is None
    assert hand_in(books, gig, worker, asking_price="2.49") is None
    assert hand_in(books, gig, worker, asking_price="2.51") is not None


@pytest.mark.rule("R-01")
def test_a_chain_that_does_not_answer_keeps_nobody_from_handing_in(
    books: Books, monkeypatch: pytest.MonkeyPatch
) -> None:
    gig = books.world.gig()
    worker = books.world.worker(gig)
    treasury = books.treasury
    away = Treasury(Chain("http://127.0.0.1:9", 0.5), treasury.address, treasury.usdc_address)
    monkeypatch.setattr(install.current(), "fee_rate", FeeRate(away))
    # The price alone is more than there is.
    assert hand_in(books, gig, worker) is not None
    rate = FeeRate(treasury)
    assert rate.seen(ask=False) is None
    assert rate.seen(ask=True) == treasury.fee_bps() == rate.seen(ask=False)
