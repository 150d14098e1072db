"""A pot that a reorg has left with less than it owes: what is shown, and what it decides (G-02)."""

from __future__ import annotations

from decimal import Decimal

import pytest

from engine import audit, commands, reconcile
from engine.models.command import Command
from tests.engine.books import DOLLAR, Books
from tests.orders.test_undo_reorgs import go_on
from tests.world import approved_proof


@pytest.mark.rule("G-02")
@pytest.mark.rule("Y-02")
@pytest.mark.rule("Y-05")
@pytest.mark.case("F26")
def test_a_pot_that_owes_more_than_it_holds_has_nothing_and_says_what_it_lacks(
    books: Books,
) -> None:
    gig = books.world.gig(price="2.50")
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    books.read()
    before = books.snapshot()
    books.send(funder, books.treasury.deposit(gig.id, 5 * DOLLAR))
    books.read()
    for _ in range(2):
        worker = books.world.worker(gig)
        approved_proof(books.world, gig, worker)
    headers = {"prefer": "respond-async"}

    def settle() -> Command:
        asked = gig.owner.call("POST", f"{gig.path}/rollups", headers=headers).json
        commands.run(asked["command_id"])
        return commands.peek(asked["command_id"])

    # Two payouts of $2.75 each are decided on, and the second deposit is gone for good.
    books.chain.request("evm_setAutomine", False)
    settle()
    books.reorg(before, blocks=6)
    books.chain.request("evm_setAutomine", True)
    reconcile.run()
    view = gig.owner.get(gig.path)["gig"]
    assert (view["available_funds"], view["reserved_funds"]) == (0, Decimal("5.50"))
    report = audit.run()
    assert (report.faults, len(report.warnings)) == ([], 1)
    # What takes nothing of the pot is not refused for that; what does is told all that it takes.
    assert settle().error is None
    approved_proof(books.world, gig, books.world.worker(gig))
    told = settle().error
    assert told is not None
    assert told["code"] == "pot_short"
    assert told["details"]["available_funds"] == 0
    assert told["details"]["needed"] == Decimal("5.25")
    books.send(funder, books.treasury.deposit(gig.id, 5_250_000))
    books.read()
    assert settle().error is None
    go_on(books)
    rows = gig.owner.get(f"{gig.path}/rollups")["rollups"]
    assert [one["status"] for one in rows] == ["paid"] * 3
    assert gig.owner.get(gig.path)["gig"]["available_funds"] == 0
    books.fine()
