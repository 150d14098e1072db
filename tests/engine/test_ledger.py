"""The ledger: balanced, only ever added to, its balances kept with every line."""

from __future__ import annotations

import random

import peewee
import pytest

from engine import gig_keys, ledger, migrate
from engine.db import db
from engine.ledger import Fact, Line
from engine.models.ledger import LedgerBalance, LedgerEntry, LedgerTransaction
from tests.conftest import BACKENDS
from tests.services import Postgres, Sqlite
from tests.world import Gig, World, at_once

KEPT = "only ever added to"


def _fact(reference: str, block_number: int = 7) -> Fact:
    return Fact(reference, "PotDeposited", block_number, "0xabc", {"units": 5})


def _book(reference: str, *lines: Line) -> bool:
    return db.write(lambda: ledger.book(_fact(reference), list(lines)))


def _in(key: str, units: int) -> list[Line]:
    return [Line("outside", key, -units), Line("pot", key, units)]


def _back(reference: str) -> bool:
    def write() -> bool:
        transaction = ledger.standing(reference)
        return transaction is not None and ledger.take_back(transaction, ledger.TAKEN_BACK)

    return db.write(write)


def _kept_equals_sums() -> None:
    with db.reading():
        kept = {
            (row.account, row.gig_key): row.units
            for row in LedgerBalance.select().where(LedgerBalance.units != 0)
        }
        sums: dict[tuple[str, str], int] = {}
        for row in LedgerEntry.select():
            place = (row.account, row.gig_key or "")
            sums[place] = sums.get(place, 0) + row.units
    assert kept == {place: units for place, units in sums.items() if units}


@pytest.fixture
def gig(world: World) -> Gig:
    made = world.gig()
    assert _book("log:first", *_in(gig_keys.key(made.id), 1_000))
    return made


CHANGES = (
    "UPDATE ledger_entry SET units = units + 1",
    "UPDATE ledger_transaction SET kind = 'x'",
    "DELETE FROM ledger_entry",
    "DELETE FROM ledger_transaction",
)


@pytest.mark.rule("Y-05")
def test_what_is_booked_is_neither_changed_nor_removed(world: World, gig: Gig) -> None:
    statements = [*CHANGES]
    if db.is_postgres:
        statements += ["TRUNCATE ledger_entry", "TRUNCATE ledger_transaction CASCADE"]
    else:
        statements.append("REPLACE INTO ledger_transaction SELECT * FROM ledger_transaction")
    for statement in statements:
        with pytest.raises(peewee.DatabaseError, match=KEPT):
            db.write(lambda one=statement: db.rows(one))  # type: ignore[misc]
        with db.reading():
            assert LedgerEntry.select().count() == 2
            assert LedgerTransaction.get().kind == "PotDeposited"


@pytest.mark.rule("Y-05")
def test_an_unbalanced_transaction_is_never_written(world: World) -> None:
    with pytest.raises(ValueError, match="unbalanced"):
        _book("log:x", Line("pot", "0x1", 1))
    with db.reading():
        assert LedgerTransaction.select().count() == 0
        assert LedgerBalance.select().count() == 0


@pytest.mark.rule("Y-05")
def test_a_fact_is_booked_once_and_again_each_time_it_was_taken_back(world: World) -> None:
    for again in range(4):
        assert _book("log:a", *_in("0x1", 5))
        assert not _book("log:a", *_in("0x1", 5))
        assert ledger.balance_units("pot", "0x1") == 5
        if again < 3:
            assert _back("log:a")
            assert not _back("log:a")
            assert ledger.balance_units("pot", "0x1") == 0
    _kept_equals_sums()
    with db.reading():
        references = [row.reference for row in LedgerTransaction.select()]
    assert sorted(references) == [
        "back:log:a", "back:log:a#2", "back:log:a#3", "log:a", "log:a#2", "log:a#3", "log:a#4",
    ]  # fmt: skip


@pytest.mark.rule("Y-05")
def test_of_many_who_book_one_fact_at_once_one_does(world: World) -> None:
    assert sum(at_once(8, lambda _: _book("log:a", *_in("0x1", 5)))) == 1
    assert ledger.balance_units("pot", "0x1") == 5
    _kept_equals_sums()


@pytest.mark.rule("Y-05")
def test_kept_balances_are_the_sums_of_their_lines_whoever_books_at_once(world: World) -> None:
    keys = ["0x1", "0x2", "0x3"]

    def many(seed: int) -> None:
        dice = random.Random(seed)
        for number in range(12):
            one, other = dice.sample(keys, 2)
            units = dice.randint(1, 100)
            lines = [Line("pot", one, -units), Line("pot", other, units), *_in(one, units)]
            _book(f"log:{seed}:{number}", *lines)
            if dice.random() < 0.3:
                _back(f"log:{seed}:{number}")

    at_once(6, many)
    _kept_equals_sums()
    with db.reading():
        assert sum(row.units for row in LedgerBalance.select()) == 0


@pytest.mark.rule("Y-02")
def test_money_is_set_aside_once_for_a_rollup_and_released_once(world: World, gig: Gig) -> None:
    def funds() -> tuple[int, int]:
        return ledger.free_units(gig.id), ledger.owed_units(gig.id)

    taken = at_once(6, lambda _: db.write(lambda: ledger.reserve("ROLLUP_1", gig.id, 300)))
    assert sum(taken) == 1
    assert funds() == (700, 300)
    assert ledger.reserved_for("ROLLUP_1") == 300
    assert db.write(lambda: ledger.release("ROLLUP_1"))
    assert not db.write(lambda: ledger.release("ROLLUP_1"))
    assert funds() == (1_000, 0)
    assert ledger.reserved_for("ROLLUP_1") == 0
    assert db.write(lambda: ledger.reserve("ROLLUP_1", gig.id, 200))
    assert funds() == (800, 200)
    assert not db.write(lambda: ledger.reserve("ROLLUP_2", gig.id, 0))
    _kept_equals_sums()


