"""What a shop is shown to hold for its buyers follows the chain, wherever that turns (Y-03)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from engine import reconcile
from engine.db import db
from engine.models.meta import Meta
from tests.engine.books import Books
from tests.engine.conftest import books, kept_chain, quiet_chain
from tests.orders.test_undo_reorgs import go_on, send, states, undo
from tests.orders.undoing import PRICE, backend
from tests.shop import Shop, shop

__all__ = ["backend", "books", "kept_chain", "quiet_chain"]

HALF = Decimal("0.5")


def held(place: Shop) -> Any:
    view = place.vendor.get(place.path)["gig"]
    assert (view["available_funds"], view["reserved_funds"]) == (0, 0)
    return view["escrowed_funds"]


def keeps_it_open(place: Shop) -> list[str]:
    """The states of the deposits for which the shop is not closed."""
    told = place.vendor.call("PATCH", place.path, {"status": "closed"})
    return [one["state"] for one in told.refused(409, "unsettled_orders")["deposits"]]


@pytest.mark.rule("Y-03")
@pytest.mark.rule("O-06")
@pytest.mark.case("F26")
def test_escrow_that_a_reorg_takes_back_is_not_shown_and_keeps_the_shop_open(books: Books) -> None:
    place = shop(books.world, PRICE)
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    before = books.snapshot()
    send(place, buyer, task_id)
    go_on(books)
    assert (states(task_id), held(place), keeps_it_open(place)) == (["open"], HALF, ["open"])
    books.reorg(before, blocks=20)
    books.read()
    assert (states(task_id), held(place), keeps_it_open(place)) == (["planned"], 0, ["pending"])
    go_on(books)
    assert (held(place), keeps_it_open(place)) == (HALF, ["open"])
    # What is on its way back is still there.
    undo(place, buyer, task_id)
    assert (held(place), keeps_it_open(place)) == (HALF, ["open"])
    go_on(books)
    assert held(place) == 0
    place.vendor.patch(place.path, {"status": "closed"})
    books.fine()


@pytest.mark.rule("O-04")
def test_escrow_is_unknown_rather_than_nothing_until_the_chain_was_read(books: Books) -> None:
    place, empty = shop(books.world, PRICE), shop(books.world, PRICE)
    buyer = place.buyer(dollars=10)
    send(place, buyer, place.draft(buyer))
    go_on(books)
    cursor = db.write(lambda: Meta.read(reconcile.CURSOR_KEY))
    db.write(lambda: Meta.delete().where(Meta.key == reconcile.CURSOR_KEY).execute())
    for person in (place.vendor, buyer):
        view = person.get(place.path)["gig"]
        assert "escrowed_funds" in view and view["escrowed_funds"] is None
    assert held(empty) == 0
    db.write(lambda: Meta.put(reconcile.CURSOR_KEY, str(cursor)))
    assert held(place) == HALF
