"""`muster audit` finds each fault that somebody may plant behind its back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from engine import audit, gig_keys, install, reconcile
from engine.chain.treasury import Treasury
from engine.db import db
from engine.models.escrow import Escrow
from engine.models.ledger import LedgerTransaction
from tests.engine.books import DOLLAR, Books
from tests.world import Gig, World
from web import cli

TRIGGERS = [
    f"{table}_no_{what}"
    for table in ("ledger_transaction", "ledger_entry")
    for what in ("update", "delete")
]


@pytest.fixture
def gig(books: Books) -> Gig:
    """With one payout made and one under way, $20 put in."""
    made = books.world.gig(price="2.50")
    funder = books.account()
    books.send(funder, books.treasury.deposit(made.id, 20 * DOLLAR))
    books.read()
    for _ in range(2):
        books.owed_work(made)
        books.settle(made)
        if not books.bookings("PaidOut"):
            books.read()
    books.fine()
    return made


def _plant(*statements: str) -> str:
    """Change rows behind everybody's back; answers what the audit has to say, line by line."""

    def write() -> None:
        for trigger in TRIGGERS:
            on = f" ON {trigger.rpartition('_no_')[0]}" if db.is_postgres else ""
            db.rows(f"DROP TRIGGER IF EXISTS {trigger}{on}")
        for statement in statements:
            db.rows(statement)

    db.write(write)
    report = audit.run()
    assert not report.ok
    return "\n".join(report.faults)


PLANTED: list[tuple[list[str], list[str]]] = [
    (
        ["UPDATE ledger_entry SET units = units + 1 WHERE account = 'paid'"],
        ["does not balance", "is kept", "deposits 20000000, accounted for 20000001", "sum to 1"],
    ),
    (
        ["UPDATE ledger_balance SET units = units + 3 WHERE account = 'pot'"],
        ["pot of 0x", "is kept", "the contract"],
    ),
    (
        [
            "UPDATE ledger_entry SET units = units + 1 WHERE account = 'fees'",
            "UPDATE ledger_entry SET units = units - 1 WHERE account = 'paid'",
            "UPDATE ledger_balance SET units = units + 1 WHERE account = 'fees'",
            "UPDATE ledger_balance SET units = units - 1 WHERE account = 'paid'",
        ],
        ["fees: the books say 250001, the contract 250000", "paid 2499999"],
    ),
    (["UPDATE rollup SET status = 'failed' WHERE status = 'paid'"], ["says it was paid"]),
    (
        ["UPDATE rollup SET status = 'paid' WHERE status = 'sent'"],
        ["is paid, but no booking says so", "disagree about being paid", "has set aside 2750000"],
    ),
    (
        ["UPDATE rollup SET gross_units = gross_units + 1 WHERE status = 'paid'"],
        ["pays 2500001 for proofs worth 2500000", "pays 2500001, but"],
    ),
    (
        ["UPDATE rollup SET fee_units = fee_units - 1 WHERE status = 'sent'"],
        ["has set aside 2750000 for payouts of 2749999"],
    ),
    (
        ["UPDATE proof SET status = 'rejected' WHERE paid_out_at IS NOT NULL"],
        ["is rejected and carried by"],
    ),
    (["UPDATE proof SET paid_out_at = NULL"], ["disagree about being paid"]),
    (
        ["UPDATE rollup SET deposit_id = '0xabc' WHERE status = 'paid'"],
        ["disagree about what it paid from"],
    ),
    (
        [
            "INSERT INTO ledger_transaction "
            "(id, reference, kind, block_number, tx_hash, booked_at, data) "
            "SELECT 'LEDGER_x', 'log:x', kind, block_number, tx_hash, booked_at, data "
            "FROM ledger_transaction WHERE kind = 'PaidOut'",
            "INSERT INTO ledger_entry (transaction_id, line, account, gig_key, units) "
            "SELECT 'LEDGER_x', line, account, gig_key, units FROM ledger_entry "
            "JOIN ledger_transaction ON id = transaction_id "
            "WHERE kind = 'PaidOut' AND id <> 'LEDGER_x'",
        ],
        ["is booked as paid twice", "is kept"],
    ),
    (
        [
            "DELETE FROM ledger_entry WHERE transaction_id IN "
            "(SELECT id FROM ledger_transaction WHERE kind = 'PotDeposited')"
        ],
        ["the books say", "in all", "is kept"],
    ),
]


@pytest.mark.rule("Y-05")
@pytest.mark.parametrize(("statements", "said"), PLANTED, ids=[said[0] for _, said in PLANTED])
def test_the_audit_finds_what_was_changed_behind_its_back(
    books: Books, gig: Gig, statements: list[str], said: list[str]
) -> None:
    faults = _plant(*statements)
    for words in said:
        assert words in faults


