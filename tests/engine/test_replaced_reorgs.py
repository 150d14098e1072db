"""What was replaced and sent again is done once, though a reorg makes its old place free (Y-03)."""

from __future__ import annotations

import pytest

from engine import clock, commands, install
from engine.chain import outbox, sender
from engine.chain.client import Call, Transaction, new_key
from engine.db import db
from engine.models.chain import ChainTransaction
from engine.models.wallet import Wallet
from tests.engine.books import DOLLAR, Books
from tests.orders.test_undo_reorgs import go_on

GWEI = 10**9
# Longer than a gap in the nonces is left alone, even one that the pool's count does not show.
GAP_SECONDS = 20 * 60


class Moving:
    """A wallet that pays $4 somewhere, by a command that is asked for over HTTP."""

    def __init__(self, books: Books, kind: str) -> None:
        self.books, self.person = books, books.world.person("payer")
        self.wallet_id = books.world.funded_wallet(self.person, 10)
        self.to = new_key()[1]
        self.gig = books.world.gig(self.person)
        path = f"/wallets/{self.wallet_id}/transfer"
        body = {"to_address": self.to, "amount": "4"}
        if kind == "deposit":
            path = f"{self.gig.path}/deposit"
            body = {"wallet_alias_id": self.wallet_id, "amount": "4"}
            # The contract's allowance is there already.
            self._allow()
        asked = self.person.call("POST", path, body, headers={"prefer": "respond-async"})
        self.intent = f"{kind}:{asked.json['command_id']}"
        self.command_id: str = asked.json["command_id"]

    @property
    def key(self) -> str:
        with db.reading():
            kept = Wallet.get(Wallet.id == self.wallet_id).encrypted_key
        return install.current().keyring.decrypt(str(kept))

    @property
    def address(self) -> str:
        with db.reading():
            return str(Wallet.get(Wallet.id == self.wallet_id).evm_address)

    def _allow(self) -> None:
        self.books.send(self.key, self.books.treasury.approve(2**256 - 1))

    def by_hand(self, nonce: int) -> None:
        """Something else is sent from the wallet in this place."""
        fields = Transaction(
            self.books.chain.chain_id(), nonce, Call(self.address), 50_000, 90 * GWEI, GWEI
        )
        self.books.broadcast(self.books.chain.sign(self.key, fields)[1])

    def row(self) -> ChainTransaction:
        found = sender.find(self.intent)
        assert found is not None
        return found

    def left(self) -> int:
        return self.books.treasury.usdc_units(self.address)


def replaced(moving: Moving, books: Books) -> None:
    """Its transaction is sent, lost, and its place taken for good by another."""
    books.chain.request("evm_setAutomine", False)
    commands.run(moving.command_id)
    (sent,) = outbox.attempts(moving.row().id)
    books.chain.request("anvil_dropTransaction", sent.tx_hash)
    moving.by_hand(moving.row().nonce)
    books.chain.request("evm_setAutomine", True)
    books.mine()
    books.read()
    assert moving.row().status == "replaced"


@pytest.mark.rule("Y-03")
@pytest.mark.rule("Y-06")
@pytest.mark.case("F24")
@pytest.mark.case("F26")
@pytest.mark.parametrize("kind", ["transfer", "deposit"])
@pytest.mark.parametrize("found", ["before", "after"])
def test_what_was_sent_again_moves_once_though_a_reorg_frees_its_old_place(
    books: Books, kind: str, found: str
) -> None:
    moving = Moving(books, kind)
    start = books.snapshot()
    replaced(moving, books)
    old = moving.row().nonce
    if found == "after":
        # It was sent in another place, which is final.
        go_on(books)
        assert (moving.row().status, moving.row().nonce > old) == ("succeeded", True)
        assert commands.peek(moving.command_id).status == "done"
    books.reorg(start, blocks=40)
    books.read()
    clock.advance(GAP_SECONDS)
    for _ in range(4):
        go_on(books, 4)
        clock.advance(GAP_SECONDS)
    assert moving.row().status == "succeeded"
    assert commands.peek(moving.command_id).status == "done"
    assert moving.left() == 6 * DOLLAR
    if kind == "transfer":
        assert books.treasury.usdc_units(moving.to) == 4 * DOLLAR
    else:
        assert books.pot(moving.gig) == (4 * DOLLAR, 0)
    # Where a place was given up, something that does nothing has it.
    with db.reading():
        filled = ChainTransaction.select().where(ChainTransaction.intent.startswith("gap:"))
        assert [one.nonce for one in filled] == ([old] if found == "after" else [])
    books.fine()
