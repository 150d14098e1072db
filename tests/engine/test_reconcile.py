"""Reading the chain into the books: what is final counts once, and a reorg undoes it whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import bookings, chain_blocks, install, ledger, observers, reconcile
from engine.chain import local, sender
from engine.chain.client import Chain, address_of, new_key
from engine.chain.treasury import Treasury
from engine.db import db
from engine.models.chain import ChainBlock, ChainTransaction
from engine.models.meta import Meta
from tests.engine.books import DOLLAR, Books
from tests.engine.conftest import still
from tests.world import Gig, World, at_once

DEPTHS = [1, 3, 10]


@pytest.fixture
def gig(books: Books) -> Gig:
    return books.world.gig(price="2.50")


def _events(books: Books) -> list[str]:
    return [row.kind for row in books.bookings("PotDeposited") + books.bookings("TakenBack")]


# ---------------------------------------------------------------- reorgs


@pytest.mark.rule("Y-05")
@pytest.mark.case("F26")
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_deposit_that_a_reorg_takes_back_is_credited_once_when_it_is_mined_again(
    books: Books, gig: Gig, depth: int
) -> None:
    funder = books.account()
    raw = books.signed(funder, books.treasury.deposit(gig.id, 20 * DOLLAR))
    books.read()
    before = books.snapshot()
    books.broadcast(raw)
    books.mine(depth)
    assert reconcile.run() == books.chain.block_number() - 1
    assert books.pot(gig) == (20 * DOLLAR, 0)
    books.fine()

    books.reorg(before, depth + 3)
    reconcile.run()
    assert books.pot(gig) == (0, 0)
    assert books.account_of(gig, "outside") == 0
    books.fine()

    # The very same transaction, in a later block.
    books.broadcast(raw)
    books.read()
    books.read()
    assert books.pot(gig) == (20 * DOLLAR, 0)
    assert len(books.bookings("PotDeposited")) == 2
    assert len(books.bookings("TakenBack")) == 1
    told = books.told(gig, "pot.deposited", "chain.taken_back")
    assert [kind for kind, _ in told] == ["pot.deposited", "chain.taken_back", "pot.deposited"]
    assert told[1][1]["what"] == "pot.deposited"
    assert {str(data["amount"]) for _, data in told} == {"20"}
    books.fine()


@pytest.mark.rule("Y-03")
@pytest.mark.case("F26")
@pytest.mark.parametrize("depth", DEPTHS)
def test_a_payout_that_a_reorg_takes_back_is_owed_again_and_paid_once(
    books: Books, gig: Gig, depth: int
) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 20 * DOLLAR))
    payee = books.owed_work(gig)
    books.read()
    before = books.snapshot()
    rollup_id = books.settle(gig)
    assert books.pot(gig) == (17_250_000, 2_750_000)
    books.mine(depth)
    reconcile.run()
    assert books.rollup(rollup_id).status == "paid"
    assert books.pot(gig) == (17_250_000, 0)
    assert books.account_of(gig, "paid") == 2_500_000
    assert books.account_of(gig, "fees") == 250_000
    books.fine()

    books.reorg(before, depth + 3)
    assert books.treasury.usdc_units(payee) == 0
    # The sender has the bytes still, and sends them again in the same run.
    reconcile.run()
    assert books.rollup(rollup_id).status == "sent"
    assert books.rollup(rollup_id).paid_at is None
    assert books.pot(gig) == (17_250_000, 2_750_000)
    assert books.account_of(gig, "paid") == 0
    for _ in range(3):
        books.read()
    assert books.rollup(rollup_id).status == "paid"
    assert books.treasury.usdc_units(payee) == 2_500_000
    assert books.pot(gig) == (17_250_000, 0)
    kinds = [kind for kind, _ in books.told(gig, "payout.paid", "payout.taken_back")]
    assert kinds == ["payout.paid", "payout.taken_back", "payout.paid"]
    books.fine()


@pytest.mark.rule("Y-03")
def test_a_transaction_of_ours_in_an_orphaned_block_is_open_again(books: Books, gig: Gig) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 20 * DOLLAR))
    books.owed_work(gig)
    books.read()
    before = books.snapshot()
    rollup = books.rollup(books.settle(gig))
    books.read()

    def status() -> str:
        with db.reading():
            row = ChainTransaction.get(ChainTransaction.id == rollup.chain_transaction_id)
        return str(row.status)

    assert status() == "succeeded"
    opened: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        real = sender.unmine
        patch.setattr(sender, "unmine", lambda block: opened.extend(real(block)))
        books.reorg(before, 6)
        reconcile.run()
    assert opened == [rollup.chain_transaction_id]
    books.read()
    books.read()
    assert status() == "succeeded"
    books.fine()


class _Twins:
    """Two nodes with one past, so that the reader can be moved from one branch to the other."""

    def __init__(self, folder: Path) -> None:
        local.ensure(folder / "one")
        local.stop(folder / "one")
        shutil.copytree(folder / "one", folder / "other")
        (folder / "other" / "chain" / "chain.json").unlink()
        self.folder = folder
        self.one, self.other = (local.ensure(folder / name) for name in ("one", "other"))
        still(self.one)
        still(self.other)

    def use(self, node: local.LocalChain) -> None:
        made = install.current()
        made.chain = Chain(node.rpc_url)
        made.treasury = Treasury(made.chain, node.treasury_address, node.usdc_address)

    def stop(self) -> None:
        local.stop(self.folder / "one")
        local.stop(self.folder / "other")


@pytest.fixture
def twins(anvil: None, tmp_path: Path) -> Iterator[_Twins]:
    made = _Twins(tmp_path)
    yield made
    made.stop()


@pytest.mark.rule("Y-05")
@pytest.mark.case("F26")
def test_the_same_blocks_may_go_and_come_back_any_number_of_times(
    backend: tuple[str, str], twins: _Twins
) -> None:
    books = Books(World(*backend, chain=twins.one))
    try:
        _go_and_come_back(books, twins)
    finally:
        books.world.stop()


def _go_and_come_back(books: Books, twins: _Twins) -> None:
    gig = books.world.gig()
    books.read()
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 7 * DOLLAR))
    books.mine(4)
    height = books.chain.block_number()
    twins.use(twins.other)
    # Another beneficiary, so that the two never make the same block.
    books.chain.request("anvil_setCoinbase", address_of(funder))
    books.mine(height - books.chain.block_number())
    for _ in range(4):
        twins.use(twins.one)
        reconcile.run()
        assert books.pot(gig) == (7 * DOLLAR, 0)
        twins.use(twins.other)
        reconcile.run()
        assert books.pot(gig) == (0, 0)
    twins.use(twins.one)
    books.fine()
    assert len(books.bookings("PotDeposited")) == 5
    assert len(books.bookings("TakenBack")) == 4
    assert len({row.reference for row in books.bookings("PotDeposited")}) == 5


@pytest.mark.rule("Y-05")
def test_any_number_of_readers_at_once_through_a_reorg_book_and_undo_once(
    books: Books, gig: Gig
) -> None:
    funder = books.account()
    raws = [books.signed(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))]
    books.read()
    before = books.snapshot()
    books.broadcast(raws[0])
    books.mine(3)
    at_once(6, lambda _: reconcile.run())
    assert books.pot(gig) == (3 * DOLLAR, 0)
    books.reorg(before, 5)
    at_once(6, lambda _: reconcile.run())
    assert books.pot(gig) == (0, 0)
    books.broadcast(raws[0])
    books.mine(2)
    at_once(6, lambda _: reconcile.run())
    assert books.pot(gig) == (3 * DOLLAR, 0)
    assert len(books.bookings("PotDeposited")) == 2
    assert len(books.bookings("TakenBack")) == 1
    books.fine()


@pytest.mark.rule("Y-05")
def test_what_was_read_before_a_reorg_is_not_booked_after_it(books: Books, gig: Gig) -> None:
    """One reader stops between reading and booking, while another sees the reorg."""
    funder = books.account()
    books.read()
    before = books.snapshot()
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    at = reconcile.cursor()
    books.mine(3)
    stale = reconcile._read(books.treasury, at, books.chain.block_number() - 1)
    assert stale is not None
    assert len(stale.events) == 1
    books.read()
    books.reorg(before, 6)
    reconcile.run()
    assert db.write(lambda: reconcile._book(stale)) is False
    # Even when the cursor stands by chance where it stood, on other blocks.
    db.write(lambda: Meta.put(reconcile.CURSOR_KEY, str(at)))
    db.write(lambda: chain_blocks.remember({at: "0xother"}))
    assert db.write(lambda: reconcile._book(stale)) is False
    assert books.pot(gig) == (0, 0)


class _Crash(Exception):
    pass


def _crash(*_: object, **__: object) -> None:
    raise _Crash


@pytest.mark.rule("Y-05")
@pytest.mark.parametrize(
    ("where", "name"),
    [
        (bookings, "book"),
        (observers, "tell_event"),
        (chain_blocks, "remember"),
        (reconcile.commands, "wake_waiting"),
    ],
)
def test_a_crash_while_booking_leaves_nothing_half_done(
    books: Books, gig: Gig, where: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    at = reconcile.cursor()
    with monkeypatch.context() as patched:
        patched.setattr(where, name, _crash)
        with pytest.raises(_Crash):
            books.read()
    assert reconcile.cursor() == at
    assert books.pot(gig) == (0, 0)
    assert books.told(gig, "pot.deposited") == []
    books.read()
    assert books.pot(gig) == (3 * DOLLAR, 0)
    books.fine()


@pytest.mark.rule("Y-05")
@pytest.mark.parametrize(
    ("where", "name"),
    [
        (ledger, "take_back"),
        (observers, "tell_event"),
        (sender, "unmine"),
        (chain_blocks, "forget_above"),
        (reconcile.gifts, "forget_above"),
        (reconcile.commands, "wake_waiting"),
    ],
)
def test_a_crash_while_undoing_leaves_nothing_half_done(
    books: Books, gig: Gig, where: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 20 * DOLLAR))
    books.owed_work(gig)
    books.read()
    before = books.snapshot()
    rollup_id = books.settle(gig)
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    at = books.read()
    books.reorg(before, 9)
    with monkeypatch.context() as patched:
        patched.setattr(where, name, _crash)
        with pytest.raises(_Crash):
            reconcile.run()
    assert reconcile.cursor() == at
    assert books.rollup(rollup_id).status == "paid"
    assert books.pot(gig) == (20_250_000, 0)
    assert books.bookings("TakenBack") == []
    with db.reading():
        assert ChainBlock.get_or_none(ChainBlock.number == at) is not None
    reconcile.run()
    assert books.pot(gig) == (17_250_000, 2_750_000)
    for _ in range(3):
        books.read()
    assert books.rollup(rollup_id).status == "paid"
    books.fine()


# ---------------------------------------------------------------- nodes


@pytest.mark.rule("Y-05")
def test_a_node_that_lags_is_waited_for(books: Books, gig: Gig) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    at = books.read()
    head = books.chain.block_number()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chain, "block_number", lambda _: at - 3)
        assert reconcile.run() == at
    assert books.pot(gig) == (3 * DOLLAR, 0)
    assert books.bookings("TakenBack") == []
    books.mine(2)
    assert reconcile.run() == head + 1


@pytest.mark.rule("Y-05")
def test_blocks_that_a_node_has_lost_are_a_reorg_once_it_has_others(books: Books, gig: Gig) -> None:
    funder = books.account()
    books.read()
    before = books.snapshot()
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    books.mine(5)
    at = reconcile.run()
    books.reorg(before, 1)
    assert reconcile.run() == at
    assert books.pot(gig) == (3 * DOLLAR, 0)
    books.mine(10)
    reconcile.run()
    assert books.pot(gig) == (0, 0)
    books.fine()


@pytest.mark.rule("Y-05")
def test_a_node_of_another_chain_is_refused_and_nothing_is_booked(
    books: Books, gig: Gig, tmp_path: Path
) -> None:
    books.read()
    at = reconcile.cursor()
    other = local.ensure(tmp_path / "foreign")
    try:
        ours = install.current().treasury
        install.current().treasury = Treasury(
            Chain(other.rpc_url), other.treasury_address, other.usdc_address
        )
        # Behind our cursor and beyond it.
        with pytest.raises(chain_blocks.ForeignChain, match="another chain"):
            if books.chain.block_number() < at:
                reconcile.run()
            books.mine(at + 10)
            reconcile.run()
        install.current().treasury = ours
        with pytest.MonkeyPatch.context() as patch:
            real = Chain.request
            patch.setattr(
                Chain,
                "request",
                lambda self, method, *params: (
                    "0x1" if method == "eth_chainId" else real(self, method, *params)
                ),
            )
            with pytest.raises(chain_blocks.ForeignChain, match="another chain"):
                reconcile.run()
            reconcile.run_quietly()
    finally:
        local.stop(tmp_path / "foreign")
    assert reconcile.cursor() == at
    assert books.bookings("TakenBack") == []
    books.fine()


@pytest.mark.rule("Y-05")
def test_a_reorg_below_everything_remembered_is_refused(books: Books, gig: Gig) -> None:
    funder = books.account()
    before = books.snapshot()
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    at = books.read()

    def forget() -> None:
        ChainBlock.delete().where(ChainBlock.number < at).execute()

    db.write(forget)
    books.reorg(before, 9)
    with pytest.raises(chain_blocks.ForeignChain, match="restore a backup"):
        reconcile.run()
    assert books.pot(gig) == (3 * DOLLAR, 0)
    assert reconcile.cursor() == at


@pytest.mark.rule("Y-05")
def test_a_chain_that_moves_while_it_is_read_is_read_again(books: Books, gig: Gig) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    at = reconcile.cursor()
    books.mine(2)
    with pytest.MonkeyPatch.context() as patch:
        real = Treasury.events

        def moved(treasury: Treasury, first: int, last: int) -> object:
            found = real(treasury, first, last)
            snapshots.append(treasury.chain.request("evm_revert", before))
            # Somebody new each time: equal blocks of the same second would be no reorg.
            treasury.chain.request("anvil_setCoinbase", new_key()[1])
            books.mine(8)
            return found

        snapshots: list[object] = []
        before = books.snapshot()
        books.mine(4)
        patch.setattr(Treasury, "events", moved)
        assert reconcile.run() == at
    assert snapshots == [True]
    assert books.pot(gig) == (0, 0)
    reconcile.run()
    assert books.pot(gig) == (3 * DOLLAR, 0)
    books.fine()


@pytest.mark.rule("Y-05")
def test_only_the_newest_blocks_are_remembered(
    books: Books, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain_blocks, "KEPT_BLOCKS", 20)
    for _ in range(6):
        books.mine(10)
        at = reconcile.run()
    with db.reading():
        numbers = [row.number for row in ChainBlock.select().order_by(ChainBlock.number)]
    assert numbers == [at - 20, at - 10, at]


@pytest.mark.rule("Y-05")
def test_a_crowded_span_is_booked_in_parts(
    books: Books, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reconcile, "MOST_EVENTS", 2)
    funder = books.account()
    books.send(funder, *[books.treasury.deposit(gig.id, DOLLAR)] * 7)
    written: list[int] = []
    real = reconcile._book
    with monkeypatch.context() as patched:
        patched.setattr(
            reconcile, "_book", lambda span: (written.append(len(span.events)), real(span))[1]
        )
        books.read()
    assert len(written) >= 3
    assert books.pot(gig) == (7 * DOLLAR, 0)
    books.fine()


# ---------------------------------------------------------------- what others do


@pytest.mark.rule("Y-05")
def test_gifts_are_booked_as_nobodys_and_a_reorg_takes_them_back(books: Books, gig: Gig) -> None:
    funder = books.account()
    books.read()
    before = books.snapshot()
    # A deposit is no gift, and not every transfer that comes beside one is.
    books.send(funder, books.treasury.deposit(gig.id, 3 * DOLLAR))
    books.send(funder, books.treasury.transfer_usdc(books.treasury.address, 450_000))
    books.token("mint", books.treasury.address, 1_230_000)
    books.read()
    assert ledger.balance_units("unsolicited") == 1_680_000
    assert books.pot(gig) == (3 * DOLLAR, 0)
    report = books.fine()
    assert report.unsolicited_units == 1_680_000
    assert report.deposits_units == 3 * DOLLAR
    books.reorg(before, 9)
    reconcile.run()
    assert ledger.balance_units("unsolicited") == 0
    books.fine()


@pytest.mark.rule("Y-05")
def test_what_was_given_before_we_read_the_tokens_logs_is_booked_as_one_sum(
    backend: tuple[str, str], quiet_chain: local.LocalChain
) -> None:
    world = World(*backend, chain=quiet_chain)
    try:
        books = Books(world)
        before = books.snapshot()
        books.token("mint", books.treasury.address, 70_000)
        books.token("mint", books.treasury.address, 7_000)
        books.read()
        assert ledger.balance_units("unsolicited") == 77_000
        assert len(books.bookings("Gift")) == 1
        books.token("mint", books.treasury.address, 300)
        books.read()
        assert ledger.balance_units("unsolicited") == 77_300
        books.fine()
        # What takes its place comes in a block that the sum had covered.
        books.reorg(before, 1)
        books.token("mint", books.treasury.address, 5)
        books.mine(12)
        reconcile.run()
        assert ledger.balance_units("unsolicited") == 5
        books.fine()
    finally:
        world.stop()


@pytest.mark.rule("Y-05")
def test_a_payout_of_another_copy_of_us_is_booked_from_the_pot_and_its_owner_told(
    books: Books, gig: Gig
) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 20 * DOLLAR))
    payee = books.pay_from_outside(gig.id, 2 * DOLLAR)
    books.read()
    assert books.pot(gig) == (17_800_000, 0)
    assert books.account_of(gig, "paid") == 2 * DOLLAR
    ((_, told),) = books.told(gig, "payout.unknown")
    assert (str(told["amount"]), told["account"]) == ("2", payee)
    books.fine()


@pytest.mark.rule("Y-08")
def test_money_that_left_a_pot_without_us_is_booked_and_its_owner_told(
    books: Books, gig: Gig
) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 20 * DOLLAR))
    assert books.world.chain is not None
    call = books.treasury.refund_pot("ELSEWHERE_1", gig.id, address_of(funder), 5 * DOLLAR)
    books.send(books.world.chain.refunder_key, call)
    books.read()
    assert books.pot(gig) == (15 * DOLLAR, 0)
    assert books.account_of(gig, "refunded") == 5 * DOLLAR
    ((_, told),) = books.told(gig, "pot.refunded_outside")
    assert (str(told["amount"]), told["account"]) == ("5", address_of(funder))
    books.fine()


@pytest.mark.rule("Y-05")
def test_a_deposit_for_a_gig_of_another_install_is_booked_and_nobody_told(books: Books) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit("GIG_elsewhere", 5 * DOLLAR))
    books.read()
    assert ledger.balance_units("pot") == 5 * DOLLAR
    books.fine()


@pytest.mark.rule("Y-01")
def test_the_pot_bears_a_fee_that_has_changed_since_a_payout_was_decided(
    books: Books, gig: Gig
) -> None:
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, 20 * DOLLAR))
    books.owed_work(gig)
    books.read()
    rollup_id = books.settle(gig)
    row = books.rollup(rollup_id)
    assert (row.gross_units, row.fee_units) == (2_500_000, 250_000)
    # As if the rate had been 12 % when it was decided.
    db.write(lambda: ledger.release(rollup_id))
    db.write(lambda: ledger.reserve(rollup_id, gig.id, 2_800_000))
    assert books.pot(gig) == (17_200_000, 2_800_000)
    books.read()
    assert books.pot(gig) == (17_250_000, 0)
    assert books.account_of(gig, "fees") == 250_000
    books.fine()