@pytest.mark.rule("Y-05")
def test_a_pot_that_owes_more_than_it_holds_is_a_warning(books: Books, gig: Gig) -> None:
    # $14.50 are free: another copy of us takes nearly all that the chain would let it.
    books.pay_from_outside(gig.id, 13_000_000)
    books.read()
    free, owed = books.pot(gig)
    report = audit.run()
    assert report.faults == []
    if free < 0:
        assert report.warnings == [
            f"pot {gig_keys.key(gig.id)} is short of {-free} for what it owes; deposit that much"
        ]
    assert free + owed == books.treasury.pot_units(gig.id)


@pytest.mark.rule("Y-05")
@pytest.mark.rule("Y-07")
def test_a_named_deposit_is_open_here_exactly_if_it_is_open_on_chain(
    books: Books, gig: Gig
) -> None:
    task_id = books.world.task(gig)

    def write() -> None:
        from engine.models.command import Command

        Escrow.create(
            id="0x" + "ab" * 32, gig_id=gig.id, task_id=task_id, attempt=1, status="open",
            depositor="0x", payee="0x", amount_units=5, fee_bps=1000, reclaimer="0x", salt="0x",
            expires_at=1, command_id=Command.select().first().id, created_at=1,
        )  # fmt: skip

    db.write(write)
    faults = "\n".join(audit.run().faults)
    assert "is open, the books say planned" in faults
    assert "open with 5 here, on chain none with 0" in faults


@pytest.mark.rule("Y-05")
def test_the_contract_and_the_books_are_compared_at_one_block(
    books: Books, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Money that moves while the audit reads is no fault."""
    funder = books.account()
    real, block = Treasury.pot_units_of_key, []

    def meanwhile(treasury: Treasury, key: str, number: int | None = None) -> int:
        block.append(number)
        books.send(funder, treasury.deposit(gig.id, DOLLAR))
        books.mine(3)
        return real(treasury, key, number)

    monkeypatch.setattr(Treasury, "pot_units_of_key", meanwhile)
    report = audit.run()
    assert report.faults == []
    assert block == [report.block_number]


@pytest.mark.rule("Y-05")
def test_a_reorg_during_the_audit_makes_it_begin_again(
    books: Books, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = books.snapshot()
    funder = books.account()
    books.send(funder, books.treasury.deposit(gig.id, DOLLAR))
    books.mine(3)
    real, seen = Treasury.accounted_units, []

    def meanwhile(treasury: Treasury, number: int | None = None) -> int:
        answer = real(treasury, number)
        if not seen:
            seen.append(number)
            books.reorg(before, 12)
        return answer

    reconcile.run()
    monkeypatch.setattr(Treasury, "accounted_units", meanwhile)
    assert audit.run().faults == []
    assert len(seen) == 1
    assert books.account_of(gig, "outside") == -20 * DOLLAR


@pytest.mark.rule("Y-05")
@pytest.mark.rule("Z-07")
def test_the_command_says_what_it_found_and_exits_with_1_on_a_fault(
    books: Books, gig: Gig, monkeypatch: pytest.MonkeyPatch
) -> None:
    from contextlib import nullcontext

    monkeypatch.setattr(cli, "_runtime", lambda _: nullcontext())

    def run(*options: str) -> Any:
        return CliRunner().invoke(cli.main, ["audit", *options])

    good = run()
    assert good.exit_code == 0, good.output
    assert "The books balance." in good.output
    assert "owed $2.75" in good.output
    told = json.loads(run("--json").output)
    assert told["ok"] is True
    assert told["deposits_units"] == 20 * DOLLAR
    assert told["held_units"] == told["pot_units"] + told["owed_units"] == 17_250_000
    assert told["contract_units"] == told["held_units"] + told["fees_units"]
    assert (told["faults"], told["warnings"]) == ([], [])
    _plant("UPDATE proof SET paid_out_at = NULL")
    bad = run()
    assert bad.exit_code == 1
    assert "THE BOOKS DO NOT BALANCE." in bad.output
    told = json.loads(run("--json").output)
    assert told["ok"] is False
    assert len(told["faults"]) == 1


@pytest.mark.rule("Y-05")
def test_an_install_without_a_chain_is_audited_too(world: World) -> None:
    assert install.current().treasury is None
    report = audit.run()
    assert report.faults == []
    assert report.block_number is None


@pytest.mark.rule("Y-05")
def test_bookings_of_an_older_version_are_matched_by_their_transaction(
    books: Books, gig: Gig
) -> None:
    books.read()

    def forget() -> None:
        for trigger in TRIGGERS:
            on = f" ON {trigger.rpartition('_no_')[0]}" if db.is_postgres else ""
            db.rows(f"DROP TRIGGER {trigger}{on}")
        LedgerTransaction.update(data=None).where(LedgerTransaction.kind == "PaidOut").execute()

    db.write(forget)
    books.fine()
    faults = _plant(
        "UPDATE rollup SET tx_hash = '0xother' WHERE id IN "
        "(SELECT id FROM rollup WHERE status = 'paid' LIMIT 1)"
    )
    assert "is paid, but no booking says so" in faults