@pytest.mark.rule("Y-05")
def test_a_gig_made_by_an_older_process_is_found_by_its_key(world: World, gig: Gig) -> None:
    db.write(lambda: db.rows("UPDATE gig SET chain_key = NULL"))
    found = db.write(lambda: gig_keys.find(gig_keys.key(gig.id)))
    assert found is not None
    assert found.id == gig.id
    assert db.write(lambda: gig_keys.find("0x" + "00" * 32)) is None


def _insert(table: str, **values: object) -> None:
    names = ", ".join(f'"{name}"' for name in values)
    marks = ", ".join("?" for _ in values)
    db.rows(f'INSERT INTO "{table}" ({names}) VALUES ({marks})', list(values.values()))


def _of_the_version_before() -> None:
    """A gig with $10 in its pot by the old books, one payout made and three under way."""
    _insert("account", id="USER_1", email="a@example.com", display_name="A", status="active",
            created_at=1)  # fmt: skip
    texts = "title terms notes distribution queue_order join_policy location icon_url token"
    _insert(
        "gig", id="GIG_1", owner_id="USER_1", status="active",
        **dict.fromkeys([*texts.split(), "webhook_secret"], "kept"),
        tags="[]", price_units=5, requires_approval=False, review_timeout_seconds=-1,
        min_payout_units=0, created_at=1,
    )  # fmt: skip
    _insert("command", id="CMD_1", kind="gig.settle", status="done", arguments="{}", attempts=1,
            failures=0, run_after=1, created_at=1)  # fmt: skip
    columns = db.rows(MAILBOX_COLUMNS[db.is_postgres])
    mailbox: dict[str, object] = {
        name: "[]" if "tags" in name else "" if "text" in kind.lower() else False
        if "bool" in kind.lower() else 1
        for name, kind in columns
    }  # fmt: skip
    _insert("mailbox", **{**mailbox, "id": "MBX_1", "gig_id": "GIG_1", "account_id": "USER_1"})
    for number, status in enumerate(("pending", "sent", "failed", "paid"), 1):
        _insert(
            "rollup", id=f"ROLLUP_{number}", gig_id="GIG_1", mailbox_id="MBX_1",
            command_id="CMD_1", status=status, wallet_address="0x", gross_units=100 * number,
            fee_units=10 * number, fee_bps=1000, payout_key=f"0x{number}",
            settled_by_reconciliation=False, created_at=1,
        )  # fmt: skip
    key = gig_keys.key("GIG_1")
    booked: dict[str, list[tuple[str, str | None, int]]] = {
        "log:a:0": [("outside", None, -10_000), ("pot", key, 10_000)],
        "log:b:0": [("pot", key, -440), ("paid", key, 400), ("fees", key, 40)],
        "log:c:0": [("fees", None, -25), ("withdrawn", None, 25)],
    }
    for reference, lines in booked.items():
        _insert("ledger_transaction", id=f"LEDGER_{reference}", reference=reference, kind="Old",
                block_number=3, tx_hash="0x", booked_at=1)  # fmt: skip
        for number, (account, gig_key, units) in enumerate(lines):
            _insert("ledger_entry", transaction_id=f"LEDGER_{reference}", line=number,
                    account=account, gig_key=gig_key, units=units)  # fmt: skip


MAILBOX_COLUMNS = {
    True: "SELECT column_name, data_type FROM information_schema.columns "
    "WHERE table_name = 'mailbox' AND is_nullable = 'NO'",
    False: "SELECT name, type FROM pragma_table_info('mailbox') WHERE \"notnull\"",
}


@pytest.mark.rule("Y-05")
@pytest.mark.parametrize("kind", BACKENDS)
def test_what_an_older_version_owed_is_set_aside_when_it_is_upgraded(
    kind: str, request: pytest.FixtureRequest
) -> None:
    servers: Postgres | Sqlite = request.getfixturevalue(kind)
    url = servers.empty()
    db.connect(url)
    try:
        migrate.up("0002_conventions")
        db.write(_of_the_version_before)
        migrate.up()
        # 110, 220 and 330 of the pot's 9,560 are promised; the fourth is paid.
        assert ledger.free_units("GIG_1") == 8_900
        assert ledger.owed_units("GIG_1") == 660
        assert [ledger.reserved_for(f"ROLLUP_{number}") for number in (1, 2, 3, 4)] == [
            110, 220, 330, 0,
        ]  # fmt: skip
        assert not db.write(lambda: ledger.reserve("ROLLUP_2", "GIG_1", 220))
        assert ledger.balance_units("outside") == -10_000
        assert ledger.balance_units("outside", gig_keys.key("GIG_1")) == -10_000
        assert ledger.balance_units("fees") == 15
        _kept_equals_sums()
        with db.reading():
            sums = db.rows("SELECT SUM(units) FROM ledger_entry GROUP BY transaction_id")
            of_gig = db.rows("SELECT SUM(units) FROM ledger_entry GROUP BY gig_key")
        assert {int(units) for (units,) in [*sums, *of_gig]} == {0}
    finally:
        db.close()
        servers.drop(url)
