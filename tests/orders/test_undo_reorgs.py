"""What a reorg does to an order that is being undone, or was (O-09, Y-03)."""

from __future__ import annotations

from typing import Any

import pytest

from engine import clock, commands
from engine.db import db
from engine.models.command import UNFINISHED, Command
from tests.engine.books import Books
from tests.engine.conftest import books, kept_chain, quiet_chain
from tests.orders.undoing import (
    DOLLAR,
    NOT_WAITING,
    PRICE,
    PRICE_UNITS,
    backend,
    deposits,
    is_undone,
    row,
    told,
    units,
)
from tests.shop import Shop, shop
from tests.world import Person

__all__ = ["backend", "books", "kept_chain", "quiet_chain"]

ROUNDS = 8


def go_on(books: Books, rounds: int = ROUNDS) -> None:
    """Nothing runs in the background: take every command's next step, and read the chain."""
    for _ in range(rounds):
        step_all()
        books.read()


def step_all() -> None:
    """The next step of every command."""

    def due() -> list[str]:
        Command.update(run_after=clock.now()).where(UNFINISHED).execute()
        return [one.id for one in Command.select(Command.id).where(UNFINISHED)]

    for command_id in db.write(due):
        commands.run(command_id)


def send(place: Shop, buyer: Person, task_id: str) -> None:
    body = {"amount": PRICE, "wallet_alias_id": buyer.wallet_id}  # type: ignore[attr-defined]
    path = f"{place.path}/tasks/{task_id}/publish"
    buyer.call("POST", path, body, headers=NOT_WAITING).ok()


def undo(place: Shop, person: Person, task_id: str) -> None:
    path = f"{place.path}/tasks/{task_id}/withdraw"
    person.call("POST", path, headers=NOT_WAITING).ok()


def funded(books: Books, **more: Any) -> tuple[Shop, Person, str]:
    place = shop(books.world, PRICE, **more)
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    send(place, buyer, task_id)
    go_on(books)
    assert row(task_id).status == "claimed"
    return place, buyer, task_id


def states(task_id: str) -> list[str]:
    return [one.status for one in deposits(task_id)]


@pytest.mark.rule("O-09")
@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
def test_a_refund_that_a_reorg_takes_back_is_made_again(books: Books) -> None:
    place, buyer, task_id = funded(books)
    proof_id = place.deliver(task_id)
    before = books.snapshot()
    undo(place, buyer, task_id)
    go_on(books)
    assert (row(task_id).status, states(task_id)) == ("withdrawn", ["refunded"])
    at = row(task_id).order_withdrawn_at
    books.reorg(before, blocks=20)
    books.read()
    # The money is in the contract again, and on its way back again.
    assert (row(task_id).status, states(task_id)) == ("undoing", ["refunding"])
    place.withdraw(place.vendor, task_id).refused(409, "in_progress")
    go_on(books)
    assert (row(task_id).status, states(task_id)) == ("withdrawn", ["refunded"])
    is_undone(place, buyer, task_id, "participant", proof_id)
    assert row(task_id).order_withdrawn_at == at
    assert units(place, buyer) == 10 * DOLLAR
    assert len(told(place, "order.withdrawn")) == 1
    books.fine()


@pytest.mark.rule("O-09")
@pytest.mark.rule("O-01")
def test_the_old_deposit_goes_back_although_the_order_was_sent_again(books: Books) -> None:
    place, buyer, task_id = funded(books)
    before = books.snapshot()
    undo(place, place.vendor, task_id)
    go_on(books)
    send(place, buyer, task_id)
    go_on(books)
    assert (row(task_id).status, states(task_id)) == ("claimed", ["refunded", "open"])
    second = row(task_id).deposit_id
    books.reorg(before, blocks=60)
    go_on(books, 2 * ROUNDS)
    assert (row(task_id).status, states(task_id)) == ("claimed", ["refunded", "open"])
    assert row(task_id).deposit_id == second
    assert row(task_id).escrowed_at is not None
    assert units(place, buyer) == 10 * DOLLAR - PRICE_UNITS
    place.rule(buyer, place.deliver(task_id)).ok()
    books.settle(place.gig)
    go_on(books)
    assert states(task_id) == ["refunded", "settled"]
    books.fine()


@pytest.mark.rule("O-09")
def test_a_deposit_that_comes_again_while_its_order_is_undone_goes_back_again(
    books: Books,
) -> None:
    place = shop(books.world, PRICE)
    buyer = place.buyer(dollars=10)
    task_id = place.draft(buyer)
    before = books.snapshot()
    send(place, buyer, task_id)
    go_on(books)
    undo(place, buyer, task_id)
    go_on(books)
    assert (row(task_id).status, states(task_id)) == ("withdrawn", ["refunded"])
    books.reorg(before, blocks=60)
    books.read()
    assert row(task_id).status == "undoing"
    go_on(books, 2 * ROUNDS)
    assert row(task_id).status == "withdrawn"
    assert states(task_id)[0] in ("refunded", "abandoned")
    assert units(place, buyer) == 10 * DOLLAR
    assert len(told(place, "order.withdrawn")) == 1
    books.fine()


@pytest.mark.rule("O-05")
def test_a_refund_past_us_that_a_reorg_takes_back_is_made_by_us(books: Books) -> None:
    place, buyer, task_id = funded(books)
    place.deliver(task_id)
    before = books.snapshot()
    (escrow,) = deposits(task_id)
    assert books.world.chain is not None
    books.send(books.world.chain.refunder_key, books.treasury.refund(escrow.id))
    go_on(books)
    assert row(task_id).status == "withdrawn"
    books.reorg(before, blocks=20)
    go_on(books)
    assert (row(task_id).status, states(task_id)) == ("withdrawn", ["refunded"])
    is_undone(place, buyer, task_id, "reconciler")
    assert units(place, buyer) == 10 * DOLLAR
    books.fine()
